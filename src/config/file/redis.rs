//! The tables of Redis and Valkey deployments.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::Bandwidth;

/// One Redis or Valkey deployment.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in super::super) struct RedisTable {
    /// Its name; the component is redis/NAME.
    #[schemars(example = &"features", extend("x-usual" = true))]
    pub(in super::super) name: Option<String>,

    /// Any node of it: the others are discovered. rediss:// for TLS, redis+unix:///PATH for a Unix socket,
    /// redis+sentinel://HOST:26379,HOST:26379/NAME for the primary that Sentinels know by that name.
    #[schemars(example = &"redis://127.0.0.1:6379", extend("x-usual" = true))]
    pub(in super::super) url: Option<String>,

    /// Several nodes, of which one that answers is enough; instead of url.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["redis://10.0.0.1:6379", "redis://10.0.0.2:6379"])]
    pub(in super::super) urls: Vec<String>,

    /// The network link of each node: without it a full link can only be suspected.
    #[schemars(example = &"10Gbit/s", extend("x-usual" = true))]
    pub(in super::super) link: Option<Bandwidth>,

    /// Whether the nodes of one host share its link ("host", as on real hosts) or each node has its own ("node",
    /// as behind a limit per container).
    #[schemars(example = &"host")]
    pub(in super::super) link_scope: Option<LinkScope>,

    /// The ACL user.
    #[schemars(example = &"headwater")]
    pub(in super::super) username: Option<String>,

    /// The environment variable that holds the password.
    #[schemars(example = &"FEATURES_REDIS_PASSWORD")]
    pub(in super::super) password_env: Option<String>,

    /// The file that holds the password; instead of password_env.
    #[schemars(example = &"/run/secrets/features-redis")]
    pub(in super::super) password_file: Option<String>,

    /// The name by which the nodes above, which are Sentinels, know the primary.
    #[schemars(example = &"features-primary")]
    pub(in super::super) sentinel_master: Option<String>,

    /// The ACL user of the Sentinels; the servers have their own.
    #[schemars(example = &"headwater")]
    pub(in super::super) sentinel_username: Option<String>,

    /// The environment variable that holds the Sentinels' password.
    #[schemars(example = &"FEATURES_SENTINEL_PASSWORD")]
    pub(in super::super) sentinel_password_env: Option<String>,

    /// The file that holds the Sentinels' password; instead of sentinel_password_env.
    #[schemars(example = &"/run/secrets/features-sentinel")]
    pub(in super::super) sentinel_password_file: Option<String>,

    /// Certificates (PEM) that sign the servers'; no other is trusted then.
    #[schemars(example = &"/etc/ssl/features-ca.pem")]
    pub(in super::super) ca_file: Option<String>,

    /// The certificate (PEM) to show to servers that ask for one, with those that lead to its authority.
    #[schemars(example = &"/etc/ssl/headwater.pem")]
    pub(in super::super) client_cert_file: Option<String>,

    /// The private key (PEM) of that certificate; nobody but us should be able to read it.
    #[schemars(example = &"/etc/ssl/headwater.key")]
    pub(in super::super) client_key_file: Option<String>,

    /// Another name that the servers' certificates may be for, beside the name of each node.
    #[schemars(example = &"features.redis.example")]
    pub(in super::super) server_name: Option<String>,

    /// Whether to accept any certificate; only for a test.
    #[schemars(example = false)]
    pub(in super::super) insecure: Option<bool>,

    /// Where announced addresses are reached from here, as after a port-forward. The key "*" with a bare host is for all
    /// others: they are reached at that host and the port that they announce.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "10.0.0.1:6379": "127.0.0.1:7001" }))]
    pub(in super::super) address_map: BTreeMap<String, String>,

    /// The SOCKS5 proxy to it; "none" where the one for all targets is not for this one.
    #[schemars(example = &"socks5h://127.0.0.1:1080")]
    pub(in super::super) proxy: Option<String>,

    /// Whether to collect the arguments of slow commands beside their keys: they may hold what nobody should read, and
    /// they are recorded.
    #[schemars(example = false)]
    pub(in super::super) slow_arguments: Option<bool>,
}

/// What a network link belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum LinkScope {
    /// The host: all nodes with its address share it.
    Host,
    /// Each node by itself.
    Node,
}
