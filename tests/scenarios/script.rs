//! What a scenario file can say. Everything that is not said is healthy.

use std::collections::BTreeMap;

use headwater_engine::Subject;
use headwater_engine::reading::{ChangeKind, FaultKind, NodeHealth};
use headwater_engine::settings::{BusinessSymptom, Workload};
use serde::Deserialize;

use super::keys::{Large, Offered, Scanned, Searched, Sizes};

/// A scenario file: a list of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) case: Vec<Case>,
}

/// One world, driven for some seconds, and what must be said of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,

    /// The world.
    #[serde(default = "three")]
    pub(crate) shards: usize,
    #[serde(default = "one")]
    pub(crate) replicas: usize,
    #[serde(default = "one")]
    pub(crate) instances: usize,
    /// Whether a source for the GPU is there; else `gpu/ranker` is declared without one.
    #[serde(default)]
    pub(crate) gpu: bool,
    /// All nodes on one host instead of one host each.
    #[serde(default)]
    pub(crate) one_host: bool,
    /// The shards in turn on this many hosts, each with its replicas on its own.
    pub(crate) hosts: Option<usize>,
    /// Components that are neither declared nor there.
    #[serde(default)]
    pub(crate) absent: Vec<Subject>,
    /// Bare targets: nothing is declared at all.
    #[serde(default)]
    pub(crate) undeclared: bool,

    /// What was declared.
    pub(crate) link: Option<f64>,
    pub(crate) objective: Option<f64>,
    #[serde(default)]
    pub(crate) stages: Option<BTreeMap<String, Subject>>,
    #[serde(default)]
    pub(crate) components: Vec<Declared>,
    #[serde(default)]
    pub(crate) thresholds: BTreeMap<String, BTreeMap<String, f64>>,
    /// Healthy values by subject and metric.
    #[serde(default)]
    pub(crate) baselines: BTreeMap<Subject, BTreeMap<String, f64>>,
    /// Healthy values that earlier runs left.
    #[serde(default)]
    pub(crate) learned: Vec<Learned>,

    /// How long it runs.
    #[serde(default = "twelve")]
    pub(crate) seconds: u32,
    /// Another tool reads the targets, this often, and Headwater hears of it.
    pub(crate) scraped_every: Option<u32>,
    /// What differs from healthy; where several match, the last counts.
    #[serde(default)]
    pub(crate) set: Vec<Set>,
    /// What the targets' lives before first contact were like; else like the healthy present.
    #[serde(default)]
    pub(crate) lifetime: Vec<Set>,
    /// Series beside the usual ones, healthy as written; `set` changes them like any other.
    #[serde(default)]
    pub(crate) adds: Vec<Added>,
    /// What people changed.
    #[serde(default)]
    pub(crate) changes: Vec<Changed>,
    /// Numbers that say that the business suffers.
    #[serde(default)]
    pub(crate) symptoms: Vec<BusinessSymptom>,
    /// Series that are not exposed.
    #[serde(default)]
    pub(crate) without: Vec<Without>,
    /// Sources that give nothing at all, and say nothing.
    #[serde(default)]
    pub(crate) silent: Vec<Span>,
    #[serde(default)]
    pub(crate) fault: Vec<Failing>,
    #[serde(default)]
    pub(crate) late: Vec<Span>,
    #[serde(default)]
    pub(crate) restart: Vec<Restart>,
    #[serde(default)]
    pub(crate) slow_log: Vec<SlowLog>,
    #[serde(default)]
    pub(crate) scan: Vec<Scanned>,
    #[serde(default)]
    pub(crate) search: Vec<Searched>,
    /// Ways to find out about keys that nodes offer; what is not named is refused.
    #[serde(default)]
    pub(crate) offers: Vec<Offered>,
    #[serde(default)]
    pub(crate) large: Vec<Large>,
    #[serde(default)]
    pub(crate) sizes: Vec<Sizes>,
    #[serde(default)]
    pub(crate) health: Vec<Health>,
    /// What nodes say of their cluster, where that is not that all is well; where several match, each adds its own.
    #[serde(default)]
    pub(crate) views: Vec<View>,
    #[serde(default)]
    pub(crate) unavailable: Vec<Unavailable>,
    /// Sources that tell of changes, beside those that `changes` names.
    #[serde(default)]
    pub(crate) change_sources: Vec<Subject>,
    /// Configured sources that only tell, whether they ever speak or not; each is asked once a second.
    #[serde(default)]
    pub(crate) tellers: Vec<Subject>,

    /// What rules must say.
    #[serde(default)]
    pub(crate) expect: Vec<Expect>,
    /// What the report must say at the end.
    pub(crate) report: Option<ExpectReport>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    pub(crate) subject: Subject,
    #[serde(default)]
    pub(crate) has_source: bool,
    #[serde(default)]
    pub(crate) depends_on: Vec<Subject>,
    #[serde(default)]
    pub(crate) aliases: Vec<Subject>,
    #[serde(default)]
    pub(crate) alerts: BTreeMap<String, f64>,
    #[serde(default)]
    pub(crate) stages: BTreeMap<String, Subject>,
    pub(crate) workload: Option<Workload>,
    pub(crate) objective: Option<f64>,
    /// How long it waits for an answer, seconds.
    pub(crate) timeout: Option<f64>,
}

/// A series beside the usual ones: a free metric, an edge, another service's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Added {
    /// Who tells it.
    pub(crate) source: Subject,
    /// Whom it is about, when not its source.
    pub(crate) subject: Option<Subject>,
    pub(crate) metric: String,
    pub(crate) part: Option<String>,
    /// A level, a rate a second of a total, or the one value of a histogram's events.
    pub(crate) value: f64,
    /// Whether a free metric is a total; a known one is what its row says.
    #[serde(default)]
    pub(crate) total: bool,
    /// A histogram's events a second.
    #[serde(default = "hundred")]
    pub(crate) rate: f64,
}

/// A change, at a second that may lie before the first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changed {
    #[serde(default = "deploys")]
    pub(crate) source: Subject,
    /// The second in which it is told.
    #[serde(default)]
    pub(crate) told: u32,
    /// The second in which it was done; negative before the first.
    pub(crate) at: i64,
    pub(crate) component: Option<Subject>,
    pub(crate) kind: ChangeKind,
    pub(crate) title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Learned {
    pub(crate) subject: Subject,
    pub(crate) metric: String,
    pub(crate) typical: f64,
    #[serde(default)]
    pub(crate) spread: f64,
    #[serde(default = "thirty")]
    pub(crate) points: u32,
}

/// A number of every series of `metric` on `subject` and its parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    pub(crate) subject: Subject,
    pub(crate) metric: String,
    pub(crate) part: Option<String>,
    /// A level, a rate per second, or the one value of a histogram's events.
    pub(crate) value: Option<f64>,
    /// What a level or a rate gains every second from `from` on.
    #[serde(default)]
    pub(crate) gains: f64,
    /// A histogram's values with their weights.
    pub(crate) values: Option<Vec<(f64, f64)>>,
    /// A histogram's events a second.
    pub(crate) rate: Option<f64>,
    #[serde(default)]
    pub(crate) from: u32,
    pub(crate) until: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Without {
    pub(crate) subject: Subject,
    pub(crate) metric: Option<String>,
    pub(crate) part: Option<String>,
    #[serde(default)]
    pub(crate) from: u32,
    pub(crate) until: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Span {
    pub(crate) source: Subject,
    #[serde(default)]
    pub(crate) from: u32,
    pub(crate) until: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failing {
    pub(crate) source: Subject,
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) from: u32,
    pub(crate) until: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restart {
    pub(crate) source: Subject,
    pub(crate) at: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowLog {
    pub(crate) source: Subject,
    #[serde(default)]
    pub(crate) at: u32,
    /// How long before `at` the commands ran, in seconds.
    #[serde(default)]
    pub(crate) ago: u32,
    pub(crate) count: u64,
    pub(crate) took: f64,
    pub(crate) key: Option<String>,
    #[serde(default)]
    pub(crate) excluded: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Health {
    pub(crate) node: Subject,
    pub(crate) health: NodeHealth,
    #[serde(default)]
    pub(crate) from: u32,
}

/// What some nodes say of their cluster from a second on; what is left out is healthy.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    /// A node, or all of a shard or of the cluster.
    pub(crate) node: Subject,
    #[serde(default)]
    pub(crate) from: u32,
    pub(crate) until: Option<u32>,
    /// Whether they say nothing at all.
    #[serde(default)]
    pub(crate) absent: bool,
    pub(crate) says_ok: Option<bool>,
    pub(crate) known: Option<u64>,
    pub(crate) epoch: Option<u64>,
    pub(crate) owners: Option<u64>,
    pub(crate) uncovered: Option<Vec<(u16, u16)>>,
    pub(crate) own: Option<Vec<(u16, u16)>>,
    pub(crate) failed: Option<Vec<String>>,
    pub(crate) suspected: Option<Vec<String>>,
    pub(crate) migrating: Option<Vec<(u16, String)>>,
    pub(crate) importing: Option<Vec<(u16, String)>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unavailable {
    pub(crate) source: Subject,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// A rule's state on a subject after some second, else at the end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// Else the file's rule.
    pub(crate) rule: Option<String>,
    pub(crate) subject: Subject,
    pub(crate) at: Option<u32>,
    /// `clear`, `pending`, `firing`, `ended`, `unknown`, or `absent` where the rule must not look.
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) says: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectReport {
    pub(crate) conclusion: String,
    pub(crate) shape: Option<String>,
    pub(crate) symptom: Option<ExpectSymptom>,
    /// Whether there must be no symptom.
    #[serde(default)]
    pub(crate) no_symptom: bool,
    /// The first suspects, in order; all of them where `only` is set.
    #[serde(default)]
    pub(crate) suspects: Vec<ExpectSuspect>,
    #[serde(default)]
    pub(crate) only: bool,
    #[serde(default)]
    pub(crate) innocent: Vec<ExpectInnocent>,
    /// Subjects that must not be innocent.
    #[serde(default)]
    pub(crate) not_innocent: Vec<Subject>,
    #[serde(default)]
    pub(crate) not_guilty: Vec<Subject>,
    #[serde(default)]
    pub(crate) unknown: Vec<ExpectUnknown>,
    /// A fragment of each link, in order.
    pub(crate) chain: Option<Vec<String>>,
    pub(crate) next_step: Option<String>,
    /// The exit code of a headless triage.
    pub(crate) exit: Option<u8>,
    /// Who really did it, for the calibration; else whoever is expected to be guilty.
    pub(crate) truth: Option<Vec<Subject>>,
    /// Fragments of the lines that tell the stages of the requests that suffer.
    #[serde(default)]
    pub(crate) stages: Vec<String>,
    /// The loops that must be named, in order.
    pub(crate) loops: Option<Vec<ExpectLoop>>,
    pub(crate) scans_wanted: Option<Vec<Subject>>,
    pub(crate) searches_wanted: Option<Vec<Subject>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectLoop {
    pub(crate) name: String,
    pub(crate) trigger: Option<Subject>,
    pub(crate) break_at: Subject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectSymptom {
    pub(crate) subject: Subject,
    pub(crate) says: Option<String>,
    pub(crate) since: Option<i64>,
    pub(crate) before: Option<bool>,
    pub(crate) evidence: Option<ExpectEvidence>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectSuspect {
    pub(crate) subject: Subject,
    pub(crate) rule: String,
    pub(crate) verdict: Option<String>,
    pub(crate) confidence: Option<String>,
    pub(crate) role: Option<String>,
    #[serde(default)]
    pub(crate) explains: Vec<String>,
    pub(crate) rivals: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// The second of its onset.
    pub(crate) since: Option<i64>,
    pub(crate) before: Option<bool>,
    pub(crate) ended: Option<bool>,
    #[serde(default)]
    pub(crate) keys: Vec<String>,
    #[serde(default)]
    pub(crate) evidence: Vec<ExpectEvidence>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectEvidence {
    pub(crate) metric: String,
    pub(crate) value: Option<f64>,
    pub(crate) limit: Option<f64>,
    pub(crate) baseline: Option<f64>,
    pub(crate) baseline_from: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectInnocent {
    pub(crate) subject: Subject,
    #[serde(default)]
    pub(crate) by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectUnknown {
    pub(crate) subject: Subject,
    #[serde(default)]
    pub(crate) missing: String,
}

/// Reads a scenario file.
pub(crate) fn parse(text: &str) -> Result<File, toml::de::Error> {
    toml::from_str(text)
}

/// Whether `second` lies in a span.
pub(crate) fn during(second: u32, from: u32, until: Option<u32>) -> bool {
    second >= from && until.is_none_or(|until| second < until)
}

fn one() -> usize {
    1
}

fn three() -> usize {
    3
}

fn twelve() -> u32 {
    12
}

fn thirty() -> u32 {
    30
}

fn hundred() -> f64 {
    100.0
}

fn deploys() -> Subject {
    "change/deploys".parse().expect("a subject")
}
