//! Bare targets of the command line: components and edges are inferred from what kinds of target there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_engine::{Kind, Settings, Subject};
use secrecy::SecretString;

use super::Config;
use super::file::{ComponentTable, ConfigFile, MetricsTable, PrometheusTable, RedisTable};
use super::local::{Locally, beside};
use super::place::ConfigError;
use super::reach::mapping;
use super::resolve::{Components, bare_subject};
use super::shown::shown_address;
use super::target::{REDIS_SCHEMES, RedisAddress, metrics_place, read_proxy};
use crate::sources::client_certificate::ClientCertificate;
use crate::sources::metrics::MetricsSpec;
use crate::sources::prometheus::PrometheusSpec;
use crate::sources::redis::{RedisSpec, SentinelSpec, TlsSpec};

/// What applies to all bare targets.
#[derive(Debug, Default)]
pub struct TargetOptions {
    /// The ACL user for Redis; a user in an address comes first.
    pub redis_username: Option<String>,
    /// The password for Redis; a password in an address comes first.
    pub redis_password: Option<SecretString>,
    /// The bearer token for metrics pages.
    pub bearer: Option<SecretString>,
    /// The ACL user of Sentinels.
    pub sentinel_username: Option<String>,
    /// The password of Sentinels.
    pub sentinel_password: Option<SecretString>,
    /// Certificates to trust.
    pub ca_file: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// What is shown to servers that ask for a certificate.
    pub client: Option<ClientCertificate>,
    /// Another name that certificates of Redis servers may be for.
    pub server_name: Option<String>,
    /// Where announced addresses of Redis nodes are dialled: `ANNOUNCED=DIALLED` each.
    pub address_map: Vec<String>,
    /// The proxy, as it is written.
    pub proxy: Option<String>,
    /// Whether the machine that Headwater runs on is looked at too.
    pub locally: Locally,
}

/// Makes a configuration of bare targets: `redis://`, `rediss://`, `http://`, `https://`. Services are taken to
/// depend on every Redis deployment and on their own queue.
pub fn from_targets(targets: &[String], options: &TargetOptions) -> Result<Config, ConfigError> {
    const ORIGIN: &str = "command line";
    let proxy = options.proxy.as_deref().map(read_proxy).transpose().map_err(|what| {
        let shown = options.proxy.as_deref().map(shown_address).unwrap_or_default();
        ConfigError::new(ORIGIN, format!("--proxy '{shown}' {what}"))
    })?;
    let address_map = address_map(&options.address_map)
        .map_err(|what| ConfigError::new(ORIGIN, format!("--address-map {what}")))?;
    let mut components = Components::default();
    let (mut redis, mut metrics, mut file) = (vec![], vec![], ConfigFile::default());
    let (mut prometheus, mut places) = (vec![], vec![]);
    file.proxy = options.proxy.as_deref().map(|proxy| shown_address(proxy).into_owned());
    for target in targets {
        let shown = shown_address(target).into_owned();
        let complain = |what: &str| ConfigError::new(ORIGIN, format!("'{shown}' {what}"));
        if targets.iter().filter(|other| *other == target).count() > 1 {
            return Err(complain("stands twice: name each target once"));
        }
        match target.split_once("://").map(|(scheme, _)| scheme) {
            Some(scheme) if REDIS_SCHEMES.contains(&scheme) => {
                let address = RedisAddress::read(target).map_err(complain)?;
                places.extend(address.seeds.iter().cloned());
                let name = address.sentinel.as_ref().or(address.seeds.first());
                let subject = bare_subject(Kind::Redis, name.map_or("", String::as_str));
                components.entry(&subject).has_source = true;
                let mut spec = RedisSpec::new(subject.clone(), address.seeds);
                spec.sentinel = address.sentinel.map(|primary| SentinelSpec {
                    primary,
                    username: options.sentinel_username.clone(),
                    password: options.sentinel_password.clone(),
                });
                spec.tls = address.tls.then(|| TlsSpec {
                    ca_file: options.ca_file.clone(),
                    insecure: options.insecure,
                    client: options.client.clone(),
                    server_name: options.server_name.clone(),
                });
                spec.username = address.username.or_else(|| options.redis_username.clone());
                spec.password = address.password.or_else(|| options.redis_password.clone());
                spec.address_map.clone_from(&address_map);
                spec.proxy.clone_from(&proxy);
                redis.push(spec);
                file.redis.push(RedisTable {
                    name: Some(subject.name().to_owned()),
                    url: Some(shown),
                    address_map: address_map.clone(),
                    ..RedisTable::default()
                });
            }
            Some("http" | "https") => {
                let mut spec = MetricsSpec::new(target);
                spec.bearer.clone_from(&options.bearer);
                spec.ca_file.clone_from(&options.ca_file);
                spec.client.clone_from(&options.client);
                spec.proxy.clone_from(&proxy);
                let place = metrics_place(target).map_err(complain)?;
                let subject = bare_subject(Kind::Service, &place);
                places.push(place);
                components.entry(&subject).has_source = true;
                spec.component = Some(subject.clone());
                metrics.push(spec);
                file.metrics.push(MetricsTable {
                    component: Some(subject.to_string()),
                    url: Some(shown),
                    ..MetricsTable::default()
                });
            }
            Some("prom+http" | "prom+https") => {
                let url = target.trim_start_matches("prom+");
                metrics_place(url).map_err(complain)?;
                let mut spec = PrometheusSpec::new(url);
                spec.server.bearer.clone_from(&options.bearer);
                spec.server.ca_file.clone_from(&options.ca_file);
                spec.server.client.clone_from(&options.client);
                spec.server.proxy.clone_from(&proxy);
                prometheus.push(spec);
                file.prometheus.push(PrometheusTable {
                    url: Some(shown.trim_start_matches("prom+").to_owned()),
                    ..PrometheusTable::default()
                });
            }
            _ => {
                return Err(complain(
                    "is not a target: write redis://HOST:6379, rediss://HOST:6379 (TLS), redis+unix:///PATH, \
                     redis+sentinel://HOST:26379/NAME, http://HOST:8000/metrics or prom+http://HOST:9090",
                ));
            }
        }
    }
    let services: Vec<Subject> =
        file.metrics.iter().filter_map(|table| table.component.as_deref()?.parse().ok()).collect();
    for service in &services {
        let mut depends_on: Vec<Subject> = redis.iter().map(|spec| spec.component.clone()).collect();
        depends_on.push(Subject::component(Kind::Queue, service.name()));
        file.component.push(ComponentTable {
            subject: Some(service.to_string()),
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
            ..ComponentTable::default()
        });
        components.entry(service).depends_on = depends_on;
    }
    let mut components = components.finish();
    for component in &mut components {
        // Nobody said that these services have a queue: one that shows no numbers must not blind the verdict.
        component.has_source &= component.subject.kind() != Kind::Queue;
    }
    let name = components.first().map_or_else(|| "headwater".to_owned(), |c| c.subject.name().to_owned());
    let tellers = prometheus.iter().filter_map(super::prometheus::teller).collect();
    let settings = Settings { name, components, tellers, ..Settings::default() };
    let is_forwarded = proxy.is_some() || !address_map.is_empty();
    Ok(Config {
        local: beside(options.locally, &places, is_forwarded),
        since: None,
        origin: ORIGIN.to_owned(),
        settings,
        redis,
        metrics,
        discoveries: vec![],
        probes: vec![],
        logs: vec![],
        prometheus,
        canary: None,
        imports: vec![],
        changes: vec![],
        file,
    })
}

fn address_map(lines: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut map = BTreeMap::new();
    for line in lines {
        let (announced, dialled) = line.split_once('=').ok_or_else(|| {
            format!(
                "'{line}' has no '=': write ANNOUNCED=DIALLED, both HOST:PORT, or '*=HOST' for all others"
            )
        })?;
        mapping(announced, dialled)?;
        if map.insert(announced.to_owned(), dialled.to_owned()).is_some() {
            return Err(format!("'{line}' maps an address that is mapped already: keep one"));
        }
    }
    Ok(map)
}
