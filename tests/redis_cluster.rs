//! A real cluster: found from any seed, readings node by node, through failover, death and pause.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, FaultKind, NodeHealth, Reading};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, node_at, value_of, wait_until};
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_millis(200);

fn watch(seed: String) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![seed]);
    (RedisTarget::start(spec, INTERVAL, outlet), readings)
}

fn answered(reading: &Reading) -> bool {
    value_of(reading, metric::REDIS_ANSWER_TIME).is_some()
}

fn is_late(reading: &Reading) -> bool {
    reading.events.iter().any(|event| matches!(event, Event::Late(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn any_seed_finds_all_shards_and_nodes_alike() {
    let cluster = Cluster::start(3, 1);
    let mut shapes = vec![];
    for server in [&cluster.primaries[0], &cluster.primaries[2], &cluster.replicas[1]] {
        let (target, _readings) = watch(server.address());
        shapes.push(target.discovered(PATIENCE).await.expect("the cluster is discovered"));
        target.stop();
    }
    assert_eq!(shapes[0].shards.len(), 3);
    assert_eq!(shapes[0], shapes[1]);
    assert_eq!(shapes[0], shapes[2]);
    for (index, shard) in shapes[0].shards.iter().enumerate() {
        assert_eq!(shard.nodes.len(), 2);
        assert_eq!(shard.nodes[0].subject.address().unwrap(), cluster.primaries[index].address());
        assert!(shard.nodes[0].primary && !shard.nodes[1].primary);
        assert_eq!(shard.nodes[1].subject.address().unwrap(), cluster.replicas[index].address());
    }
    let (target, mut readings) = watch(cluster.replicas[0].address());
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
        let reading = readings.until_sample(&node.subject, metric::REDIS_ANSWER_TIME).await;
        assert!(reading.source_clock_us.is_some(), "{reading:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_keeps_the_shard_and_a_dead_node_comes_back() {
    let mut cluster = Cluster::start(3, 1);
    let (target, mut readings) = watch(cluster.primaries[0].address());
    let before = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    let (dead, heir) = (cluster.primaries[1].address(), cluster.replicas[1].address());
    let (dead_node, heir_node) = (node_at(&before, &dead), node_at(&before, &heir));
    readings.until_sample(&dead_node, metric::REDIS_ANSWER_TIME).await;
    cluster.primaries[1].kill();
    readings.until_fault(&dead_node, FaultKind::Unreachable).await;
    let after = readings
        .until_topology("the replica took over", |topology| topology.shards[1].nodes[0].subject == heir_node)
        .await;
    assert_eq!(after.shards.len(), 3);
    assert!(after.shards[1].nodes[0].primary);
    let fallen = after.shards[1].nodes.iter().find(|node| node.subject == dead_node).unwrap();
    assert!(!fallen.primary && fallen.health == NodeHealth::Failed, "{fallen:?}");
    cluster.primaries[1].restart();
    let reading = readings.until_sample(&dead_node, metric::REDIS_ANSWER_TIME).await;
    assert!(reading.events.contains(&Event::Restarted), "{:?}", reading.events);
    readings
        .until_topology("the old primary is a replica of its shard", |topology| {
            topology.shards[1]
                .nodes
                .iter()
                .any(|node| node.subject == dead_node && !node.primary && node.health == NodeHealth::Online)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_node_is_late_then_silent_then_back_and_slows_nobody() {
    // Without replicas nothing takes over, so the pause can be as long as it needs.
    let cluster = Cluster::start(3, 0);
    let (target, mut readings) = watch(cluster.primaries[0].address());
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    let paused = node_at(&topology, &cluster.primaries[2].address());
    readings.until_sample(&paused, metric::REDIS_ANSWER_TIME).await;
    cluster.primaries[2].pause();
    let asked = readings
        .until("the paused node is late", |reading| reading.source == paused && is_late(reading))
        .await;
    let Some(Event::Late(since)) = asked.events.first() else { panic!("{asked:?}") };
    assert!(asked.at.since(*since) >= INTERVAL, "late after 1.5 intervals, not before");
    readings.log.clear();
    readings.until_fault(&paused, FaultKind::Silent).await;
    // While it was waited for, the others were asked on: one that had waited with it would have answered once.
    let mut answers: BTreeMap<&Subject, usize> = BTreeMap::new();
    for reading in readings.log.iter().filter(|reading| answered(reading)) {
        *answers.entry(&reading.source).or_default() += 1;
    }
    for server in &cluster.primaries[..2] {
        let count = answers[&node_at(&topology, &server.address())];
        assert!(count >= 5, "{count} answers of {}", server.address());
    }
    assert!(!answers.contains_key(&paused));
    cluster.primaries[2].resume();
    let back = readings.until_sample(&paused, metric::REDIS_ANSWER_TIME).await;
    assert!(!back.events.contains(&Event::Restarted), "{:?}", back.events);
    wait_until("the cluster is well again", || {
        cluster.primaries[2].run::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pause_ends_in_the_answer_that_was_waited_for() {
    let cluster = Cluster::start(3, 0);
    let (target, mut readings) = watch(cluster.primaries[0].address());
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    let paused = node_at(&topology, &cluster.primaries[1].address());
    readings.until_sample(&paused, metric::REDIS_ANSWER_TIME).await;
    cluster.primaries[1].pause();
    readings.until("the paused node is late", |reading| reading.source == paused && is_late(reading)).await;
    cluster.primaries[1].resume();
    let next =
        readings.until("something of it", |reading| reading.source == paused && !is_late(reading)).await;
    assert!(answered(&next) && next.faults.is_empty(), "{next:?}");
}
