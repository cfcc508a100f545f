//! The `[[log]]` tables, as users write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One log that is followed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct LogTable {
    /// Its name; the source is log/NAME.
    #[schemars(example = &"edge-access")]
    pub(in crate::config) name: Option<String>,

    /// Who writes it: kind/name.
    #[schemars(example = &"gateway/edge")]
    pub(in crate::config) component: Option<String>,

    /// The file, from the folder of this one, followed through rotation; "-" for standard input.
    #[schemars(example = &"/var/log/nginx/access.log")]
    pub(in crate::config) file: Option<String>,

    /// Its format: json, nginx (ingress-nginx too) or envoy (Istio too) for an access log, plain where only patterns are
    /// looked for.
    #[schemars(example = &"nginx")]
    pub(in crate::config) format: Option<LogFormat>,

    /// Patterns to count lines by, as regular expressions by name. RedisCommandTimeoutException, GPU_MEMORY_FULL,
    /// slot_mismatch and refused connections are counted anyway.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "pool_exhausted": "Could not get a resource" }))]
    pub(in crate::config) patterns: BTreeMap<String, String>,
}

/// The format of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum LogFormat {
    /// An object of JSON in each line.
    Json,
    /// As nginx and ingress-nginx write it.
    Nginx,
    /// As Envoy and Istio write it.
    Envoy,
    /// Any lines.
    #[default]
    Plain,
}
