//! Which targets a command looks at: bare ones, a configuration, or the configuration in its usual place.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum as _};
use secrecy::SecretString;

use super::output::Failure;
use crate::config::{Config, Locally, TargetOptions, default_config_file, from_targets};
use crate::sources::client_certificate::ClientCertificate;

/// The arguments that name targets.
#[derive(Clone, Debug, Args)]
pub(super) struct TargetArgs {
    /// Targets: redis://HOST:6379, rediss://HOST:6379 (TLS), redis+unix:///PATH, redis+sentinel://HOST:26379/NAME,
    /// http(s)://HOST:8000/metrics, prom+http(s)://HOST:9090 (a Prometheus)
    #[arg(value_name = "TARGET")]
    pub(super) targets: Vec<String>,

    #[command(flatten)]
    pub(super) access: AccessArgs,
}

/// How targets are found and opened.
#[derive(Clone, Debug, Args)]
pub(super) struct AccessArgs {
    /// The configuration; without targets the default is config.toml in headwater's XDG folder
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// The ACL user of bare Redis targets; also HEADWATER_REDIS_USERNAME
    #[arg(long, value_name = "NAME")]
    redis_username: Option<String>,

    /// The file with the password of bare Redis targets; HEADWATER_REDIS_PASSWORD holds the password itself
    #[arg(long, value_name = "FILE")]
    redis_password_file: Option<PathBuf>,

    /// The ACL user of the Sentinels of bare targets; also HEADWATER_SENTINEL_USERNAME
    #[arg(long, value_name = "NAME")]
    sentinel_username: Option<String>,

    /// The file with the password of the Sentinels of bare targets; HEADWATER_SENTINEL_PASSWORD holds it itself
    #[arg(long, value_name = "FILE")]
    sentinel_password_file: Option<PathBuf>,

    /// Certificates (PEM) that sign those of bare TLS targets; no other is trusted then
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// The certificate (PEM) to show to bare targets that ask for one
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// The private key (PEM) of that certificate
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,

    /// Another name that certificates of bare Redis targets may be for
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// Accept any certificate of bare TLS targets; only for a test
    #[arg(long)]
    insecure: bool,

    /// Dial another address than a Redis node announces, as after a port-forward: HOST:PORT=HOST:PORT; '*=HOST' dials
    /// every other announced port at that host; may be given again
    #[arg(long, value_name = "ANNOUNCED=DIALLED")]
    address_map: Vec<String>,

    /// Reach bare targets through this SOCKS5 proxy, as of ssh -D; names are looked up there
    #[arg(long, value_name = "socks5h://HOST:PORT")]
    proxy: Option<String>,

    /// Whether to look at this machine beside bare targets: its kernel, and its GPUs where NVIDIA's library is there;
    /// auto, which it is unless HEADWATER_LOCAL says otherwise, does where a target is on it by
    /// a Unix socket, its name or an address that is no loopback (which may be a tunnel's end)
    #[arg(long, value_enum, value_name = "WHEN")]
    local: Option<Locally>,
}

impl TargetArgs {
    /// The configuration that these arguments mean.
    pub(super) fn resolve(&self) -> Result<Config, Failure> {
        self.access.resolve(&self.targets)
    }
}

impl AccessArgs {
    /// The configuration of these targets, or the file's when there are none.
    pub(super) fn resolve(&self, targets: &[String]) -> Result<Config, Failure> {
        match (&self.config, targets) {
            (Some(_), [_, ..]) => {
                Err(Failure::usage("'--config' and targets exclude each other: add the targets to the file"))
            }
            (Some(path), []) => self.load(path),
            (None, [_, ..]) => Ok(from_targets(targets, &self.options()?)?),
            (None, []) => match default_config_file().filter(|path| path.exists()) {
                Some(path) => self.load(&path),
                None => Err(Failure::usage(format_args!(
                    "no target: name some (redis://HOST:6379, http://HOST:8000/metrics), give --config FILE, or make \
                     the default configuration with 'headwater config init > {}'",
                    default_config_file()
                        .map_or_else(|| "headwater.toml".into(), |path| path.display().to_string())
                ))),
            },
        }
    }

    /// A file says itself how its targets are opened: a flag that would be dropped is refused.
    fn load(&self, path: &Path) -> Result<Config, Failure> {
        let flags = [
            (self.redis_username.is_some(), "--redis-username", "username = \"NAME\" in its [[redis]] table"),
            (
                self.redis_password_file.is_some(),
                "--redis-password-file",
                "password_file = \"FILE\" in its [[redis]] table",
            ),
            (
                self.sentinel_username.is_some(),
                "--sentinel-username",
                "sentinel_username = \"NAME\" in its [[redis]] table",
            ),
            (
                self.sentinel_password_file.is_some(),
                "--sentinel-password-file",
                "sentinel_password_file = \"FILE\" in its [[redis]] table",
            ),
            (self.client_cert.is_some(), "--client-cert", "client_cert_file = \"FILE\" in its table"),
            (self.server_name.is_some(), "--server-name", "server_name = \"NAME\" in its [[redis]] table"),
            (
                !self.address_map.is_empty(),
                "--address-map",
                "address_map = { \"HOST:PORT\" = \"HOST:PORT\" } in its [[redis]] table",
            ),
            (self.proxy.is_some(), "--proxy", "proxy = \"socks5h://HOST:PORT\" at its top"),
            (self.ca_file.is_some(), "--ca-file", "ca_file = \"FILE\" in the target's table"),
            (self.insecure, "--insecure", "insecure = true in its [[redis]] table"),
            (self.local.is_some(), "--local", "gpu = true or host = true in a [local] table"),
        ];
        match flags.iter().find(|(is_given, ..)| *is_given) {
            Some((_, flag, key)) => Err(Failure::usage(format_args!(
                "'{flag}' is for bare targets and changes nothing in '{}': write {key}",
                path.display()
            ))),
            None => Ok(Config::load(path)?),
        }
    }

    fn options(&self) -> Result<TargetOptions, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let from_env = |name: &str| variable(name).map(SecretString::from);
        let redis_username = self.redis_username.clone().or_else(|| variable("HEADWATER_REDIS_USERNAME"));
        let redis_password = match &self.redis_password_file {
            Some(path) => Some(read_secret(path)?),
            None => from_env("HEADWATER_REDIS_PASSWORD"),
        };
        let sentinel_username = self.sentinel_username.clone();
        let sentinel_password = match &self.sentinel_password_file {
            Some(path) => Some(read_secret(path)?),
            None => from_env("HEADWATER_SENTINEL_PASSWORD"),
        };
        let locally = match (self.local, variable("HEADWATER_LOCAL")) {
            (Some(locally), _) => locally,
            (None, None) => Locally::Auto,
            (None, Some(word)) => Locally::from_str(&word, true).map_err(|_| {
                Failure::usage(format_args!("HEADWATER_LOCAL is '{word}': write auto, on or off"))
            })?,
        };
        let client = self.client_cert.clone().zip(self.client_key.clone());
        Ok(TargetOptions {
            redis_username,
            redis_password,
            sentinel_username: sentinel_username.or_else(|| variable("HEADWATER_SENTINEL_USERNAME")),
            sentinel_password,
            client: client.map(|(cert_file, key_file)| ClientCertificate { cert_file, key_file }),
            server_name: self.server_name.clone(),
            address_map: self.address_map.clone(),
            proxy: self.proxy.clone(),
            bearer: from_env("HEADWATER_BEARER_TOKEN"),
            ca_file: self.ca_file.clone(),
            insecure: self.insecure,
            locally,
        })
    }
}

fn read_secret(path: &Path) -> Result<SecretString, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format_args!(
            "password file '{}' cannot be read ({error}): check the path and its rights",
            path.display()
        ))
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned().into())
}
