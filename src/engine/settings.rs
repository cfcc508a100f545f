//! What was declared: components, their limits and thresholds, as plain values.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::{MetricName, PROBED};
use crate::reading::Call;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

/// All that the configuration tells the engine. No address of a target and no secret is in here; a recording
/// begins with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What users call this deployment.
    pub name: String,
    /// How often sources are polled.
    pub interval: Duration,
    /// The declared components.
    pub components: Vec<Component>,
    /// Thresholds that differ from a rule's default: rule id, threshold name, value.
    pub thresholds: BTreeMap<String, BTreeMap<String, f64>>,
    /// Memory for history, in bytes.
    pub store_budget: usize,
    /// Calls that the configuration's imports know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// Numbers that say that users or the business suffer, though no latency may show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<BusinessSymptom>,
    /// The configured sources that are no component: those that only tell, probes and logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tellers: Vec<Teller>,
}

/// A configured source that is no component: it tells what people changed or who calls whom, or is a probe or a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teller {
    /// `change/NAME`, `graph/NAME`, `probe/NAME` or `log/NAME`.
    pub subject: Subject,
    /// How often it is asked; `None` for what is read once, when Headwater starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

/// A number that says that users or the business suffer: false kills, lost orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusinessSymptom {
    /// What users call it.
    pub name: String,
    /// The component that tells it; the walk begins here.
    pub subject: Subject,
    /// Its metric, mostly a free one.
    pub metric: MetricName,
    /// The part of the metric, when it has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RemoteText>,
    /// Above this people suffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Below this people suffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
}

/// What a service answers with, which says how long an answer may take where no objective is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Pictures: a p99 of 500 ms.
    Images,
    /// Text that is scored or ranked, not generated: a p99 of 200 ms.
    Text,
}

impl Workload {
    /// The longest acceptable 99th percentile where no other is declared.
    pub fn objective_p99(self) -> Duration {
        match self {
            Self::Images => Duration::from_millis(500),
            Self::Text => Duration::from_millis(200),
        }
    }
}

/// After this many intervals a value is stale.
pub(crate) const STALE_INTERVALS: u32 = 5;

/// Memory for history unless the configuration says otherwise: 96 MiB.
pub const DEFAULT_STORE_BUDGET: usize = 96 * 1024 * 1024;

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "headwater".to_owned(),
            interval: Duration::from_secs(1),
            components: vec![],
            thresholds: BTreeMap::new(),
            store_budget: DEFAULT_STORE_BUDGET,
            calls: vec![],
            symptoms: vec![],
            tellers: vec![],
        }
    }
}

/// One declared component and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// `kind/name`.
    pub subject: Subject,
    /// Whether a source is configured that should give data about it; a component without one is shown as
    /// unknown and does not change the exit code.
    pub has_source: bool,
    /// What it calls, as subjects of components.
    pub depends_on: Vec<Subject>,
    /// The longest acceptable 99th percentile of a request.
    pub objective_p99: Option<Duration>,
    /// Healthy values by metric name, in the metric's unit: the first choice of a baseline.
    pub baselines: BTreeMap<String, f64>,
    /// The network link of each node, in bytes a second.
    pub link: Option<f64>,
    /// Whether the nodes of one host share its link, as they do on real hosts; else each node has its own.
    pub link_shared_by_host: bool,
    /// Which stage of a request is spent in which dependency; stages that are not named are the component's own.
    pub stages: BTreeMap<String, Subject>,
    /// Thresholds for this component alone: rule id, threshold name, value.
    pub thresholds: BTreeMap<String, BTreeMap<String, f64>>,
    /// What it answers with, when that was declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// Values by metric name from which on it is in trouble, in the metric's unit; for free metrics of a database, a
    /// configuration centre, a vector store. Which way is worse follows from the baseline, else more is worse.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alerts: BTreeMap<String, f64>,
    /// How long it waits for an answer of what it calls, where its page does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Other names of the same component: what is told of them is told of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Subject>,
}

impl Component {
    /// A component of which only the name is known.
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            has_source: false,
            depends_on: vec![],
            objective_p99: None,
            baselines: BTreeMap::new(),
            link: None,
            link_shared_by_host: true,
            stages: BTreeMap::new(),
            thresholds: BTreeMap::new(),
            workload: None,
            alerts: BTreeMap::new(),
            timeout: None,
            aliases: vec![],
        }
    }
}

impl Settings {
    /// The declared component that `subject` is or belongs to.
    pub fn component(&self, subject: &Subject) -> Option<&Component> {
        let component = subject.component_of();
        self.components.iter().find(|declared| declared.subject == component)
    }

    /// The age above which a value is stale: it is no longer what is going on, and a rule that needs it answers
    /// Unknown.
    pub fn stale_after(&self) -> Duration {
        self.interval * STALE_INTERVALS
    }

    /// The age above which a value of this metric is stale: what probes see comes at the pace of the slowest of them.
    pub fn stale_after_of(&self, metric: &MetricName) -> Duration {
        let is_probed = matches!(metric, MetricName::Known(known) if PROBED.contains(known));
        let probes = self.tellers.iter().filter(|teller| is_probed && teller.subject.kind() == Kind::Probe);
        let slowest = probes.filter_map(|probe| probe.every).max().unwrap_or_default();
        slowest.max(self.interval) * STALE_INTERVALS
    }

    /// The age above which what a source tells is stale: one that is no component may be asked at a pace of its own.
    pub fn stale_after_asking(&self, source: &Subject) -> Duration {
        let own = self
            .tellers
            .iter()
            .filter(|teller| teller.subject.contains(source))
            .find_map(|teller| teller.every);
        own.unwrap_or_default().max(self.interval) * STALE_INTERVALS
    }

    /// The components with a source that are of a kind that shows symptoms: services, gateways and clients.
    pub fn symptom_sources(&self) -> impl Iterator<Item = &Component> {
        let shows = |kind| matches!(kind, Kind::Service | Kind::Gateway | Kind::Client);
        self.components
            .iter()
            .filter(move |component| component.has_source && shows(component.subject.kind()))
    }

    /// Whether a source of some component tells a declared symptom.
    pub fn has_declared_symptom_source(&self) -> bool {
        let tells =
            |component: &Component| self.symptoms.iter().any(|symptom| symptom.subject == component.subject);
        self.components.iter().any(|component| component.has_source && tells(component))
    }
}

/// Healthy values learned in earlier runs, by subject, metric and hour of day (UTC); saved by the application
/// when a run ended with nothing pending or firing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// The learned values.
    pub rows: Vec<BaselineRow>,
}

/// One learned healthy value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineRow {
    /// What it is about.
    pub subject: Subject,
    /// The metric's name.
    pub metric: MetricName,
    /// The part, when the metric has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RemoteText>,
    /// Hour of day in UTC, 0-23.
    pub hour: u8,
    /// Typical value: the median (of a histogram metric, the 99th percentile).
    pub typical: f64,
    /// Spread: the interquartile range.
    pub spread: f64,
    /// Points that it was learned from.
    pub points: u32,
    /// The 95th percentile of these points, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Of a histogram metric, the mean of all its events, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{PROBE_TTFT, READY};

    #[test]
    fn what_probes_see_stays_fresh_at_the_pace_of_the_slowest_of_them() {
        let teller = |subject: &str, every_s| Teller {
            subject: subject.parse().unwrap(),
            every: Some(Duration::from_secs(every_s)),
        };
        let mut settings = Settings::default();
        let fresh_for =
            |settings: &Settings, metric| settings.stale_after_of(&MetricName::Known(metric)).as_secs();
        assert_eq!(fresh_for(&settings, PROBE_TTFT), 5);
        settings.tellers =
            vec![teller("probe/health", 2), teller("probe/first-token", 30), teller("change/code", 90)];
        assert_eq!((fresh_for(&settings, PROBE_TTFT), fresh_for(&settings, READY)), (150, 5));
        let told_for = |source: &str| settings.stale_after_asking(&source.parse().unwrap()).as_secs();
        assert_eq!(
            (told_for("probe/health"), told_for("change/code"), told_for("service/a@h:1")),
            (10, 450, 5)
        );
    }
}
