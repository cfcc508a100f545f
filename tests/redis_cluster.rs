//! A real cluster: found from any seed, watched node by node, through failover, death and pause.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, FaultKind, NodeHealth, Reading, Topology};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, wait_until};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_millis(200);

struct Watched {
    target: RedisTarget,
    readings: mpsc::Receiver<Reading>,
    log: Vec<Reading>,
}

fn watch(seed: String) -> Watched {
    let (send, readings) = mpsc::channel(1_024);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![seed]);
    Watched { target: RedisTarget::start(spec, INTERVAL, outlet), readings, log: vec![] }
}

impl Watched {
    async fn topology(&self) -> Topology {
        self.target.discovered(PATIENCE).await.expect("the cluster is discovered")
    }

    /// Collects readings until one fits.
    async fn until(&mut self, what: &str, mut fits: impl FnMut(&Reading) -> bool) -> Reading {
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let reading = self.readings.recv().await.expect("the target goes on");
                self.log.push(reading.clone());
                if fits(&reading) {
                    return reading;
                }
            }
        });
        found.await.expect(what)
    }

    async fn until_answer_of(&mut self, node: &Subject) -> Reading {
        self.until(&format!("{node} answers"), |reading| reading.source == *node && answered(reading)).await
    }

    async fn until_topology(&mut self, what: &str, fits: impl Fn(&Topology) -> bool) -> Topology {
        let topology_of = |reading: &Reading| {
            reading.events.iter().find_map(|event| match event {
                Event::Topology(topology) => Some(topology.clone()),
                _ => None,
            })
        };
        let reading =
            self.until(what, |reading| topology_of(reading).is_some_and(|topology| fits(&topology))).await;
        topology_of(&reading).expect("it was just there")
    }
}

fn answered(reading: &Reading) -> bool {
    reading.samples.iter().any(|sample| sample.metric == metric::REDIS_ANSWER_TIME.into())
}

fn is_late(reading: &Reading) -> bool {
    reading.events.iter().any(|event| matches!(event, Event::Late(_)))
}

fn has_fault(reading: &Reading, kind: FaultKind) -> bool {
    reading.faults.iter().any(|fault| fault.kind == kind)
}

/// The subject of the node at an address.
fn node_at(topology: &Topology, address: &str) -> Subject {
    let mut nodes = topology.shards.iter().flat_map(|shard| &shard.nodes);
    nodes
        .find(|node| node.subject.address() == Some(address))
        .expect("the node is in the topology")
        .subject
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn any_seed_finds_all_shards_and_nodes_alike() {
    let cluster = Cluster::start(3, 1);
    let mut shapes = vec![];
    for server in [&cluster.primaries[0], &cluster.primaries[2], &cluster.replicas[1]] {
        let watched = watch(server.address());
        shapes.push(watched.topology().await);
        watched.target.stop();
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
    let mut watched = watch(cluster.replicas[0].address());
    let topology = watched.topology().await;
    for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
        let reading = watched.until_answer_of(&node.subject).await;
        assert!(reading.source_clock_us.is_some(), "{reading:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_keeps_the_shard_and_a_dead_node_comes_back() {
    let mut cluster = Cluster::start(3, 1);
    let mut watched = watch(cluster.primaries[0].address());
    let before = watched.topology().await;
    let (dead, heir) = (cluster.primaries[1].address(), cluster.replicas[1].address());
    let (dead_node, heir_node) = (node_at(&before, &dead), node_at(&before, &heir));
    watched.until_answer_of(&dead_node).await;
    cluster.primaries[1].kill();
    watched
        .until("the dead node is unreachable", |reading| {
            reading.source == dead_node && has_fault(reading, FaultKind::Unreachable)
        })
        .await;
    let after = watched
        .until_topology("the replica took over", |topology| topology.shards[1].nodes[0].subject == heir_node)
        .await;
    assert_eq!(after.shards.len(), 3);
    assert!(after.shards[1].nodes[0].primary);
    let fallen = after.shards[1].nodes.iter().find(|node| node.subject == dead_node).unwrap();
    assert!(!fallen.primary && fallen.health == NodeHealth::Failed, "{fallen:?}");
    cluster.primaries[1].restart();
    let reading = watched.until_answer_of(&dead_node).await;
    assert!(reading.events.contains(&Event::Restarted), "{:?}", reading.events);
    watched
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
    let mut watched = watch(cluster.primaries[0].address());
    let topology = watched.topology().await;
    let paused = node_at(&topology, &cluster.primaries[2].address());
    watched.until_answer_of(&paused).await;
    cluster.primaries[2].pause();
    let asked = watched
        .until("the paused node is late", |reading| reading.source == paused && is_late(reading))
        .await;
    let Some(Event::Late(since)) = asked.events.first() else { panic!("{asked:?}") };
    assert!(asked.at.since(*since) >= INTERVAL, "late after 1.5 intervals, not before");
    watched.log.clear();
    let silent = watched
        .until("the paused node is silent", |reading| {
            reading.source == paused && has_fault(reading, FaultKind::Silent)
        })
        .await;
    // While it was waited for, the others were asked at every interval.
    let waited = silent.at.seconds_after(*since);
    let mut answers: BTreeMap<&Subject, f64> = BTreeMap::new();
    for reading in watched.log.iter().filter(|reading| answered(reading)) {
        *answers.entry(&reading.source).or_default() += 1.0;
    }
    for server in &cluster.primaries[..2] {
        let count = answers[&node_at(&topology, &server.address())];
        assert!(
            count > waited / INTERVAL.as_secs_f64() / 2.0,
            "{count} answers of {} in {waited} s",
            server.address()
        );
    }
    assert!(!answers.contains_key(&paused));
    cluster.primaries[2].resume();
    let back = watched.until_answer_of(&paused).await;
    assert!(!back.events.contains(&Event::Restarted), "{:?}", back.events);
    wait_until("the cluster is well again", || {
        cluster.primaries[2].run::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pause_ends_in_the_answer_that_was_waited_for() {
    let cluster = Cluster::start(3, 0);
    let mut watched = watch(cluster.primaries[0].address());
    let topology = watched.topology().await;
    let paused = node_at(&topology, &cluster.primaries[1].address());
    watched.until_answer_of(&paused).await;
    cluster.primaries[1].pause();
    watched.until("the paused node is late", |reading| reading.source == paused && is_late(reading)).await;
    cluster.primaries[1].resume();
    let next =
        watched.until("something of it", |reading| reading.source == paused && !is_late(reading)).await;
    assert!(answered(&next) && next.faults.is_empty(), "{next:?}");
}
