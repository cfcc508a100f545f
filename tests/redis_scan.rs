//! The scan for big keys on real servers: it finds them, harms nothing, and says how far it has come.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget};
use headwater_engine::reading::{Event, Reading, Scan, ScanState, Topology};
use headwater_engine::slot::slot_of;
use headwater_engine::{Kind, Moment, Subject, metric};
use headwater_test_support::{
    Cluster, PATIENCE, Readings, Server, ServerRelease, node_at, value_of, wait_until,
};
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
    assert_eq!((first.elements, first.slot), (Some(1_800_000), Some(slot_of(big.as_bytes()))));
    assert!(first.bytes >= 1_800_000);
    let second = &scan.biggest[1];
    assert_eq!((second.kind.as_str(), second.elements), ("hash", Some(6_000)));
    assert!(
        second.key.as_str().starts_with("\\x1b[2Juser\\x0d\\x0a\\xac\\xed\\x00\\x05:profile"),
        "{}",
        second.key
    );
    assert_eq!(primary.info_number("keyspace_hits"), hits, "the primary was not looked at");
    // Each look-up that counts as a hit is accounted for: of 3 002 keys a sample and those that are kept.
    assert_eq!(cluster.replicas[1].info_number("keyspace_hits"), scan.hits as f64);
    assert!((64..1_500).contains(&scan.hits), "{}", scan.hits);
    let ours = |reading: &Reading| {
        reading.source == scan.node && value_of(reading, metric::REDIS_OUR_HITS) == Some(scan.hits as f64)
    };
    readings.until("the node's own metric says the same", ours).await;
    assert_eq!((scan.longest.len(), scan.longest[0].elements), (1, Some(6_000)));
    assert!(scan.commands > 3_002 && scan.cpu_s > 0.0 && scan.orphans == 0);
    let features = scan.patterns.iter().find(|row| row.keys == 3_000).expect("one pattern has them");
    assert_eq!(features.pattern.as_str(), "item:feat:*{user:profile:*}");
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
    assert!(scan.biggest.iter().all(|key| key.slot.is_none()));
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
    assert!((300..900).contains(&scan.scanned) && scan.biggest.len() == 5, "{} keys", scan.scanned);
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

/// Keys of every kind that scans meet: names of any bytes, collections, expiries of which two fifths are in one second.
fn fill_with_everything(server: &Server) -> Moment {
    fill(server, 300, |key| format!("user:{key}:never"));
    let now = Moment(server.run::<(i64, i64)>(&["TIME"]).0 * 1_000);
    let herd = Moment(now.0 + 900_000);
    let mut pipeline = redis::pipe();
    for key in 0..100_i64 {
        let at = if key < 40 { herd.0 + 300 } else { now.0 + 1_000_000 + key * 7_000 };
        pipeline.cmd("SET").arg(format!("session:{key}")).arg("v").arg("PXAT").arg(at).ignore();
    }
    for name in [&b""[..], HOSTILE, &vec![b'k'; 5_000]] {
        pipeline.cmd("SET").arg(name).arg("v").ignore();
    }
    for member in 0..9_000 {
        pipeline.cmd("ZADD").arg("ranking").arg(member).arg(member).ignore();
        pipeline.cmd("RPUSH").arg("events").arg(format!("event {member}")).ignore();
    }
    pipeline.cmd("XADD").arg("log").arg("*").arg("line").arg(vec![b'x'; 50_000]).ignore();
    pipeline.exec(&mut server.connect().expect("the server is there")).expect("the keys can be written");
    herd
}

#[tokio::test(flavor = "multi_thread")]
async fn every_release_tells_sizes_lengths_patterns_and_expiries() {
    for release in ServerRelease::ALL {
        let server = Server::start_release(release, &[]);
        let herd = fill_with_everything(&server);
        let (target, mut readings) = watch(server.address());
        let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
        target.scan(&topology.shards[0].subject, ScanBudget::default()).expect("the shard is known");
        let scan = until_ended(&mut readings).await;
        assert_eq!((&scan.state, scan.scanned), (&ScanState::Complete, 406), "{release:?}");
        let longest: Vec<_> =
            scan.longest.iter().map(|key| (key.key.as_str(), key.kind.as_str(), key.elements)).collect();
        let long = |name, kind, elements| (name, kind, Some(elements));
        assert_eq!(longest.len(), 3, "{release:?}: {longest:?}");
        assert!(longest.contains(&long("ranking", "zset", 9_000)), "{release:?}");
        assert!(longest.contains(&long("events", "list", 9_000)), "{release:?}");
        assert_eq!(longest[2], long("log", "stream", 1), "{release:?}");
        let pattern =
            |name: &str| scan.patterns.iter().find(|row| row.pattern.as_str() == name).map(|row| row.keys);
        assert_eq!(
            (pattern("user:*:never"), pattern("session:*"), pattern("")),
            (Some(300), Some(100), Some(1))
        );
        let expiries = scan.expiries.as_ref().expect("expiries were asked for");
        assert_eq!((expiries.sampled, expiries.without), (406, 306), "{release:?}");
        let (second, share) = expiries.herd().expect("keys expire");
        assert!((second.at.0 - herd.0).abs() <= 1_000, "{release:?}: {second:?}");
        assert!((0.35..=0.4).contains(&share), "{release:?}: {share}");
        assert_eq!(server.info_number("keyspace_hits"), scan.hits as f64, "{release:?}");
        assert!(scan.cpu_s > 0.0, "{release:?}");
        target.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_scan_goes_on_where_it_was() {
    let mut server = Server::start(&[]);
    fill(&server, 20_000, |key| format!("k{key}"));
    server.run::<()>(&["SET", "big", &"v".repeat(500_000)]);
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let shard = &topology.shards[0].subject;
    assert!(target.resume(shard, ScanBudget::default()).is_none(), "there is nothing to go on with");
    let stop_at = |most_keys| ScanBudget { most_keys, core_share: 1.0, ..ScanBudget::default() };
    target.scan(shard, stop_at(5_000)).expect("the shard is known");
    let first = until_ended(&mut readings).await;
    assert!((5_000..8_000).contains(&first.scanned), "{}", first.scanned);
    target.resume(shard, stop_at(5_000)).expect("it can go on");
    let second = until_ended(&mut readings).await;
    assert!((10_000..14_000).contains(&second.scanned), "{}", second.scanned);
    target.resume(shard, stop_at(1_000_000)).expect("it can go on");
    let last = until_ended(&mut readings).await;
    assert_eq!((&last.state, last.biggest[0].key.as_str()), (&ScanState::Complete, "big"));
    // Keys that were only known by name when it stopped are looked at, and none twice.
    assert_eq!(last.scanned, 20_001);
    assert_eq!(last.patterns.iter().map(|row| row.keys).sum::<u64>(), 20_001);
    assert!(target.resume(shard, ScanBudget::default()).is_none(), "it was done");

    target.scan(shard, stop_at(5_000)).expect("the shard is known");
    until_ended(&mut readings).await;
    server.restart();
    fill(&server, 100, |key| format!("k{key}"));
    target.resume(shard, stop_at(5_000)).expect("nobody knows of the restart yet");
    let ended = until_ended(&mut readings).await;
    assert!(
        matches!(&ended.state, ScanState::Stopped(why) if why.as_str().contains("restarted")),
        "{ended:?}"
    );
    assert!(target.resume(shard, ScanBudget::default()).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_pttl_or_type_the_rest_is_told_and_the_server_logs_little() {
    let server = Server::start(&[]);
    fill_with_everything(&server);
    server.run::<()>(&["ACL", "SETUSER", "default", "-pttl", "-type"]);
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    target.scan(&topology.shards[0].subject, ScanBudget::default()).expect("the shard is known");
    let scan = until_ended(&mut readings).await;
    assert_eq!((&scan.state, scan.scanned, scan.hits), (&ScanState::Complete, 406, 0));
    assert_eq!((&scan.expiries, scan.longest.len()), (&None, 0));
    assert!(scan.biggest[0].bytes > 50_000 && scan.biggest[0].kind.as_str().is_empty());
    let log: Vec<BTreeMap<String, redis::Value>> = server.run(&["ACL", "LOG"]);
    let refusals: Vec<_> = log.iter().map(|entry| (&entry["object"], &entry["count"])).collect();
    assert_eq!(log.len(), 2, "{refusals:?}");
    assert!(log.iter().all(|entry| entry["count"] == redis::Value::Int(1)), "{refusals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_whose_slots_are_elsewhere_are_counted() {
    let cluster = Cluster::start(3, 0);
    let (holder, other) = (&cluster.primaries[0], &cluster.primaries[1]);
    let tag = (0..).map(|id| format!("{{tag{id}}}")).find(|tag| slot_of(tag.as_bytes()) < 5_000).unwrap();
    fill(holder, 50, |key| format!("left:{key}{tag}"));
    let slot = slot_of(tag.as_bytes()).to_string();
    for server in cluster.servers() {
        server.run::<()>(&["CLUSTER", "DELSLOTS", &slot]);
    }
    other.run::<()>(&["CLUSTER", "ADDSLOTS", &slot]);
    let moved = || {
        let answer = holder.try_run::<Option<String>>(&["GET", &format!("left:1{tag}")]);
        answer.is_err_and(|error| error.to_string().to_lowercase().contains("moved"))
    };
    wait_until("the holder knows the new owner", moved);
    let (target, mut readings) = watch(holder.address());
    let holds = |topology: &Topology| topology.shards.len() == 3;
    let topology = readings.until_topology("it has three shards", holds).await;
    let holder = node_at(&topology, &holder.address());
    let shard = holder.parent().expect("a node is a shard's");
    target.scan(&shard, ScanBudget::default()).expect("the shard is known");
    let scan = until_ended(&mut readings).await;
    assert_eq!((&scan.state, scan.scanned, scan.orphans), (&ScanState::Complete, 50, 50));
    assert!(scan.biggest.is_empty());
}
