//! One evaluation's outcome: plain data for screens and reports.

mod present;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::command_time::CommandTime;
use crate::flow::Flow;
use crate::freshness::Rhythms;
use crate::gpu_errors::GpuErrors;
use crate::graph::Graph;
use crate::launches::Launches;
use crate::metric::REDIS_ANSWER_TIME;
use crate::reach::{all_silent_since, is_target};
use crate::reading::{
    Change, ClusterView, HotSearch, KeySizes, LargeCommand, OperatorAct, Scan, SlowCommand, Topology,
};
use crate::report::{Note, Report};
use crate::rules::{Nature, by_id};
use crate::settings::Settings;
use crate::signal::Signal;
use crate::store::History;
use crate::subject::Subject;
use crate::time::Moment;
use crate::timeline::Timeline;
use crate::upstream_time::UpstreamTime;
pub use sources::{GpuLeft, Listed, SourceState};

/// How many acts of people are kept, and when the last was: of many the oldest go, so that their number alone stands still.
pub type ActsUntil = (usize, Option<Moment>);

/// Everything that can be shown about one moment; freezing the screen is keeping an old one.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment of the evaluation.
    pub at: Moment,
    /// The moment of the newest evaluation, when this snapshot was gone back to.
    pub gone_back_from: Option<Moment>,
    /// The first moment of which the engine was told anything.
    pub began: Moment,
    /// What was declared.
    pub settings: Arc<Settings>,
    /// The triage.
    pub report: Arc<Report>,
    /// Live state of every rule on every subject that it watches.
    pub rules: Arc<[RuleState]>,
    /// Who calls whom.
    pub graph: Arc<Graph>,
    /// What goes on the calls of the graph at present; nothing in a snapshot that was gone back to.
    pub flows: Arc<[Flow]>,
    /// What people changed, oldest first.
    pub changes: Arc<[Change]>,
    /// The errors of GPUs, with when they came.
    pub gpu_errors: GpuErrors,
    /// GPUs that left, the last first.
    pub gpus_left: Arc<[GpuLeft]>,
    /// What is usual of launches on GPUs; of a moment that is gone back to, what is known by now.
    pub launches: Launches,
    /// The Redis deployments.
    pub topologies: Arc<[Topology]>,
    /// Every source with its age and faults.
    pub sources: Arc<[SourceState]>,
    /// The numbers that say how callers are, in the order of [`SIGNALS`](crate::signal::SIGNALS).
    pub signals: Vec<Signal>,
    /// Scans for big keys, one a shard, each with when it last told anything.
    pub scans: Vec<(Moment, Scan)>,
    /// The last complete scan of each shard whose newest one is not complete, with when it was told.
    pub complete_scans: Vec<(Moment, Scan)>,
    /// Searches for hot keys, the newest of each shard and way, each with when it last told anything.
    pub searches: Vec<(Moment, HotSearch)>,
    /// How many keys of which size each node has that counts them.
    pub key_sizes: Vec<(Subject, Arc<KeySizes>)>,
    /// Commands with large requests or replies, with the node that logged each.
    pub large_commands: Vec<(Subject, Arc<LargeCommand>)>,
    /// What each node of a cluster last said of the whole, with when.
    pub views: Vec<(Moment, Arc<ClusterView>)>,
    /// How long calls of commands took lately, node by node; nothing in a snapshot that was gone back to.
    pub command_times: Arc<[CommandTime]>,
    /// How long attempts at upstreams took lately, gateway by gateway; nothing in a snapshot that was gone back to.
    pub upstream_times: Arc<[UpstreamTime]>,
    /// Newest entries of all slow logs with the node they came from, newest first.
    pub slow_commands: Arc<[(Subject, SlowCommand)]>,
    /// Shards on which a big-key scan would tell more; the application decides whether to run it.
    pub scans_wanted: Vec<Subject>,
    /// Shards on which a search for hot keys would tell more; the application decides whether and how to run it.
    pub searches_wanted: Vec<Subject>,
    /// What the operator marked and noted, oldest first.
    pub acts: Arc<[OperatorAct]>,
    /// How often there is news of what is not polled.
    pub rhythms: Rhythms,
    /// Every series over time.
    pub history: History,
    /// What was said at earlier moments.
    pub timeline: Timeline,
    /// How much history is kept.
    pub kept: Kept,
}

/// How much history is kept, of what and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes held now.
    pub bytes: usize,
    /// Bytes that may be held.
    pub budget: usize,
    /// Number of series.
    pub series: usize,
    /// How far back each series keeps every point.
    pub points_for: Duration,
    /// How far back each series keeps bins of ten seconds.
    pub fine_for: Duration,
    /// How far back each series keeps bins of one minute.
    pub coarse_for: Duration,
}

impl Snapshot {
    /// A snapshot in which nothing is known but a triage.
    pub fn of(report: Report) -> Self {
        Self {
            at: report.at,
            gone_back_from: None,
            began: report.at,
            settings: Arc::default(),
            report: Arc::new(report),
            rules: Arc::default(),
            graph: Arc::default(),
            flows: Arc::default(),
            changes: Arc::default(),
            gpu_errors: GpuErrors::default(),
            gpus_left: Arc::default(),
            launches: Launches::default(),
            topologies: Arc::default(),
            sources: Arc::default(),
            signals: vec![],
            scans: vec![],
            complete_scans: vec![],
            searches: vec![],
            key_sizes: vec![],
            large_commands: vec![],
            views: vec![],
            command_times: Arc::default(),
            upstream_times: Arc::default(),
            slow_commands: Arc::default(),
            scans_wanted: vec![],
            searches_wanted: vec![],
            acts: Arc::default(),
            rhythms: Rhythms::default(),
            history: History::default(),
            timeline: Timeline::default(),
            kept: Kept::default(),
        }
    }

    /// The report as it is written, with what the operator marked and noted.
    pub fn written(&self) -> Report {
        let mut notes: Vec<Note> = self.acts.iter().map(Note::of).collect();
        notes.sort_by_key(|note| note.at);
        Report { notes, ..(*self.report).clone() }
    }

    /// Which acts of people it holds.
    pub fn acts_until(&self) -> ActsUntil {
        (self.acts.len(), self.acts.last().map(|act| act.at))
    }

    /// Since when no target gives anything any more, though some did; `None` while any does.
    pub fn silent_since(&self) -> Option<Moment> {
        all_silent_since(self.sources.iter(), &self.settings, self.at)
    }

    /// Whether anything that callers feel is firing at this moment.
    pub fn callers_suffer(&self) -> bool {
        let is_symptom = |id: &str| by_id(id).is_some_and(|rule| rule.nature == Nature::Symptom);
        self.rules.iter().any(|state| state.state == "firing" && is_symptom(state.rule))
    }

    /// Whether a target is in trouble at this moment: then nobody says that all is seen.
    pub fn has_faulty_target(&self) -> bool {
        self.targets().any(|state| state.fault.is_some())
    }

    /// The sources that are watched: all but Headwater itself and those that only tell.
    pub fn targets(&self) -> impl Iterator<Item = &SourceState> {
        self.sources.iter().filter(|state| is_target(state))
    }

    /// The shards whose link is full: what a key has of their bytes counts before its share of their work.
    pub fn short_of_bytes(&self) -> BTreeSet<&Subject> {
        let full = self.rules.iter().filter(|rule| rule.rule == "shard-bandwidth" && rule.state == "firing");
        full.map(|rule| &rule.subject).collect()
    }

    /// What the nodes of a cluster say of the whole, as far as it still holds: of nodes that answer, and not older than
    /// three rounds of asking. The last word of a node that is gone is no view of the present.
    pub fn views_of(&self, cluster: &Subject) -> Vec<&ClusterView> {
        let well: BTreeSet<&Subject> =
            self.sources.iter().filter(|state| state.fault.is_none()).map(|state| &state.source).collect();
        let holds = |(at, view): &&(Moment, Arc<ClusterView>)| {
            cluster.contains(&view.node)
                && view.is_fresh(*at, self.at)
                && well.contains(&view.node)
                && self.present(&view.node, REDIS_ANSWER_TIME, None).is_some()
        };
        self.views.iter().filter(holds).map(|(_, view)| &**view).collect()
    }

    /// What scans have found, shard by shard, with when that was told: the last complete scan, else what the newest one
    /// has found so far. [`Self::scans`] says how the newest stands.
    pub fn scan_results(&self) -> impl Iterator<Item = (&Scan, Moment)> {
        let complete: BTreeMap<&Subject, (&Scan, Moment)> =
            self.complete_scans.iter().map(|(at, scan)| (&scan.shard, (scan, *at))).collect();
        let newest: BTreeMap<&Subject, (&Scan, Moment)> =
            self.scans.iter().map(|(at, scan)| (&scan.shard, (scan, *at))).collect();
        let mut results = newest;
        results.extend(complete);
        results.into_values()
    }

    /// What could be said at an earlier moment: its triage, rules and sources, with the numbers that were known then.
    /// Of a scan, a search and a node's view the newest word alone is kept: the past has those that were told before it.
    /// `None` before the first frame that is kept.
    pub fn back_to(&self, moment: Moment) -> Option<Self> {
        let frame = self.timeline.at(moment)?;
        let before = |at: Moment| at <= frame.at;
        let gpus_left: Arc<[GpuLeft]> =
            self.gpus_left.iter().filter(|left| before(left.at)).cloned().collect();
        Some(Self {
            graph: Arc::clone(&frame.graph),
            history: self.history.without(gpus_left.iter().map(|left| left.gpu.clone()).collect()),
            at: frame.at,
            gone_back_from: Some(self.gone_back_from.unwrap_or(self.at)),
            report: Arc::clone(&frame.report),
            rules: Arc::clone(&frame.rules),
            sources: Arc::clone(&frame.sources),
            topologies: Arc::clone(&frame.topologies),
            signals: (self.signals.iter().enumerate())
                .map(|(place, signal)| signal.back_to(frame.at, frame.beside_signals.get(place)))
                .collect(),
            scans: self.scans.iter().filter(|(at, _)| before(*at)).cloned().collect(),
            complete_scans: self.complete_scans.iter().filter(|(at, _)| before(*at)).cloned().collect(),
            searches: self.searches.iter().filter(|(at, _)| before(*at)).cloned().collect(),
            key_sizes: vec![],
            large_commands: self.large_commands.iter().filter(|(_, one)| before(one.at)).cloned().collect(),
            views: self.views.iter().filter(|(at, _)| before(*at)).cloned().collect(),
            command_times: Arc::default(),
            upstream_times: Arc::default(),
            flows: Arc::default(),
            scans_wanted: frame.scans_wanted.to_vec(),
            searches_wanted: frame.searches_wanted.to_vec(),
            slow_commands: self.slow_commands.iter().filter(|(_, entry)| before(entry.at)).cloned().collect(),
            changes: self.changes.iter().filter(|change| before(change.at)).cloned().collect(),
            gpu_errors: self.gpu_errors.until(frame.at),
            gpus_left,
            acts: self.acts.iter().filter(|act| before(act.at)).cloned().collect(),
            ..self.clone()
        })
    }
}

/// A rule's state on one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleState {
    /// The rule's id.
    pub rule: &'static str,
    /// The subject.
    pub subject: Subject,
    /// `clear`, `pending`, `firing`, `ended` or `unknown`.
    pub state: &'static str,
    /// What was seen, or what is missing.
    pub detail: Arc<str>,
    /// Whether the last look could not tell: what has `ended` so may go on unseen.
    pub is_blind: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{ERRORS, IN_FLIGHT, REQUESTS};
    use crate::reading::{Input, Reading, Value};
    use crate::settings::Baselines;

    #[test]
    fn a_present_value_is_that_of_the_moment_shown_and_never_a_stale_one() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let service: Subject = "service/a".parse().unwrap();
        let part = service.instance("h:1");
        for second in 0..20 {
            let at = Moment(second * 1_000);
            if second < 10 {
                let mut reading = Reading::new(part.clone(), at);
                reading.sample(&part, IN_FLIGHT, Value::Gauge(second as f64));
                engine.take(&Input::Reading(reading));
            }
            engine.take(&Input::Tick(at));
        }
        let now = engine.snapshot().unwrap();
        let total = |moment| now.back_to(Moment(moment)).unwrap().total(&service, IN_FLIGHT);
        assert_eq!(total(4_000), Some(4.0));
        assert_eq!(total(14_000), Some(9.0));
        assert_eq!(now.total(&service, IN_FLIGHT), None);
        assert_eq!(now.total(&service, REQUESTS), None);
    }

    #[test]
    fn the_past_has_its_own_nodes_and_usual_values_and_no_later_scans() {
        use crate::reading::{Event, Node, NodeHealth, Scan, Shard};
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let cluster: Subject = "redis/a".parse().unwrap();
        let shard = cluster.shard(0);
        let topology = |address: &str| Topology {
            cluster: cluster.clone(),
            clustered: true,
            shards: vec![Shard {
                subject: shard.clone(),
                slots: vec![(0, 16_383)],
                nodes: vec![Node {
                    subject: shard.instance(address),
                    id: "n".into(),
                    primary: true,
                    health: NodeHealth::Online,
                }],
            }],
        };
        let mut take = |second: i64, event: Option<Event>| {
            let at = Moment(second * 1_000);
            let mut reading = Reading::new(cluster.clone(), at);
            reading.events.extend(event);
            let service: Subject = "service/a".parse().unwrap();
            reading.sample(&service, REQUESTS, Value::Gauge(5.0));
            reading.sample(&service, ERRORS, Value::Gauge(0.0));
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
        };
        take(0, Some(Event::Topology(topology("h:1"))));
        (1..60).for_each(|second| take(second, None));
        take(60, Some(Event::Topology(topology("h:2"))));
        let scan = Scan { scanned: 1, total: 2, ..Scan::begun(shard.clone(), shard.instance("h:2")) };
        take(61, Some(Event::Scan(scan)));
        (62..70).for_each(|second| take(second, None));
        let now = engine.snapshot().unwrap();
        let then = now.back_to(Moment(10_000)).unwrap();
        let node = |snapshot: &Snapshot| snapshot.topologies[0].shards[0].nodes[0].subject.to_string();
        assert_eq!((node(&now), node(&then)), ("redis/a#0@h:2".into(), "redis/a#0@h:1".into()));
        assert_eq!((now.scans.len(), then.scans.len()), (1, 0));
        let soon_after = now.back_to(Moment(65_000)).unwrap();
        assert_eq!((soon_after.scans.len(), soon_after.scans[0].0), (1, Moment(61_000)));
        let usual = |snapshot: &Snapshot| {
            snapshot.signals.iter().find(|signal| signal.row.name == "requests").unwrap().usual
        };
        assert!(usual(&now).is_some());
        assert_eq!(usual(&then), None, "ten seconds make no usual value");
    }
}
