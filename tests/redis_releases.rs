//! The same questions to every release that tests run against: what rules need is there, and what a release lacks is
//! said and costs nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::metric::{self, Metric, MetricName};
use headwater_engine::reading::{ClusterView, Event, FaultKind, NodeHealth, Reading, Value};
use headwater_engine::{Kind, Subject};
use headwater_test_support::{
    Cluster, PATIENCE, Readings, Server, ServerRelease, node_at, value_of, wait_until,
};
use tokio_util::sync::CancellationToken;

/// What rules read of a primary, whatever its release.
const OF_EVERY_PRIMARY: &[Metric] = &[
    metric::REDIS_ANSWER_TIME,
    metric::REDIS_CPU,
    metric::REDIS_CPU_PROCESS,
    metric::REDIS_EXEC,
    metric::REDIS_COMMANDS,
    metric::REDIS_COMMAND_CALLS,
    metric::REDIS_COMMAND_TIME,
    metric::REDIS_NET_IN,
    metric::REDIS_NET_OUT,
    metric::REDIS_HITS,
    metric::REDIS_MISSES,
    metric::REDIS_EXPIRED,
    metric::REDIS_EXPIRE_CAPPED,
    metric::REDIS_EXPIRE_TIME,
    metric::REDIS_EXPIRE_STALE,
    metric::REDIS_EVICTED,
    metric::REDIS_CLIENTS,
    metric::REDIS_CLIENTS_BLOCKED,
    metric::REDIS_CLIENTS_MAX,
    metric::REDIS_CONNECTIONS,
    metric::REDIS_REJECTED,
    metric::REDIS_MEMORY,
    metric::REDIS_MEMORY_RSS,
    metric::REDIS_MEMORY_MAX,
    metric::REDIS_MEMORY_EVICTS,
    metric::REDIS_MEMORY_CLIENTS,
    metric::REDIS_MEMORY_OVERHEAD,
    metric::REDIS_FRAGMENTATION,
    metric::REDIS_KEYS,
    metric::REDIS_KEYS_VOLATILE,
    metric::REDIS_ERRORS,
    metric::REDIS_SLOW,
    metric::REDIS_SLOW_THRESHOLD,
    metric::REDIS_FORKS,
    metric::REDIS_FORK_TIME,
    metric::REDIS_SAVING,
    metric::REDIS_SAVE_OK,
    metric::REDIS_COW,
    metric::REDIS_LOADING,
    metric::REDIS_REPLICAS,
    metric::REDIS_REPLICA_LAG,
    metric::REDIS_REPLICA_BEHIND,
    metric::REDIS_FULL_SYNCS,
    metric::REDIS_UPTIME,
    metric::REDIS_LATENCY_EVENT,
];

/// What rules read of a replica, whatever its release.
const OF_EVERY_REPLICA: &[Metric] = &[
    metric::REDIS_ANSWER_TIME,
    metric::REDIS_CPU,
    metric::REDIS_MEMORY,
    metric::REDIS_REPLICATION_UP,
    metric::REDIS_REPLICATION_LAG,
    metric::REDIS_SYNCING,
];

macro_rules! every_release {
    ($($name:ident $release:ident)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn alone_with_a_replica() {
                super::alone_with_a_replica(ServerRelease::$release).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_cluster_through_a_failover() {
                super::a_cluster_through_a_failover(ServerRelease::$release).await;
            }
        }
    )*
        #[test]
        fn no_release_is_left_out() {
            assert_eq!([$(ServerRelease::$release),*], ServerRelease::ALL);
        }
    };
}

every_release! {
    installed Installed
    redis_6_2 Redis62
    redis_8_2 Redis82
    valkey_8_1 Valkey81
    valkey_9_1 Valkey91
}

fn watch(seed: String) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![seed]);
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

/// What a node has told so far of these metrics.
fn missing(readings: &Readings, node: &Subject, metrics: &[Metric]) -> BTreeSet<&'static str> {
    let told = readings.log.iter().filter(|reading| reading.source == *node);
    let told: BTreeSet<_> = told.flat_map(|reading| &reading.samples).map(|sample| &sample.metric).collect();
    metrics
        .iter()
        .filter(|metric| !told.contains(&MetricName::Known(**metric)))
        .map(|metric| metric.name())
        .collect()
}

fn says_missing(reading: &Reading, what: &str, why: &str) -> bool {
    reading.events.iter().any(|event| {
        matches!(event, Event::Unavailable { what: w, why: y } if w.as_str() == what && y.as_str().contains(why))
    })
}

fn view_of(reading: &Reading) -> Option<&ClusterView> {
    reading.events.iter().find_map(|event| match event {
        Event::ClusterView(view) => Some(view),
        _ => None,
    })
}

async fn alone_with_a_replica(release: ServerRelease) {
    let options =
        ["--maxmemory", "1gb", "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1"];
    let primary = Server::start_release(release, &options);
    let replica = Server::start_release(release, &["--repl-diskless-sync-delay", "0"]);
    replica.run::<()>(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    wait_until("the replica follows", || replica.info("master_link_status") == "up");
    prepare(&primary);
    let (target, mut readings) = watch(replica.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    assert!(!topology.clustered && topology.shards.len() == 1, "{topology:?}");
    let (first, second) = (node_at(&topology, &primary.address()), node_at(&topology, &replica.address()));
    assert_eq!(topology.shards[0].nodes[0].subject, first);
    for (node, metrics) in [(&first, OF_EVERY_PRIMARY), (&second, OF_EVERY_REPLICA)] {
        for _ in 0..3 {
            readings.until_sample(node, metric::REDIS_ANSWER_TIME).await;
        }
        assert_eq!(missing(&readings, node, metrics), BTreeSet::new(), "{node} of {}", release.name());
    }
    assert!(readings.log.iter().all(|reading| reading.faults.is_empty()), "nothing failed");
    of_the_release(release, &readings, &first);
    // The replica's monitor is off, as it is by default: that its reply is empty is not "no stalls".
    let is_off = |reading: &Reading| {
        reading.source == second
            && says_missing(
                reading,
                "the server's own latency monitor",
                "it is off (latency-monitor-threshold)",
            )
    };
    assert!(readings.log.iter().any(is_off), "{}", release.name());
    // A key that is no text, in the slow log once and harmless.
    let keys: Vec<_> = readings
        .log
        .iter()
        .flat_map(|reading| &reading.events)
        .filter_map(|event| match event {
            Event::SlowCommand(slow) => slow.key.as_ref().map(|key| key.as_str().to_owned()),
            _ => None,
        })
        .filter(|key| key.starts_with("\\xac"))
        .collect();
    assert_eq!(keys, ["\\xac\\xed\\x00\\x05t\\x1b[2J"], "{}", release.name());
    restart(primary, &first, readings).await;
}

/// Hits, a miss, an error, a hostile key, and a command of some milliseconds.
fn prepare(server: &Server) {
    server.run::<()>(&["SET", "k", "v"]);
    server.run::<Option<String>>(&["GET", "k"]);
    server.run::<Option<String>>(&["GET", "absent"]);
    assert!(server.try_run::<()>(&["LPUSH", "k", "v"]).is_err(), "it is no list");
    let mut connection = server.connect().expect("the server is there");
    redis::cmd("SET")
        .arg(b"\xac\xed\x00\x05t\x1b[2J")
        .arg("v")
        .exec(&mut connection)
        .expect("any bytes are a key");
    let mut filling = redis::pipe();
    for part in 0..20 {
        filling
            .cmd("RPUSH")
            .arg("long")
            .arg((part * 5_000..(part + 1) * 5_000).collect::<Vec<u32>>())
            .ignore();
    }
    filling.exec(&mut connection).expect("the list is filled");
    server.run::<Vec<String>>(&["SORT", "long", "LIMIT", "0", "1", "ALPHA"]);
}

/// What differs between releases, and is said where it is not there.
fn of_the_release(release: ServerRelease, readings: &Readings, node: &Subject) {
    let name = release.name();
    let histogram = readings.log.iter().flat_map(|reading| &reading.samples).find(|sample| {
        sample.subject == *node
            && sample.metric == metric::REDIS_COMMAND_DURATION.into()
            && sample.part.as_ref().is_some_and(|part| part.as_str() == "SORT")
    });
    let says_why =
        readings.log.iter().any(|reading| says_missing(reading, "LATENCY HISTOGRAM", "from 7.0 on"));
    assert_eq!((histogram.is_some(), says_why), (!release.is_old(), release.is_old()), "{name}");
    if let Some(Value::Histogram(times)) = histogram.map(|sample| &sample.value) {
        assert_eq!((times.count, times.counts.last()), (1.0, Some(&1.0)), "{name}: {times:?}");
        let within = times.counts.iter().position(|count| *count > 0.0).expect("it was called");
        assert!(
            times.bounds[within] > 1e-3,
            "{name}: sorting 100 000 elements takes milliseconds: {times:?}"
        );
    }
    let replicated = missing(readings, node, &[metric::REDIS_NET_REPL_OUT]).is_empty();
    assert_eq!(replicated, !release.is_old(), "{name}");
}

/// Counters that begin anew are a restart and not a fall.
async fn restart(mut primary: Server, node: &Subject, mut readings: Readings) {
    let commands = |reading: &Reading| value_of(reading, metric::REDIS_COMMANDS);
    let before = readings.until_sample(node, metric::REDIS_COMMANDS).await;
    primary.restart();
    let after = readings
        .until("the restart is seen", |reading| {
            reading.source == *node && commands(reading).is_some() && commands(reading) < commands(&before)
        })
        .await;
    assert!(after.events.contains(&Event::Restarted), "{:?}", after.events);
}

async fn a_cluster_through_a_failover(release: ServerRelease) {
    let name = release.name();
    let mut cluster = Cluster::start_release(release, 3, 1, &[]);
    let (target, mut readings) = watch(cluster.replicas[0].address());
    let before = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    assert_eq!(before.shards.iter().map(|shard| shard.nodes.len()).collect::<Vec<_>>(), [2, 2, 2], "{name}");
    let mut owners = BTreeSet::new();
    for server in cluster.servers() {
        let node = node_at(&before, &server.address());
        let of_node = |reading: &Reading| reading.source == node && view_of(reading).is_some();
        let reading = match readings.log.iter().find(|reading| of_node(reading)) {
            Some(reading) => reading.clone(),
            None => readings.until("each node tells its view", of_node).await,
        };
        let view = view_of(&reading).expect("it was just there");
        assert!(view.says_ok && view.uncovered.is_empty() && view.failed.is_empty(), "{name}: {view:?}");
        assert_eq!(view.known, 6, "{name}");
        owners.insert(view.owners);
    }
    assert_eq!(owners.len(), 1, "{name}: they agree");
    let (dead, heir) = (cluster.primaries[1].address(), cluster.replicas[1].address());
    let (dead_node, heir_node) = (node_at(&before, &dead), node_at(&before, &heir));
    cluster.primaries[1].kill();
    readings.until_fault(&dead_node, FaultKind::Unreachable).await;
    readings
        .until("another node takes it for failed", |reading| {
            view_of(reading).is_some_and(|view| view.failed.iter().any(|failed| failed.as_str() == dead))
        })
        .await;
    let after = readings
        .until_topology("the replica took over", |topology| topology.shards[1].nodes[0].subject == heir_node)
        .await;
    let fallen = after.shards[1].nodes.iter().find(|node| node.subject == dead_node);
    assert_eq!(fallen.map(|node| (node.primary, node.health)), Some((false, NodeHealth::Failed)), "{name}");
    let subjects = |topology: &headwater_engine::reading::Topology| {
        topology.shards.iter().map(|shard| shard.subject.clone()).collect::<Vec<_>>()
    };
    assert_eq!(subjects(&after), subjects(&before), "{name}: the numbers stay");
    readings
        .until("a view without a hole", |reading| {
            view_of(reading)
                .is_some_and(|view| view.says_ok && !view.failed.is_empty() && view.uncovered.is_empty())
        })
        .await;
}
