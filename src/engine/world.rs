//! What is known apart from numbers: who answered when, the shape of each deployment, slow logs, scans.

mod changes;
mod consequences;
mod elsewhere;
mod exported;
mod gpu_errors;
mod gpu_names;
mod gpu_processes;
mod gpu_said;
mod gpu_tellers;
mod gpus_left;
mod heard;
mod history;
mod keyspace;
mod machine;
mod named;
mod shapes;
mod slow_log;
mod targets;
mod teller;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use changes::Changes;
pub use consequences::Consequences;
use exported::{Exported, LastWords};
use gpu_errors::ErrorsHeard;
use gpu_tellers::GpuTellers;
pub(crate) use gpus_left::{GPU_LEAVES_AFTER, looks_fail};
pub(crate) use heard::{FIRST_FEW, FIRST_LOOKS};
pub(crate) use history::Histories;
pub(crate) use keyspace::Keyspace;
pub(crate) use machine::is_slice;
pub(crate) use machine::machine_at;
pub use machine::machine_of;
pub use slow_log::SlowLogs;
pub(crate) use slow_log::keys_of;

use crate::freshness::Rhythms;
use crate::gpu_errors::GpuErrors;
use crate::metric::{MetricName, OWN_COST};
use crate::reading::{Call, Change, ClusterView, Event, FaultKind, Reading, Topology};
use crate::settings::Settings;
use crate::snapshot::{GpuLeft, SourceState};
use crate::subject::Subject;
use crate::time::Moment;

/// Everything that is known apart from numbers.
#[derive(Debug, Default)]
pub struct World {
    sources: BTreeMap<Subject, SourceState>,
    topologies: BTreeMap<Subject, Topology>,
    /// The same for snapshots: made when a shape arrives, because shapes seldom do.
    shapes: Arc<[Topology]>,
    /// The nodes of each deployment by their host.
    hosts: BTreeMap<Subject, BTreeMap<String, Vec<Subject>>>,
    slow: SlowLogs,
    /// What is known of keys.
    keyspace: Keyspace,
    /// The newest view of each node of a cluster.
    views: BTreeMap<Subject, (Moment, Arc<ClusterView>)>,
    /// When there last was a number about a subject.
    data: BTreeMap<Subject, Moment>,
    /// How often there is news of a subject, where that is not the interval of polling.
    rhythms: Rhythms,
    /// When the processes of a subject were started, as its page says, oldest first.
    starts: BTreeMap<Subject, Vec<Moment>>,
    /// The calls that each import knows.
    calls: BTreeMap<Subject, Vec<Call>>,
    /// What people changed, oldest first.
    changes: Changes,
    /// Of each source that gave numbers, whether it only tells of others.
    elsewhere: BTreeMap<Subject, bool>,
    /// What sources remember of healthy times.
    histories: Histories,
    /// The deployments of Redis that only exporters tell of.
    exported: BTreeMap<Subject, Exported>,
    /// When their exporters were heard last.
    last_words: LastWords,
    /// What left while a reading was named, to be told with it.
    gone: Vec<Subject>,
    /// Who tells of each GPU.
    gpus: GpuTellers,
    /// The errors of GPUs, with when they came.
    gpu_errors: ErrorsHeard,
    /// GPUs that left, the last first.
    gpus_left: Arc<[GpuLeft]>,
    /// GPUs of which nobody tells any more, and which are kept because they may be to blame.
    gpus_held: BTreeSet<Subject>,
}

impl World {
    /// A world in which nothing is known but the other names of components.
    pub fn new(settings: &Settings) -> Self {
        Self { changes: Changes::new(settings), ..Self::default() }
    }

    /// Takes a reading's events and faults.
    pub fn take(&mut self, reading: &Reading) -> Consequences {
        let mut consequences = Consequences::of(reading);
        consequences.gone.append(&mut self.gone);
        let state = self.sources.entry(reading.source.clone()).or_insert_with(|| SourceState {
            source: reading.source.clone(),
            last_data: None,
            every: None,
            late_since: None,
            fault: None,
            dialects: vec![],
            unavailable: vec![],
            offers: vec![],
            listed: None,
        });
        if let Some(fault) = reading.faults.first() {
            let since = match &state.fault {
                Some((since, before)) if before.kind == fault.kind => *since,
                _ => reading.at,
            };
            state.fault = Some((since, fault.clone()));
        }
        let told = || reading.samples.iter().filter(|sample| tells_of_target(&sample.metric));
        if told().next().is_some() {
            state.last_data = Some(reading.at);
            state.every = reading.every;
            if reading.every.is_some() {
                self.rhythms.note(&reading.source, reading.every);
            }
            state.late_since = None;
            if reading.faults.is_empty() {
                state.fault = None;
            }
        } else if reading.faults.iter().any(|fault| fault.kind != FaultKind::Silent) {
            // An answer of any kind, a refusal too, ends the waiting for it.
            state.late_since = None;
        }
        if reading.events.iter().any(|event| matches!(event, Event::Topology(_))) && reading.faults.is_empty()
        {
            state.fault = None;
        }
        if reading.source.kind().only_tells() {
            teller::hear(state, reading);
        }
        // A server may claim any time at all.
        let clocks_apart_ms =
            reading.source_clock_us.map(|clock| reading.at.0.saturating_sub_unsigned(clock / 1_000));
        self.note_whom_it_tells_of(reading);
        self.note_starts(reading);
        self.note_machines(reading);
        let is_page = self.is_page(reading);
        let mut before: Option<&Subject> = None;
        for sample in told() {
            if before != Some(&sample.subject) && !self.is_told_twice(is_page, &sample.subject) {
                before = Some(&sample.subject);
                if !reading.source.kind().looks_from_beside() {
                    self.rhythms.note(&sample.subject, reading.every);
                }
                match self.data.get_mut(&sample.subject) {
                    Some(at) => *at = reading.at,
                    None => {
                        self.data.insert(sample.subject.clone(), reading.at);
                    }
                }
            }
        }
        for event in &reading.events {
            self.take_event(
                &reading.source,
                reading.at,
                event,
                clocks_apart_ms.unwrap_or(0),
                &mut consequences,
            );
        }
        consequences
    }

    fn take_event(
        &mut self,
        source: &Subject,
        at: Moment,
        event: &Event,
        clocks_apart_ms: i64,
        consequences: &mut Consequences,
    ) {
        match event {
            Event::Topology(topology) => {
                self.exported.remove(&topology.cluster);
                consequences.gone.extend(self.replace_topology(topology));
            }
            Event::Late(since) => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.late_since.get_or_insert(*since);
                }
            }
            Event::Restarted => consequences.restarted = true,
            Event::SlowCommand(command) => self.slow.take(source, command, clocks_apart_ms),
            Event::Scan(scan) => self.keyspace.take_scan(at, scan),
            Event::HotSearch(search) => self.keyspace.take_search(at, search),
            Event::KeySizes(sizes) => self.keyspace.take_sizes(source, sizes),
            Event::LargeCommand(command) => self.keyspace.take_large(source, command, clocks_apart_ms),
            Event::ClusterView(view) => {
                self.views.insert(view.node.clone(), (at, Arc::new(view.clone())));
            }
            Event::Offers(offers) => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.offers.clone_from(offers);
                }
            }
            Event::Dialects(dialects) => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.dialects.clone_from(dialects);
                }
            }
            Event::Unavailable { what, why } => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.unavailable.retain(|(known, _)| known != what);
                    state.unavailable.push((what.clone(), why.clone()));
                }
            }
            Event::Calls(calls) => {
                self.calls.insert(source.clone(), calls.clone());
            }
            Event::Change(change) => self.changes.take(source, change),
            Event::Targets(list) => consequences.gone.extend(self.replace_targets(source, at, list)),
            Event::History(history) => self.remember(source, history.clone()),
            // Taken before the numbers, which are named by it.
            Event::Exported(_) | Event::Gpu(_) => {}
            Event::Available { what } => {
                if let Some(state) = self.sources.get_mut(source) {
                    state.unavailable.retain(|(known, _)| known != what);
                }
            }
        }
    }

    /// The calls that imports know.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().flatten()
    }

    /// What people changed, oldest first.
    pub fn changes(&self) -> &Arc<[Change]> {
        self.changes.all()
    }

    /// The errors of every GPU, with when they came.
    pub fn gpu_errors(&self) -> &GpuErrors {
        self.gpu_errors.dated()
    }

    /// Everything with an address that is known: nodes and instances.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Subject> {
        let nodes =
            self.topologies.values().flat_map(|topology| &topology.shards).flat_map(|shard| &shard.nodes);
        nodes.map(|node| &node.subject).chain(self.data.keys().filter(|subject| subject.address().is_some()))
    }

    /// Every source's state, in order.
    pub fn sources(&self) -> impl Iterator<Item = &SourceState> {
        self.sources.values()
    }

    /// One source's state.
    pub fn source(&self, source: &Subject) -> Option<&SourceState> {
        self.sources.get(source)
    }

    /// What each node of a deployment says of the whole, with when it said so; a node that says nothing any more keeps
    /// its last word until it leaves the deployment.
    pub fn views(&self, cluster: &Subject) -> impl Iterator<Item = &(Moment, Arc<ClusterView>)> {
        cluster.within(&self.views).map(|(_, view)| view)
    }

    /// What each node of every deployment says of the whole.
    pub fn all_views(&self) -> impl Iterator<Item = &(Moment, Arc<ClusterView>)> {
        self.views.values()
    }
}

fn tells_of_target(metric: &MetricName) -> bool {
    !matches!(metric, MetricName::Known(metric) if OWN_COST.contains(metric))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metric::{REDIS_COMMANDS, REDIS_OUR_COMMANDS};
    use crate::reading::{Fault, Node, NodeHealth, Shard, SlowCommand, Value};

    fn node() -> Subject {
        "redis/features#0@10.0.0.1:6379".parse().unwrap()
    }

    fn refused(at: i64) -> Reading {
        let mut reading = Reading::new(node(), Moment(at));
        reading.sample(&node(), REDIS_OUR_COMMANDS, Value::Counter(7.0));
        reading.faults.push(Fault { kind: FaultKind::Unreachable, message: "refused".into() });
        reading
    }

    #[test]
    fn our_own_cost_is_no_data_about_a_target() {
        let mut world = World::default();
        let mut answer = Reading::new(node(), Moment(1_000));
        answer.sample(&node(), REDIS_COMMANDS, Value::Counter(1.0));
        world.take(&answer);
        world.take(&refused(9_000));
        assert_eq!(world.last_data(&node()), Some(Moment(1_000)));
        let state = world.source(&node()).unwrap();
        assert_eq!((state.last_data, state.fault.as_ref().unwrap().0), (Some(Moment(1_000)), Moment(9_000)));
    }

    #[test]
    fn a_fault_is_dated_by_its_first_sight_and_ends_with_data() {
        let mut world = World::default();
        world.take(&refused(1_000));
        world.take(&refused(3_000));
        assert_eq!(world.source(&node()).unwrap().fault.as_ref().unwrap().0, Moment(1_000));
        let mut answer = Reading::new(node(), Moment(5_000));
        answer.sample(&node(), REDIS_COMMANDS, Value::Counter(1.0));
        world.take(&answer);
        assert_eq!(world.source(&node()).unwrap().fault, None);
    }

    #[test]
    fn an_entry_that_is_read_again_counts_once_and_is_dated_by_our_clock() {
        let mut world = World::default();
        let entry = |id| {
            let mut reading = Reading::new(node(), Moment(1_000_000));
            reading.source_clock_us = Some(400_000_000);
            reading.events.push(Event::SlowCommand(SlowCommand {
                id,
                at: Moment(399_000),
                took: Duration::from_millis(20),
                command: "GET".into(),
                key: None,
                arguments: vec![],
                client: "".into(),
                excluded: false,
            }));
            reading
        };
        for id in [1, 2, 1, 2, 3] {
            world.take(&entry(id));
        }
        assert_eq!(world.slow_logs().of(&node()).count(), 3);
        assert_eq!(world.slow_logs().of(&node()).next().unwrap().at, Moment(999_000));
    }

    #[test]
    fn a_clock_that_is_out_of_all_bounds_is_survived() {
        for (at, clock) in [(i64::MIN, u64::MAX), (i64::MAX, 0), (i64::MIN, 0), (0, u64::MAX)] {
            let mut world = World::default();
            let mut reading = Reading::new(node(), Moment(at));
            reading.source_clock_us = Some(clock);
            reading.sample(&node(), REDIS_COMMANDS, Value::Counter(1.0));
            world.take(&reading);
            assert_eq!(world.last_data(&node()), Some(Moment(at)));
        }
    }

    #[test]
    fn any_answer_ends_lateness_and_a_shape_ends_the_fault_of_its_target() {
        let mut world = World::default();
        let mut late = Reading::new(node(), Moment(2_000));
        late.events.push(Event::Late(Moment(500)));
        world.take(&late);
        let mut busy = refused(3_000);
        busy.faults[0].kind = FaultKind::Busy;
        world.take(&busy);
        assert_eq!(world.source(&node()).unwrap().late_since, None);
        let cluster = node().component_of();
        let mut unknown = Reading::new(cluster.clone(), Moment(4_000));
        unknown.faults.push(Fault { kind: FaultKind::Unreachable, message: "refused".into() });
        world.take(&unknown);
        let mut shape = Reading::new(cluster.clone(), Moment(5_000));
        shape.events.push(Event::Topology(Topology {
            cluster: cluster.clone(),
            clustered: true,
            shards: vec![],
        }));
        world.take(&shape);
        assert_eq!(world.source(&cluster).unwrap().fault, None);
    }

    #[test]
    fn the_view_of_a_node_that_left_is_forgotten() {
        let mut world = World::default();
        let cluster = node().component_of();
        let shape = |nodes: &[Subject]| {
            let nodes = nodes.iter().map(|subject| Node {
                subject: subject.clone(),
                id: "id".into(),
                primary: true,
                health: NodeHealth::Online,
            });
            let shard = Shard { subject: cluster.shard(0), slots: vec![], nodes: nodes.collect() };
            let mut reading = Reading::new(cluster.clone(), Moment(0));
            let topology = Topology { cluster: cluster.clone(), clustered: true, shards: vec![shard] };
            reading.events.push(Event::Topology(topology));
            reading
        };
        let other: Subject = "redis/features#0@10.0.0.2:6379".parse().unwrap();
        world.take(&shape(&[node(), other.clone()]));
        for node in [node(), other.clone()] {
            let mut reading = Reading::new(node.clone(), Moment(1_000));
            reading.events.push(Event::ClusterView(ClusterView {
                node,
                says_ok: true,
                known: 2,
                epoch: 1,
                uncovered: vec![],
                owners: 7,
                own: vec![],
                failed: vec![],
                suspected: vec![],
                migrating: vec![],
                importing: vec![],
            }));
            world.take(&reading);
        }
        assert_eq!(world.views(&cluster).count(), 2);
        world.take(&shape(std::slice::from_ref(&other)));
        assert!(world.views(&cluster).map(|(_, view)| &view.node).eq([&other]));
    }

    #[test]
    fn what_was_missing_is_said_once_and_taken_back() {
        let mut world = World::default();
        let mut reading = Reading::new(node(), Moment(1_000));
        for why in ["denied", "still denied"] {
            reading.events.push(Event::Unavailable { what: "SLOWLOG GET".into(), why: why.into() });
        }
        world.take(&reading);
        assert_eq!(
            world.source(&node()).unwrap().unavailable,
            [("SLOWLOG GET".into(), "still denied".into())]
        );
        reading.events = vec![Event::Available { what: "SLOWLOG GET".into() }];
        world.take(&reading);
        assert_eq!(world.source(&node()).unwrap().unavailable, []);
    }

    #[test]
    fn lateness_lasts_until_the_answer() {
        let mut world = World::default();
        let mut late = Reading::new(node(), Moment(2_000));
        late.events.push(Event::Late(Moment(500)));
        world.take(&late);
        assert_eq!(world.source(&node()).unwrap().late_since, Some(Moment(500)));
        let mut answer = Reading::new(node(), Moment(3_000));
        answer.sample(&node(), REDIS_COMMANDS, Value::Counter(1.0));
        world.take(&answer);
        assert_eq!(world.source(&node()).unwrap().late_since, None);
    }
}
