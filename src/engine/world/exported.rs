//! Deployments of Redis that only exporters tell of: which nodes belong together, as far as their pages say so.
//!
//! A page says whether its node is a primary and whom it follows. Nodes that follow one another are a shard, and a node
//! keeps the number of its shard through failovers. Which slots a shard owns no page says.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::World;
use crate::reading::{Event, ExportedNode, Node, NodeHealth, Reading, Shard, Topology};
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;

/// A node whose sources say nothing for this long, not even that they fail, has left: a Prometheus says nothing any more
/// of what it does not scrape. What fails again and again is not gone but in trouble.
const LEFT_AFTER: Duration = Duration::from_secs(300);

/// Evaluations are a second apart. After a gap as long as this we were asleep, and what nobody listened to was no silence.
const ASLEEP: Duration = Duration::from_secs(30);

/// A node that left is known again when it is told of within this time: sources say only once what it is.
const REMEMBERED_FOR: Duration = Duration::from_secs(86_400);

/// The nodes of one deployment.
#[derive(Debug, Default)]
pub(super) struct Exported {
    nodes: BTreeMap<Subject, KnownNode>,
}

/// What is known of one node by its exporters.
#[derive(Debug)]
struct KnownNode {
    told: ExportedNode,
    /// The number of its shard.
    number: usize,
    /// The sources that tell of it.
    by: BTreeSet<Subject>,
    /// When it left, by the silence of all of these.
    left: Option<Moment>,
}

/// Who was heard last when, while anybody listened.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    of: BTreeMap<Subject, Moment>,
    evaluated: Option<Moment>,
    awake_since: Moment,
}

impl LastWords {
    fn hear(&mut self, reading: &Reading) {
        match self.of.get_mut(&reading.source) {
            Some(at) => *at = reading.at,
            None => drop(self.of.insert(reading.source.clone(), reading.at)),
        }
    }

    fn listen(&mut self, now: Moment) {
        if self.evaluated.is_some_and(|last| now.since(last) >= ASLEEP) {
            self.awake_since = now;
        }
        self.evaluated = Some(now);
    }

    fn is_silent(&self, source: &Subject, now: Moment) -> bool {
        self.of.get(source).is_none_or(|at| now.since(self.awake_since.max(*at)) >= LEFT_AFTER)
    }
}

impl Exported {
    /// Takes what a page says of its node; whether that is news.
    fn take(&mut self, told: &ExportedNode, by: &Subject) -> bool {
        if let Some(known) = self.nodes.get_mut(&told.node).filter(|known| known.told == *told) {
            known.by.insert(by.clone());
            return known.left.take().is_some();
        }
        let others = || self.present().filter(|other| other.told.node != told.node);
        let of_primary = |name: &RemoteText| {
            others().find(|other| other.told.is_called(name.as_str())).map(|other| other.number)
        };
        let of_same_primary = |name: &RemoteText| {
            others().find(|other| other.told.follows.as_ref() == Some(name)).map(|other| other.number)
        };
        let of_follower = || {
            let follows = |other: &&KnownNode| {
                other.told.follows.as_ref().is_some_and(|name| told.is_called(name.as_str()))
            };
            self.present().find(follows).map(|other| other.number)
        };
        let before = self.nodes.get(&told.node);
        let own = before.map(|known| known.number);
        let next = || self.nodes.values().map(|known| known.number + 1).max().unwrap_or(0);
        let number = match &told.follows {
            Some(name) => of_primary(name).or_else(|| of_same_primary(name)).or(own),
            None => own.or_else(of_follower),
        };
        let number = number.unwrap_or_else(next);
        let mut by_all = before.map(|known| known.by.clone()).unwrap_or_default();
        by_all.insert(by.clone());
        let known = KnownNode { told: told.clone(), number, by: by_all, left: None };
        self.nodes.insert(told.node.clone(), known);
        true
    }

    /// The nodes that have not left.
    fn present(&self) -> impl Iterator<Item = &KnownNode> {
        self.nodes.values().filter(|known| known.left.is_none())
    }

    /// Whether a node that had left is told of again.
    fn is_back(&mut self, node: &Subject) -> bool {
        self.nodes.get_mut(node).is_some_and(|known| known.left.take().is_some())
    }

    /// Takes a source away, with the nodes that nobody else tells of; whether there were any.
    fn without(&mut self, source: &Subject) -> bool {
        let before = self.nodes.len();
        self.nodes.retain(|_, known| !known.by.remove(source) || !known.by.is_empty());
        self.nodes.len() < before
    }

    /// The name of a node with the number of its shard.
    fn placed(&self, node: &Subject) -> Option<Subject> {
        let known = self.nodes.get(node)?;
        Some(node.component_of().shard(known.number).instance(node.address()?))
    }

    fn shape(&self, cluster: &Subject) -> Topology {
        let mut shards: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        for known in self.present() {
            let node = &known.told.node;
            let Some(subject) = self.placed(node) else { continue };
            let id = RemoteText::new(node.address().unwrap_or_default());
            let node = Node { subject, id, primary: known.told.primary, health: NodeHealth::Online };
            shards.entry(known.number).or_default().push(node);
        }
        let shards = shards.into_iter().map(|(number, mut nodes)| {
            nodes.sort_by_key(|node| !node.primary);
            Shard { subject: cluster.shard(number), slots: vec![], nodes }
        });
        Topology { cluster: cluster.clone(), clustered: false, shards: shards.collect() }
    }
}

impl World {
    /// Takes what the exporters in a reading say of their nodes, and gives the reading with these nodes named by their
    /// shards. Of a deployment that is asked directly nothing is taken.
    pub(super) fn placed<'a>(&mut self, reading: &'a Reading) -> Cow<'a, Reading> {
        for event in &reading.events {
            let Event::Exported(told) = event else { continue };
            let cluster = told.node.component_of();
            if self.topologies.contains_key(&cluster) && !self.exported.contains_key(&cluster) {
                continue;
            }
            if self.exported.entry(cluster.clone()).or_default().take(told, &reading.source) {
                self.reshape(&cluster);
            }
        }
        if self.exported.is_empty() {
            return Cow::Borrowed(reading);
        }
        self.last_words.hear(reading);
        let mut placed = Cow::Borrowed(reading);
        for (index, sample) in reading.samples.iter().enumerate() {
            if let Some(subject) = self.placed_subject(&sample.subject) {
                let cluster = subject.component_of();
                if self.exported.get_mut(&cluster).is_some_and(|known| known.is_back(&sample.subject)) {
                    self.reshape(&cluster);
                }
                placed.to_mut().samples[index].subject = subject;
            }
        }
        placed
    }

    /// The name of a node that only an exporter tells of, with the number of its shard.
    pub(super) fn placed_subject(&self, subject: &Subject) -> Option<Subject> {
        if self.exported.is_empty() {
            return None;
        }
        self.exported.get(&subject.component_of())?.placed(subject)
    }

    /// Whether all that is known of a deployment comes from exporters.
    pub(crate) fn is_exported(&self, subject: &Subject) -> bool {
        !self.exported.is_empty() && self.exported.contains_key(&subject.component_of())
    }

    /// Lets the nodes go whose exporters have fallen silent; returns what is gone with them.
    pub(crate) fn let_silent_nodes_go(&mut self, now: Moment) -> Vec<Subject> {
        self.last_words.listen(now);
        let last_words = &self.last_words;
        let tells_of_nodes =
            |source: &&Subject| source.kind() == Kind::Redis || self.elsewhere.get(*source) == Some(&true);
        let (mut changed, mut silent) = (vec![], vec![]);
        for (cluster, exported) in &mut self.exported {
            exported.nodes.retain(|_, known| known.left.is_none_or(|at| now.since(at) < REMEMBERED_FOR));
            let here = exported.nodes.values_mut().filter(|known| known.left.is_none());
            for known in here.filter(|known| known.by.iter().all(|source| last_words.is_silent(source, now)))
            {
                known.left = Some(now);
                silent.extend(known.by.iter().filter(tells_of_nodes).cloned());
                changed.push(cluster.clone());
            }
        }
        for source in &silent {
            self.sources.remove(source);
            self.last_words.of.remove(source);
        }
        changed.dedup();
        changed.iter().for_each(|cluster| self.reshape(cluster));
        std::mem::take(&mut self.gone)
    }

    /// Takes a source that left out of every deployment of which it told.
    pub(super) fn without_exporter(&mut self, source: &Subject) {
        let all = self.exported.iter_mut();
        let changed: Vec<Subject> =
            all.filter_map(|(cluster, known)| known.without(source).then(|| cluster.clone())).collect();
        self.last_words.of.remove(source);
        changed.iter().for_each(|cluster| self.reshape(cluster));
    }

    /// Takes the present shape of a deployment that exporters tell of, or forgets it with its last node; what goes with the
    /// old one is told with the next reading.
    fn reshape(&mut self, cluster: &Subject) {
        let Some(exported) = self.exported.get(cluster) else { return };
        let shape = exported.shape(cluster);
        let gone = self.replace_topology(&shape);
        self.gone.extend(gone);
        if shape.shards.is_empty() {
            self.forget_topology(cluster);
        }
        if self.exported.get(cluster).is_some_and(|exported| exported.nodes.is_empty()) {
            self.exported.remove(cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{REDIS_COMMANDS, REDIS_NET_OUT};
    use crate::reading::{Fault, FaultKind, Input, Target, TargetList, Value};
    use crate::settings::{Baselines, Settings};

    fn told(address: &str, follows: Option<&str>) -> ExportedNode {
        ExportedNode {
            node: format!("redis/f@{address}").parse().unwrap(),
            primary: follows.is_none(),
            port: Some(6_379),
            follows: follows.map(RemoteText::new),
        }
    }

    fn page(address: &str, follows: Option<&str>, second: i64) -> Input {
        let told = told(address, follows);
        let mut reading = Reading::new(told.node.clone(), Moment(second * 1_000));
        reading.sample(&told.node, REDIS_COMMANDS, Value::Counter(second as f64 * 10.0));
        reading.sample(&told.node, REDIS_NET_OUT, Value::Counter(second as f64 * 100.0));
        reading.events.push(Event::Dialects(vec![RemoteText::new("redis-exporter")]));
        reading.events.push(Event::Exported(told));
        Input::Reading(reading)
    }

    fn shape(engine: &Engine) -> Vec<Vec<String>> {
        let snapshot = engine.snapshot().unwrap();
        let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
        shards.map(|shard| shard.nodes.iter().map(|node| node.subject.to_string()).collect()).collect()
    }

    #[test]
    fn nodes_that_follow_one_another_are_a_shard_whoever_is_seen_first() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..3 {
            // A replica before its primary, and one beside an exporter on another port.
            engine.take(&page("a:6379", Some("c:6379"), second));
            engine.take(&page("b:9121", None, second));
            engine.take(&page("c:6379", None, second));
            engine.take(&page("d:9121", Some("b:6379"), second));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        let expected = [["redis/f#0@c:6379", "redis/f#0@a:6379"], ["redis/f#1@b:9121", "redis/f#1@d:9121"]];
        assert_eq!(shape(&engine), expected);
        let node = "redis/f#1@b:9121".parse().unwrap();
        assert_eq!(engine.store().latest(&node, REDIS_COMMANDS, None).unwrap().value, 10.0);
        let report = engine.snapshot().unwrap().report.clone();
        assert!(!report.verdicts.iter().any(|row| row.subject.as_str() == "redis/f@b:9121"));
        // After a failover the shard keeps its number.
        engine.take(&page("a:6379", None, 3));
        engine.take(&page("c:6379", Some("a:6379"), 3));
        engine.take(&Input::Tick(Moment(3_250)));
        assert_eq!(shape(&engine)[0], ["redis/f#0@a:6379", "redis/f#0@c:6379"]);
    }

    #[test]
    fn a_deployment_that_is_asked_directly_is_not_the_exporters_to_tell() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        engine.take(&page("a:6379", None, 0));
        let node: Subject = "redis/f#0@z:1".parse().unwrap();
        let shape_of = |subject: &Subject| Topology {
            cluster: subject.component_of(),
            clustered: true,
            shards: vec![Shard {
                subject: subject.component_of().shard(0),
                slots: vec![],
                nodes: vec![Node {
                    subject: subject.clone(),
                    id: "id".into(),
                    primary: true,
                    health: NodeHealth::Online,
                }],
            }],
        };
        let mut direct = Reading::new(node.component_of(), Moment(500));
        direct.events.push(Event::Topology(shape_of(&node)));
        engine.take(&Input::Reading(direct));
        engine.take(&page("a:6379", None, 1));
        engine.take(&page("b:6379", None, 1));
        engine.take(&Input::Tick(Moment(1_250)));
        assert_eq!(shape(&engine), [["redis/f#0@z:1"]]);
    }

    fn nodes(engine: &Engine) -> Vec<String> {
        shape(engine).into_iter().flatten().collect()
    }

    #[test]
    fn a_node_whose_exporter_falls_silent_leaves_and_comes_back_and_one_that_fails_stays() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for (address, follows) in [("a:6379", None), ("b:6379", None), ("c:6379", Some("a:6379"))] {
            engine.take(&page(address, follows, 0));
        }
        let numbers = |second: i64, address: &str| {
            let node = told(address, None).node;
            let mut reading = Reading::new(node.clone(), Moment(second * 1_000));
            reading.sample(&node, REDIS_COMMANDS, Value::Counter(second as f64 * 10.0));
            Input::Reading(reading)
        };
        for second in 1..=310 {
            engine.take(&numbers(second, "a:6379"));
            engine.take(&fails("b:6379", second));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
            let known = nodes(&engine);
            assert!(known.contains(&"redis/f#1@b:6379".to_owned()), "{known:?}");
            assert_eq!(known.contains(&"redis/f#0@c:6379".to_owned()), second < 300, "second {second}");
        }
        let gone: Subject = "redis/f#0@c:6379".parse().unwrap();
        assert!(engine.store().subjects_within(&gone).is_empty());
        let snapshot = engine.snapshot().unwrap();
        assert!(!snapshot.sources.iter().any(|state| state.source.as_str() == "redis/f@c:6379"));
        // Its page says no second time what it is.
        engine.take(&numbers(311, "c:6379"));
        engine.take(&Input::Tick(Moment(311_250)));
        assert!(nodes(&engine).contains(&gone.to_string()));
    }

    fn fails(address: &str, second: i64) -> Input {
        let mut failing = Reading::new(told(address, None).node, Moment(second * 1_000));
        failing.faults.push(Fault { kind: FaultKind::Unreachable, message: "refused".into() });
        Input::Reading(failing)
    }

    #[test]
    fn a_node_whose_last_word_was_a_failure_leaves_too() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        engine.take(&page("a:6379", None, 0));
        engine.take(&page("b:6379", None, 0));
        for second in 1..=310 {
            engine.take(&page("a:6379", None, second));
            if second <= 5 {
                engine.take(&fails("b:6379", second));
            }
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
            assert_eq!(nodes(&engine).len(), if second < 305 { 2 } else { 1 }, "second {second}");
        }
    }

    #[test]
    fn nobody_leaves_while_nobody_listens() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let tick = |engine: &mut Engine, second: i64| engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        engine.take(&page("a:6379", None, 0));
        tick(&mut engine, 0);
        // The lid was closed for an hour.
        for second in [3_600, 3_601] {
            tick(&mut engine, second);
            assert_eq!(nodes(&engine).len(), 1, "second {second}");
        }
        engine.take(&page("a:6379", None, 3_602));
        tick(&mut engine, 3_602);
        assert_eq!(nodes(&engine).len(), 1);
    }

    #[test]
    fn a_node_leaves_with_the_last_page_that_tells_of_it() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let pages = ["redis/f@a:6379", "redis/f@b:6379"].map(|page| page.parse::<Subject>().unwrap());
        let list = |second: i64, pages: &[Subject]| {
            let mut reading = Reading::new("discovery/d".parse().unwrap(), Moment(second * 1_000));
            let place = |page: &Subject| RemoteText::new(page.address().unwrap());
            let targets = pages.iter().map(|page| Target { subject: page.clone(), place: place(page) });
            let found = RemoteText::new("targets.json");
            reading.events.push(Event::Targets(TargetList { found, targets: targets.collect() }));
            Input::Reading(reading)
        };
        engine.take(&list(0, &pages));
        for second in 0..3 {
            engine.take(&page("a:6379", None, second));
            engine.take(&page("b:6379", None, second));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        assert_eq!(nodes(&engine), ["redis/f#0@a:6379", "redis/f#1@b:6379"]);
        for (second, left) in [(3, &pages[..1]), (4, &[])] {
            engine.take(&list(second, left));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
            assert_eq!(nodes(&engine).len(), left.len());
        }
        let snapshot = engine.snapshot().unwrap();
        assert!(!snapshot.report.verdicts.iter().any(|row| row.subject.kind() == Kind::Redis));
        assert!(engine.store().subjects_within(&"redis/f".parse().unwrap()).is_empty());
    }
}
