//! The scan for big keys on real servers: it finds them, harms nothing, and says how far it has come.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget};
use headwater_engine::reading::{Event, Reading, Scan, ScanState};
use headwater_engine::slot::slot_of;
use headwater_engine::{Kind, Subject};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, node_at, wait_until};
use tokio_util::sync::CancellationToken;

const HOSTILE: &[u8] = b"\x1b[2Juser\r\n\xac\xed\x00\x05:profile";

fn watch(seed: String) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![seed]);
    (RedisTarget::start(spec, Duration::from_secs(1), outlet), readings)
}

fn scan_of(reading: &Reading) -> Option<&Scan> {
    reading.events.iter().find_map(|event| match event {
        Event::Scan(scan) => Some(scan),
        _ => None,
    })
}

async fn until_ended(readings: &mut Readings) -> Scan {
    let has_ended = |reading: &Reading| scan_of(reading).is_some_and(|scan| scan.state.has_ended());
    let reading = readings.until("the scan has ended", has_ended).await;
    scan_of(&reading).expect("it was just there").clone()
}

fn fill(server: &Server, keys: usize, name: impl Fn(usize) -> String) {
    let mut connection = server.connect().expect("the server is there");
    let mut pipeline = redis::pipe();
    for key in 0..keys {
        pipeline.cmd("SET").arg(name(key)).arg("v".repeat(100)).ignore();
    }
    pipeline.exec(&mut connection).expect("the keys can be written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_names_the_big_keys_and_nobody_notices() {
    let cluster = Cluster::start(3, 1);
    let big = (0..)
        .map(|id| format!("user:profile:{id}"))
        .find(|key| slot_of(key.as_bytes()) / 5_462 == 1)
        .unwrap();
    let tag = format!("{{{big}}}");
    let primary = &cluster.primaries[1];
    fill(primary, 3_000, |key| format!("item:feat:{key}{tag}"));
    let mut connection = primary.connect().unwrap();
    redis::cmd("SET").arg(&big).arg(vec![b'x'; 1_800_000]).exec(&mut connection).unwrap();
    let hostile = [HOSTILE, tag.as_bytes()].concat();
    let mut fields = redis::cmd("HSET");
    fields.arg(&hostile);
    for field in 0..6_000 {
        fields.arg(field).arg("v".repeat(40));
    }
    fields.exec(&mut connection).unwrap();
    wait_until("the replica has it all", || cluster.replicas[1].run::<u64>(&["DBSIZE"]) == 3_002);
    let hits = primary.info_number("keyspace_hits");

    let (target, mut readings) = watch(cluster.primaries[0].address());
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    let shard = topology.shards[1].subject.clone();
    target.scan(&shard, ScanBudget::default()).expect("the shard is known");
    let scan = until_ended(&mut readings).await;

    assert_eq!((scan.state, scan.scanned, scan.total), (ScanState::Complete, 3_002, 3_002));
    assert_eq!(scan.shard, shard);
    assert_eq!(scan.node, node_at(&topology, &cluster.replicas[1].address()));
    assert_eq!(scan.biggest.len(), 32);
    let first = &scan.biggest[0];
    assert_eq!((first.key.as_str(), first.kind.as_str()), (big.as_str(), "string"));
    assert_eq!((first.elements, first.slot), (Some(1_800_000), slot_of(big.as_bytes())));
    assert!(first.bytes >= 1_800_000);
    let second = &scan.biggest[1];
    assert_eq!((second.kind.as_str(), second.elements), ("hash", Some(6_000)));
    assert!(
        second.key.as_str().starts_with("\\x1b[2Juser\\x0d\\x0a\\xac\\xed\\x00\\x05:profile"),
        "{}",
        second.key
    );
    assert_eq!(primary.info_number("keyspace_hits"), hits, "the primary was not looked at");
    // Of 3 002 keys only those that are kept were asked for their type.
    assert!(cluster.replicas[1].info_number("keyspace_hits") <= 64.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standalone_server_without_a_replica_is_scanned_itself() {
    let server = Server::start(&[]);
    fill(&server, 500, |key| format!("k{key}"));
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    target.scan(&topology.shards[0].subject, ScanBudget::default()).expect("the shard is known");
    let scan = until_ended(&mut readings).await;
    assert_eq!((scan.state, scan.scanned), (ScanState::Complete, 500));
    assert_eq!(scan.node, topology.shards[0].nodes[0].subject);
    assert!(scan.biggest.iter().all(|key| key.slot == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_says_how_far_it_is_and_can_be_paused_and_cancelled() {
    let server = Server::start(&[]);
    fill(&server, 20_000, |key| format!("k{key}"));
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    // So little that the head start is soon used up.
    let budget = ScanBudget { core_share: 0.000_1, ..ScanBudget::default() };
    let handle = target.scan(&topology.shards[0].subject, budget).expect("the shard is known");
    let running = readings.until("the scan tells its progress", |reading| scan_of(reading).is_some()).await;
    let running = scan_of(&running).unwrap().clone();
    assert_eq!((running.state, running.total), (ScanState::Running, 20_000));
    assert!(running.scanned < 20_000 && !running.biggest.is_empty());
    for (is_paused, state) in
        [(true, ScanState::Paused), (false, ScanState::Running), (true, ScanState::Paused)]
    {
        handle.pause.send_replace(is_paused);
        readings
            .until("the scan is paused or goes on", |reading| {
                scan_of(reading).is_some_and(|scan| scan.state == state)
            })
            .await;
    }
    handle.cancel.cancel();
    let ended = until_ended(&mut readings).await;
    assert!(
        matches!(&ended.state, ScanState::Stopped(why) if why.as_str() == "cancelled"),
        "{:?}",
        ended.state
    );
    assert!(ended.scanned >= running.scanned && !ended.biggest.is_empty());
    handle.task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caps_end_a_scan_with_the_reason() {
    let server = Server::start(&[]);
    fill(&server, 2_000, |key| format!("k{key}"));
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let budget = ScanBudget { most_keys: 300, keep: 5, ..ScanBudget::default() };
    target.scan(&topology.shards[0].subject, budget).expect("the shard is known");
    let scan = until_ended(&mut readings).await;
    assert!(matches!(&scan.state, ScanState::Stopped(why) if why.as_str().contains("most that was allowed")));
    assert!((300..600).contains(&scan.scanned) && scan.biggest.len() == 5, "{} keys", scan.scanned);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_is_cancelled_before_it_is_let_in_says_so() {
    let server = Server::start(&[]);
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    server.pause();
    let shard = &topology.shards[0].subject;
    let handle = target.scan(shard, ScanBudget::default()).expect("the shard is known");
    handle.cancel.cancel();
    let ended = until_ended(&mut readings).await;
    assert_eq!(ended.state, ScanState::Stopped("cancelled".into()));
    assert_eq!((&ended.shard, ended.scanned), (shard, 0));
    server.resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_of_a_shard_without_an_address_says_so() {
    let cluster = Cluster::start(3, 0);
    // A cluster that announces names and has none gives no address of the others.
    for server in cluster.servers() {
        server.run::<()>(&["CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname"]);
    }
    let (target, mut readings) = watch(cluster.primaries[0].address());
    let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
    let shard = &topology.shards[2].subject;
    target.scan(shard, ScanBudget::default()).expect("the shard is known");
    let ended = until_ended(&mut readings).await;
    assert_eq!(ended.state, ScanState::Stopped("no node of this shard can be dialled".into()));
    assert_eq!(&ended.shard, shard);
}
