//! What has to be known to reach a Redis target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_engine::Subject;
use secrecy::SecretString;

/// How to reach one Redis or Valkey deployment.
#[derive(Clone, Debug)]
pub struct RedisSpec {
    /// `redis/NAME`.
    pub component: Subject,
    /// `host:port` of one or more nodes; any of them leads to the others. IPv6 addresses may stand in brackets.
    pub seeds: Vec<String>,
    /// TLS, when the servers speak it.
    pub tls: Option<TlsSpec>,
    /// The ACL user; `None` is the server's default user.
    pub username: Option<String>,
    /// The password, tried once for the whole target.
    pub password: Option<SecretString>,
    /// Announced `host:port` to the `host:port` that is dialled instead, for nodes behind NAT or port-forwards.
    pub address_map: BTreeMap<String, String>,
    /// Whether arguments of slow commands are kept; they may hold secrets.
    pub show_arguments: bool,
}

/// How TLS is verified.
#[derive(Clone, Debug, Default)]
pub struct TlsSpec {
    /// A PEM file with the certificate authorities to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Accept any certificate; the traffic can then be read and changed by whoever is in between.
    pub insecure: bool,
}

impl RedisSpec {
    /// A target reached without TLS and without a password.
    pub fn new(component: Subject, seeds: Vec<String>) -> Self {
        Self {
            component,
            seeds,
            tls: None,
            username: None,
            password: None,
            address_map: BTreeMap::new(),
            show_arguments: false,
        }
    }
}
