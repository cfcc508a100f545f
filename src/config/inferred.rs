//! Bare targets of the command line: components and edges are inferred from what kinds of target there are.

use std::path::PathBuf;

use headwater_engine::{Kind, Settings, Subject};
use secrecy::SecretString;

use super::Config;
use super::file::{ComponentTable, ConfigFile, MetricsTable, RedisTable};
use super::place::ConfigError;
use super::resolve::{Components, bare_subject};
use super::target::{RedisAddress, metrics_place, without_secrets};
use crate::sources::metrics::MetricsSpec;
use crate::sources::redis::{RedisSpec, TlsSpec};

/// What applies to all bare targets.
#[derive(Debug, Default)]
pub struct TargetOptions {
    /// The ACL user for Redis; a user in an address comes first.
    pub redis_username: Option<String>,
    /// The password for Redis; a password in an address comes first.
    pub redis_password: Option<SecretString>,
    /// The bearer token for metrics pages.
    pub bearer: Option<SecretString>,
    /// Certificates to trust.
    pub ca_file: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
}

/// Makes a configuration of bare targets: `redis://`, `rediss://`, `http://`, `https://`. Services are taken to
/// depend on every Redis deployment and on their own queue.
pub fn from_targets(targets: &[String], options: &TargetOptions) -> Result<Config, ConfigError> {
    const ORIGIN: &str = "command line";
    let mut components = Components::default();
    let (mut redis, mut metrics, mut file) = (vec![], vec![], ConfigFile::default());
    for target in targets {
        let shown = without_secrets(target);
        let complain = |what: &str| ConfigError::new(ORIGIN, format!("'{shown}' {what}"));
        if targets.iter().filter(|other| *other == target).count() > 1 {
            return Err(complain("stands twice: name each target once"));
        }
        match target.split_once("://").map(|(scheme, _)| scheme) {
            Some("redis" | "rediss") => {
                let address = RedisAddress::read(target).map_err(complain)?;
                let subject = bare_subject(Kind::Redis, &address.seed);
                components.entry(&subject).has_source = true;
                let mut spec = RedisSpec::new(subject.clone(), vec![address.seed]);
                spec.tls = address
                    .tls
                    .then(|| TlsSpec { ca_file: options.ca_file.clone(), insecure: options.insecure });
                spec.username = address.username.or_else(|| options.redis_username.clone());
                spec.password = address.password.or_else(|| options.redis_password.clone());
                redis.push(spec);
                file.redis.push(RedisTable {
                    name: Some(subject.name().to_owned()),
                    url: Some(shown),
                    ..RedisTable::default()
                });
            }
            Some("http" | "https") => {
                let mut spec = MetricsSpec::new(target);
                spec.bearer.clone_from(&options.bearer);
                spec.ca_file.clone_from(&options.ca_file);
                let subject = bare_subject(Kind::Service, &metrics_place(target).map_err(complain)?);
                components.entry(&subject).has_source = true;
                spec.component = Some(subject.clone());
                metrics.push(spec);
                file.metrics.push(MetricsTable {
                    component: Some(subject.to_string()),
                    url: Some(shown),
                    ..MetricsTable::default()
                });
            }
            _ => {
                return Err(complain(
                    "is not a target: write redis://HOST:6379, rediss://HOST:6379 or http://HOST:8000/metrics",
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
    let settings = Settings { name, components, ..Settings::default() };
    Ok(Config { origin: ORIGIN.to_owned(), settings, redis, metrics, imports: vec![], changes: vec![], file })
}
