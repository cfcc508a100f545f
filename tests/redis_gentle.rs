//! What watching costs a node, by the node's own count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{AtEnd, Cluster, PATIENCE, Readings, Server, ServerRelease, value_of};
use tokio_util::sync::CancellationToken;

/// How much of a node's own time is watched; long enough for the question for the shape to fall into it.
const WINDOW_US: u64 = 12_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_sent_at_most_three_commands_a_second() {
    at_most_three_commands_a_second(ServerRelease::Installed).await;
}

/// It has more to be asked for than any other release.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_valkey_is_sent_at_most_three_commands_a_second() {
    at_most_three_commands_a_second(ServerRelease::Valkey91).await;
}

async fn at_most_three_commands_a_second(release: ServerRelease) {
    let cluster = Cluster::start_release(release, 3, 0, &[]);
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
        let clock = |look: &Reading| look.source_clock_us.expect("the node has a clock") as f64 / 1e6;
        let seconds = clock(last) - clock(first);
        let count = |look, metric| value_of(look, metric).expect("each look has it");
        let grown = |metric| count(last, metric) - count(first, metric);
        let by_server = grown(metric::REDIS_COMMANDS) / seconds;
        assert!(by_server <= 3.0, "{node}: {by_server} commands a second over {seconds} s");
        assert!(by_server > 1.0, "{node}: {by_server} commands a second: was it watched at all?");
        // What we count at the end of a look, the server has counted when the next one begins.
        let ours = count(of_node[of_node.len() - 2], metric::REDIS_OUR_COMMANDS)
            - count(first, metric::REDIS_OUR_COMMANDS);
        let its = count(last, metric::REDIS_COMMANDS) - count(of_node[2], metric::REDIS_COMMANDS);
        assert!((ours - its).abs() <= 2.0, "{node}: {ours} by our count, {its} by its own");
        assert!(grown(metric::REDIS_OUR_BYTES) / seconds < 64_000.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_logs_everything_is_not_asked_more_for_it() {
    let server = Server::start(&["--slowlog-log-slower-than", "0"]);
    let (send, mut readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![server.address()]);
    let target = RedisTarget::start(spec, Duration::from_secs(1), outlet);
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let node = topology.shards[0].nodes[0].subject.clone();
    let is_over = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        let _end = AtEnd(|| is_over.store(true, Ordering::Relaxed));
        scope.spawn(|| {
            let mut connection = server.connect().expect("the server is there");
            let mut gets = redis::pipe();
            for _ in 0..40 {
                gets.cmd("GET").arg("k").ignore();
            }
            while !is_over.load(Ordering::Relaxed) {
                gets.exec(&mut connection).expect("the server answers");
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for _ in 0..14 {
                    readings.until_sample(&node, metric::REDIS_SLOW).await;
                }
                readings.log.iter().filter(|reading| reading.source == node).collect::<Vec<_>>()
            })
        })
    });
    let looks: Vec<_> =
        looks.into_iter().filter(|look| value_of(look, metric::REDIS_SLOW).is_some()).collect();
    let stormy =
        |events: &[Event]| events.iter().filter(|e| matches!(e, Event::SlowCommand(_))).count() > 100;
    assert!(looks.iter().filter(|look| stormy(&look.events)).count() > 8, "the log was full at most looks");
    let (first, last) = (looks[1], looks[looks.len() - 1]);
    let asked = |look| value_of(look, metric::REDIS_OUR_COMMANDS).expect("each look says what it cost");
    let each = (asked(last) - asked(first)) / (looks.len() - 2) as f64;
    assert!(each < 2.5, "{each} commands a look");
    let lost = |event: &Event| {
        matches!(event, Event::Unavailable { what, why }
            if what.as_str() == "slow-log entries" && why.as_str().contains("slowlog-max-len"))
    };
    assert!(looks.iter().any(|look| look.events.iter().any(lost)), "what was lost is said");
}
