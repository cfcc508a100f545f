//! The `[[prometheus]]` tables, as users write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::http_access::with_http_access;

use crate::config::value::Span;

with_http_access! {
    /// One Prometheus server.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(in crate::config) struct PrometheusTable {
        /// The server: Prometheus, or what speaks its HTTP API (such as VictoriaMetrics), with its prefix if it has one.
        #[schemars(example = &"http://127.0.0.1:9090")]
        pub(in crate::config) url: Option<String>,

        /// The series that are read, as PromQL selects them; all series of all targets when absent.
        #[schemars(example = &"{job=~\"ranker|features\"}")]
        pub(in crate::config) select: Option<String>,

        /// How often it is asked for what is new: from 1s to 5min; 5s when absent.
        #[schemars(example = &"5s")]
        pub(in crate::config) interval: Option<Span>,

        /// Which targets belong to which component, by labels that the server gives them; others are service/JOB.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(example = serde_json::json!({ "service/ranker": { "job": "ranker", "zone": "a" } }))]
        pub(in crate::config) components: BTreeMap<String, BTreeMap<String, String>>,

        /// Whether its past is asked once for what was usual before the incident (see --since); it is when absent.
        #[schemars(example = false)]
        pub(in crate::config) history: Option<bool>,

        /// The user, where the server asks for a user and a password.
        #[schemars(example = &"headwater")]
        pub(in crate::config) username: Option<String>,

        /// The environment variable that holds that user's password.
        #[schemars(example = &"PROMETHEUS_PASSWORD")]
        pub(in crate::config) password_env: Option<String>,

        /// The file that holds it; instead of password_env.
        #[schemars(example = &"/run/secrets/prometheus-password")]
        pub(in crate::config) password_file: Option<String>,

        /// The SOCKS5 proxy to it; "none" where the one for all targets is not for this one.
        #[schemars(example = &"none")]
        pub(in crate::config) proxy: Option<String>,
    }
}
