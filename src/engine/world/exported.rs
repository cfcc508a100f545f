//! Deployments of Redis that only exporters tell of: which nodes belong together, as far as their pages say so.
//!
//! A page says whether its node is a primary and whom it follows. Nodes that follow one another are a shard, and a node
//! keeps the number of its shard through failovers. Which slots a shard owns no page says.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::World;
use crate::reading::{Event, ExportedNode, Node, NodeHealth, Reading, Shard, Topology};
use crate::subject::Subject;
use crate::text::RemoteText;

/// The nodes of one deployment, with the numbers of their shards.
#[derive(Debug, Default)]
pub(super) struct Exported {
    nodes: BTreeMap<Subject, (ExportedNode, usize)>,
}

impl Exported {
    /// Takes what a page says of its node; whether that is news.
    fn take(&mut self, told: &ExportedNode) -> bool {
        if self.nodes.get(&told.node).is_some_and(|(known, _)| known == told) {
            return false;
        }
        let of_primary = |name: &RemoteText| {
            let mut others = self.nodes.values().filter(|(other, _)| other.node != told.node);
            others.find(|(other, _)| other.is_called(name.as_str())).map(|(_, number)| *number)
        };
        let of_same_primary = |name: &RemoteText| {
            let mut others = self.nodes.values().filter(|(other, _)| other.node != told.node);
            others.find(|(other, _)| other.follows.as_ref() == Some(name)).map(|(_, number)| *number)
        };
        let of_follower = || {
            let follows = |other: &ExportedNode| {
                other.follows.as_ref().is_some_and(|name| told.is_called(name.as_str()))
            };
            self.nodes.values().find(|(other, _)| follows(other)).map(|(_, number)| *number)
        };
        let own = self.nodes.get(&told.node).map(|(_, number)| *number);
        let next = || self.nodes.values().map(|(_, number)| number + 1).max().unwrap_or(0);
        let number = match &told.follows {
            Some(name) => of_primary(name).or_else(|| of_same_primary(name)).or(own),
            None => own.or_else(of_follower),
        };
        let number = number.unwrap_or_else(next);
        self.nodes.insert(told.node.clone(), (told.clone(), number));
        true
    }

    /// The name of a node with the number of its shard.
    fn placed(&self, node: &Subject) -> Option<Subject> {
        let (_, number) = self.nodes.get(node)?;
        Some(node.component_of().shard(*number).instance(node.address()?))
    }

    fn shape(&self, cluster: &Subject) -> Topology {
        let mut shards: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
        for (node, number) in self.nodes.values() {
            let Some(subject) = self.placed(&node.node) else { continue };
            let id = RemoteText::new(node.node.address().unwrap_or_default());
            let node = Node { subject, id, primary: node.primary, health: NodeHealth::Online };
            shards.entry(*number).or_default().push(node);
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
            let exported = self.exported.entry(cluster.clone()).or_default();
            if exported.take(told) {
                let shape = exported.shape(&cluster);
                self.replace_topology(&shape);
            }
        }
        if self.exported.is_empty() {
            return Cow::Borrowed(reading);
        }
        let mut placed = Cow::Borrowed(reading);
        for (index, sample) in reading.samples.iter().enumerate() {
            if let Some(subject) = self.placed_subject(&sample.subject) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{REDIS_COMMANDS, REDIS_NET_OUT};
    use crate::reading::{Input, Value};
    use crate::settings::{Baselines, Settings};
    use crate::time::Moment;

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
}
