//! The configuration file's shape. The doc comments here are what users read: the schema, the commented example
//! of `config init` and the suggestions for misspelt keys are all made from these types.
//!
//! `x-usual` marks the keys that the example shows in use; the others appear there commented out.

mod canary;
mod changes;
mod discovery;
mod local;
mod log;
mod probe;
mod prometheus;
mod redis;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http_access::with_http_access;
use super::symptom::SymptomTable;
use super::value::{Size, Span};
pub(super) use canary::{BackendWord, CanaryTable};
pub(super) use changes::{ChangeWord, ChangesTable};
pub(super) use discovery::{DiscoveryTable, RecordWord, SchemeWord};
pub(super) use local::LocalTable;
pub(super) use log::{LogFormat, LogTable};
pub(super) use probe::{ProbeTable, ProbeWord};
pub(super) use prometheus::PrometheusTable;
pub(super) use redis::{LinkScope, RedisTable};

/// Thresholds by rule and by name.
pub(super) type Thresholds = BTreeMap<String, BTreeMap<String, f64>>;

/// Headwater's configuration: what to ask, and how the things asked depend on each other.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfigFile {
    /// What you call this deployment.
    #[schemars(example = &"ranker-prod", extend("x-usual" = true))]
    pub(super) name: Option<String>,

    /// How often every target is asked: from 200ms to 1min.
    #[schemars(example = &"1s", extend("x-usual" = true))]
    pub(super) interval: Option<Span>,

    /// Memory for history; with more series Headwater keeps less of it.
    #[schemars(example = &"96MiB")]
    pub(super) store_budget: Option<Size>,

    /// The SOCKS5 proxy that targets are reached through where they have none of their own; names are looked up there.
    #[schemars(example = &"socks5h://127.0.0.1:1080")]
    pub(super) proxy: Option<String>,

    /// Redis and Valkey deployments: clusters, or single servers with their replicas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-usual" = true))]
    pub(super) redis: Vec<RedisTable>,

    /// Pages with Prometheus or OpenMetrics text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-usual" = true))]
    pub(super) metrics: Vec<MetricsTable>,

    /// Lists of such pages that come and go: files, an HTTP server, or DNS. Whoever writes a list says who is sent the token
    /// and the certificate of its pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) discovery: Vec<DiscoveryTable>,

    /// Addresses that Headwater asks itself, as a caller would.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) probe: Vec<ProbeTable>,

    /// Logs that are followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) log: Vec<LogTable>,

    /// Prometheus servers that have scraped what is to be looked at: pages that Headwater need not, or cannot, ask itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) prometheus: Vec<PrometheusTable>,

    /// Who calls whom, as other tools know it; what a [[component]] declares goes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) graph: Vec<GraphTable>,

    /// Components, and what each depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-usual" = true))]
    pub(super) component: Vec<ComponentTable>,

    /// Numbers that say that users or the business suffer, though no latency may show it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) symptom: Vec<SymptomTable>,

    /// Where it is told what people changed: deploys, settings, flags, commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<ChangesTable>,

    /// Our own small kernels, timed every now and then on the machine that Headwater runs on, in a process of their own
    /// and not while memory is short or the device is busy. Off without this table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) canary: Option<CanaryTable>,

    /// The machine that Headwater runs on, where what is looked at runs there too. Without this table it is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) local: Option<LocalTable>,

    /// Thresholds that differ from a rule's default; 'headwater rules' lists rules and thresholds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "shard-hot": { "cpu": 0.7 } }))]
    pub(super) thresholds: Thresholds,
}

/// What a component answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkloadName {
    /// Pictures.
    Images,
    /// Text that is scored or ranked.
    Text,
}

with_http_access! {
    /// One page of metrics.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(super) struct MetricsTable {
        /// Whose page it is: kind/name, the same for every instance; graph/NAME for a page that only tells who calls whom.
        #[schemars(example = &"service/ranker", extend("x-usual" = true))]
        pub(super) component: Option<String>,

        /// The page.
        #[schemars(example = &"http://127.0.0.1:8000/metrics", extend("x-usual" = true))]
        pub(super) url: Option<String>,

        /// Several pages of one component; instead of url.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(example = ["http://10.0.0.5:8000/metrics", "http://10.0.0.6:8000/metrics"])]
        pub(super) urls: Vec<String>,

        /// Dialects to read it by; without them they are recognised from the page.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(example = ["vllm"])]
        pub(super) dialects: Vec<String>,

        /// The SOCKS5 proxy to it; "none" where the one for all targets is not for this one.
        #[schemars(example = &"none")]
        pub(super) proxy: Option<String>,
    }
}

with_http_access! {
    /// One import of who calls whom.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(super) struct GraphTable {
        /// What it is: jaeger, zipkin, compose (a hint only: the order of starting) or backstage. A page of service-graph
        /// metrics stands among the pages instead, as component graph/NAME.
        #[schemars(example = &"jaeger")]
        pub(super) format: Option<String>,

        /// The file, from the folder of this one; it is read once, when Headwater starts.
        #[schemars(example = &"dependencies.json")]
        pub(super) file: Option<String>,

        /// The server, asked once a minute; instead of file. Without a path the usual one of the format.
        #[schemars(example = &"http://127.0.0.1:16686")]
        pub(super) url: Option<String>,
    }
}

/// One component.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ComponentTable {
    /// kind/name.
    #[schemars(example = &"service/ranker", extend("x-usual" = true))]
    pub(super) subject: Option<String>,

    /// What it calls or waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["redis/features", "queue/ranker"], extend("x-usual" = true))]
    pub(super) depends_on: Vec<String>,

    /// The longest acceptable 99th percentile of a request.
    #[schemars(example = &"500ms", extend("x-usual" = true))]
    pub(super) objective_p99: Option<Span>,

    /// How long it waits for an answer of what it calls, as a gateway or a client is configured to: most pages tell none.
    #[schemars(example = &"3s")]
    pub(super) timeout: Option<Span>,

    /// Which stage of a request is spent in which dependency; other stages are its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "feature_load": "redis/features", "queue": "queue/ranker" }))]
    pub(super) stages: BTreeMap<String, String>,

    /// What it answers with, which gives the objective where none is declared: "images" 500 ms, "text" (scored or
    /// ranked, not generated) 200 ms.
    #[schemars(example = &"text")]
    pub(super) workload: Option<WorkloadName>,

    /// Healthy values by metric, in the metric's unit (seconds, bytes, shares of 1). A name without dots is a metric as
    /// its page names it: so a database or any other dependency takes part.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "http.server.request.duration": 0.18 }))]
    pub(super) baselines: BTreeMap<String, f64>,

    /// Values by metric from which on it is in trouble; with a healthy value above, less is worse.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "pg_locks_waiting": 10.0 }))]
    pub(super) alerts: BTreeMap<String, f64>,

    /// Other names of it, as imports may have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["service/rank-api"])]
    pub(super) aliases: Vec<String>,

    /// Thresholds for this component alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({ "shard-hot": { "cpu": 0.8 } }))]
    pub(super) thresholds: Thresholds,
}
