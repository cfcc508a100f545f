//! A cluster of a thousand nodes, from what one of them says to what is shown: nothing is lost, nothing is renamed.

use std::collections::{BTreeMap, BTreeSet};

use headwater::sources::redis::cluster_view::read_view;
use headwater::sources::redis::shape::{ShardNumbers, Viewpoint, lay_out};
use headwater::sources::redis::topology::{combine, read_nodes, read_shards};
use headwater_engine::metric::REDIS_ANSWER_TIME;
use headwater_engine::reading::{Event, Input, NodeHealth, Reading, Topology, Value};
use headwater_engine::{Baselines, Engine, Kind, Moment, Settings, Subject};
use headwater_test_support::LargeCluster;

const SHARDS: u32 = 500;

fn shape(cluster: LargeCluster, numbers: &mut ShardNumbers) -> Topology {
    let reply = redis::parse_redis_value(&cluster.shards()).expect("it is a reply");
    let seen = combine(read_shards(&reply), &read_nodes(&cluster.nodes()));
    let name = Subject::component(Kind::Redis, "features");
    let address_map = BTreeMap::new();
    let view = Viewpoint {
        cluster: &name,
        clustered: true,
        asked_host: "10.0.0.1",
        address_map: &address_map,
        tls: false,
    };
    lay_out(view, numbers.number(seen)).0
}

fn subjects(topology: &Topology) -> Vec<Subject> {
    topology.shards.iter().map(|shard| shard.subject.clone()).collect()
}

#[test]
fn each_node_has_its_place_and_a_failover_moves_one() {
    let mut numbers = ShardNumbers::default();
    let whole = LargeCluster { shards: SHARDS, failed_over: None };
    let topology = shape(whole, &mut numbers);
    assert_eq!(topology.shards.len(), SHARDS as usize);
    let nodes: Vec<_> = topology.shards.iter().flat_map(|shard| &shard.nodes).collect();
    assert_eq!(nodes.iter().map(|node| &node.subject).collect::<BTreeSet<_>>().len(), 1_000);
    for (index, shard) in (0..).zip(&topology.shards) {
        assert_eq!(shard.slots, [whole.slots(index)]);
        assert_eq!(shard.nodes.iter().map(|node| node.primary).collect::<Vec<_>>(), [true, false]);
        assert_eq!(shard.nodes[0].subject.address(), Some(LargeCluster::address(index, false).as_str()));
    }
    let lost = LargeCluster { failed_over: Some(321), ..whole };
    let after = shape(lost, &mut numbers);
    assert_eq!(subjects(&after), subjects(&topology));
    for (index, (before, after)) in (0..).zip(topology.shards.iter().zip(&after.shards)) {
        if index != 321 {
            assert_eq!(before, after);
        }
    }
    let [heir, dead] = &after.shards[321].nodes[..] else { panic!("{:#?}", after.shards[321]) };
    assert_eq!(heir.subject.address(), Some(LargeCluster::address(321, true).as_str()));
    assert!(heir.primary && !dead.primary && dead.health == NodeHealth::Failed);
    let view = read_view(&heir.subject, "10.0.0.1", &lost.info(), &read_nodes(&lost.nodes()));
    assert!(view.says_ok && view.uncovered.is_empty() && view.known == 1_000);
    assert_eq!(view.failed, [LargeCluster::address(321, false).as_str().into()]);
}

#[test]
fn the_engine_judges_all_of_them() {
    let cluster = LargeCluster { shards: SHARDS, failed_over: None };
    let topology = shape(cluster, &mut ShardNumbers::default());
    let lines = read_nodes(&cluster.nodes());
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    let mut reading = Reading::new(topology.cluster.clone(), Moment(0));
    reading.events.push(Event::Topology(topology.clone()));
    engine.take(&Input::Reading(reading));
    for second in 1..=5 {
        let at = Moment(second * 1_000);
        for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
            let mut reading = Reading::new(node.subject.clone(), at);
            reading.sample(&node.subject, REDIS_ANSWER_TIME, Value::Gauge(0.000_5));
            if second == 1 {
                let view = read_view(&node.subject, "10.0.0.1", &cluster.info(), &lines);
                reading.events.push(Event::ClusterView(view));
            }
            engine.take(&Input::Reading(reading));
        }
        engine.take(&Input::Tick(at));
    }
    let snapshot = engine.snapshot().expect("it was evaluated");
    assert_eq!(snapshot.views.len(), 1_000);
    let owners: BTreeSet<u64> = snapshot.views.iter().map(|(_, view)| view.owners).collect();
    assert_eq!(owners.len(), 1, "they all agree");
    let judged = |rule: &str, state: &str| {
        snapshot.rules.iter().filter(|row| row.rule == rule && row.state == state).count()
    };
    assert_eq!(judged("node-unreachable", "clear"), 1_000);
    assert!(snapshot.rules.iter().all(|row| row.state != "firing"));
}
