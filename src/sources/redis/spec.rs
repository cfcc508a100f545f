//! What has to be known to reach a Redis target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_engine::Subject;
use secrecy::SecretString;

use crate::sources::client_certificate::ClientCertificate;
use crate::sources::proxy::ProxySpec;

/// How to reach one Redis or Valkey deployment.
#[derive(Clone, Debug)]
pub struct RedisSpec {
    /// `redis/NAME`.
    pub component: Subject,
    /// `host:port` of one or more nodes, any of which leads to the others, or of Sentinels. IPv6 addresses may stand in
    /// brackets; a path from the root is a Unix socket.
    pub seeds: Vec<String>,
    /// What the seeds are asked for where they are Sentinels.
    pub sentinel: Option<SentinelSpec>,
    /// TLS, when the servers speak it.
    pub tls: Option<TlsSpec>,
    /// The ACL user; `None` is the server's default user.
    pub username: Option<String>,
    /// The password, tried once for the whole target.
    pub password: Option<SecretString>,
    /// Announced `host:port` to the `host:port` that is dialled instead, for nodes behind NAT or port-forwards;
    /// [`ANY`](super::address::ANY) to the host of all others.
    pub address_map: BTreeMap<String, String>,
    /// The proxy that every connection goes through.
    pub proxy: Option<ProxySpec>,
    /// Whether arguments of slow commands are kept; they may hold secrets.
    pub show_arguments: bool,
}

/// How Sentinels are asked.
#[derive(Clone, Debug)]
pub struct SentinelSpec {
    /// The name by which they know the primary.
    pub primary: String,
    /// Their ACL user, which is not that of the servers.
    pub username: Option<String>,
    /// Their password, which is not that of the servers.
    pub password: Option<SecretString>,
}

impl SentinelSpec {
    /// Sentinels that want no password.
    pub fn new(primary: String) -> Self {
        Self { primary, username: None, password: None }
    }
}

/// How TLS is verified.
#[derive(Clone, Debug, Default)]
pub struct TlsSpec {
    /// A PEM file with the only certificate authorities to trust; without it those of the system.
    pub ca_file: Option<PathBuf>,
    /// Accept any certificate; the traffic can then be read and changed by whoever is in between.
    pub insecure: bool,
    /// What we show to servers that ask who we are.
    pub client: Option<ClientCertificate>,
    /// Another name that certificates may be for, beside each node's own.
    pub server_name: Option<String>,
}

impl RedisSpec {
    /// A target reached without TLS and without a password.
    pub fn new(component: Subject, seeds: Vec<String>) -> Self {
        Self {
            component,
            seeds,
            sentinel: None,
            tls: None,
            username: None,
            password: None,
            address_map: BTreeMap::new(),
            proxy: None,
            show_arguments: false,
        }
    }
}
