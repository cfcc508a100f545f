//! What watching costs a node, by the node's own count.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, value_of};
use tokio_util::sync::CancellationToken;

/// How much of a node's own time is watched; long enough for the question for the shape to fall into it.
const WINDOW_US: u64 = 12_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_sent_at_most_three_commands_a_second() {
    let cluster = Cluster::start(3, 0);
    let (send, mut readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec =
        RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![cluster.primaries[0].address()]);
    let target = RedisTarget::start(spec, Duration::from_secs(1), outlet);
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    for shard in &topology.shards {
        let node = shard.nodes[0].subject.clone();
        readings.until_sample(&node, metric::REDIS_COMMANDS).await;
    }
    // The counters come from the servers themselves, over their own clocks, and nobody else talks to them.
    let first = readings.log.clone();
    let node = topology.shards[0].nodes[0].subject.clone();
    let start =
        first.iter().rfind(|reading| reading.source == node).and_then(|reading| reading.source_clock_us);
    let start = start.expect("the node has a clock");
    readings
        .until("the window is over", |reading| {
            reading.source == node && reading.source_clock_us.is_some_and(|clock| clock >= start + WINDOW_US)
        })
        .await;
    for shard in &topology.shards {
        let node = &shard.nodes[0].subject;
        let of_node: Vec<_> = readings
            .log
            .iter()
            .filter(|reading| reading.source == *node && value_of(reading, metric::REDIS_COMMANDS).is_some())
            .collect();
        // The first answer comes right after the log-in; the window begins with the second.
        let (first, last) = (of_node[1], of_node[of_node.len() - 1]);
        let seconds = (last.source_clock_us.unwrap() - first.source_clock_us.unwrap()) as f64 / 1e6;
        let grown = |metric| value_of(last, metric).unwrap() - value_of(first, metric).unwrap();
        let by_server = grown(metric::REDIS_COMMANDS) / seconds;
        assert!(by_server <= 3.0, "{node}: {by_server} commands a second over {seconds} s");
        assert!(by_server > 1.0, "{node}: {by_server} commands a second: was it watched at all?");
        let by_us = grown(metric::REDIS_OUR_COMMANDS) / seconds;
        assert!((by_us - by_server).abs() < 0.5, "{node}: {by_us} by our count, {by_server} by its own");
        assert!(grown(metric::REDIS_OUR_BYTES) / seconds < 64_000.0);
    }
}
