//! A server without a cluster, its replica, and its slow log.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, FaultKind, Reading, SlowCommand};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{PATIENCE, Readings, Server, node_at, value_of, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

fn cluster() -> Subject {
    Subject::component(Kind::Redis, "features")
}

fn watch(spec: RedisSpec) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn slow_commands(reading: &Reading) -> impl Iterator<Item = &SlowCommand> {
    reading.events.iter().filter_map(|event| match event {
        Event::SlowCommand(command) => Some(command),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn primary_and_replica_are_one_shard_from_either_side() {
    let primary = Server::start(&["--repl-diskless-sync-delay", "0"]);
    let replica = Server::start(&["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
    wait_until("the replica follows", || replica.info("master_link_status") == "up");
    for seed in [&primary, &replica] {
        let spec = RedisSpec::new(cluster(), vec![seed.address()]);
        let (target, mut readings) = watch(spec);
        let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
        assert!(!topology.clustered);
        assert_eq!(topology.shards.len(), 1);
        let nodes = &topology.shards[0].nodes;
        assert_eq!(nodes.len(), 2, "{nodes:?}");
        assert!(nodes[0].primary && nodes[0].subject.address() == Some(primary.address().as_str()));
        let follower = node_at(&topology, &replica.address());
        let reading = readings.until_sample(&follower, metric::REDIS_REPLICATION_UP).await;
        assert_eq!(value_of(&reading, metric::REDIS_REPLICATION_UP), Some(1.0));
        target.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_commands_are_told_once_with_what_came_before() {
    let server = Server::start(&["--slowlog-log-slower-than", "0"]);
    server.run::<()>(&["SET", "before", "v"]);
    let (_target, mut readings) = watch(RedisSpec::new(cluster(), vec![server.address()]));
    let is_set = |reading: &Reading, key: &str| {
        slow_commands(reading).any(|slow| slow.key.as_ref().is_some_and(|found| found.as_str() == key))
    };
    readings.until("the entry from before is told", |reading| is_set(reading, "before")).await;
    server.run::<()>(&["SET", "evil\x1b[31m", "secret"]);
    readings.until("the new entry is told", |reading| is_set(reading, "evil\\x1b[31m")).await;
    for _ in 0..2 {
        readings.until("one more look", |reading| value_of(reading, metric::REDIS_SLOW).is_some()).await;
    }
    let thresholds: Vec<f64> =
        readings.log.iter().filter_map(|reading| value_of(reading, metric::REDIS_SLOW_THRESHOLD)).collect();
    assert_eq!(thresholds, [0.0], "the threshold is told once in a while");
    let entries: Vec<_> = readings.log.iter().flat_map(slow_commands).collect();
    for key in ["before", "evil\\x1b[31m"] {
        let of_key =
            entries.iter().filter(|slow| slow.key.as_ref().is_some_and(|found| found.as_str() == key));
        let of_key: Vec<_> = of_key.collect();
        assert_eq!(of_key.len(), 1, "{key}");
        assert!(!of_key[0].excluded && of_key[0].arguments.is_empty());
    }
    let ours: Vec<_> = entries.iter().filter(|slow| slow.client.as_str() == "headwater").collect();
    assert!(ours.len() > 3 && ours.iter().all(|slow| slow.excluded), "{ours:?}");
    // Our own commands are logged too, at this threshold, and are not counted.
    let totals: Vec<_> =
        readings.log.iter().filter_map(|reading| value_of(reading, metric::REDIS_SLOW)).collect();
    assert!(totals.is_sorted(), "{totals:?}");
    assert!(totals[totals.len() - 1] - totals[0] <= 2.0, "{totals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapped_address_is_dialled_and_the_announced_one_is_shown() {
    let server = Server::start(&[]);
    let mut spec = RedisSpec::new(cluster(), vec!["10.255.255.1:6379".to_owned()]);
    spec.address_map = BTreeMap::from([("10.255.255.1:6379".to_owned(), server.address())]);
    let (target, mut readings) = watch(spec);
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let node = node_at(&topology, "10.255.255.1:6379");
    readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_behind_one_address_are_a_proxy_and_give_no_rates() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let proxy =
        proxy_by_turns(servers.iter().map(|server| server.address().parse().unwrap()).collect()).await;
    let (_target, mut readings) = watch(RedisSpec::new(cluster(), vec![proxy.to_string()]));
    let says_proxy = |reading: &Reading| {
        let of_proxy =
            |event: &Event| matches!(event, Event::Unavailable { why, .. } if why.as_str().contains("proxy"));
        reading.events.iter().any(of_proxy)
    };
    readings.until("a proxy is suspected", says_proxy).await;
    readings.log.clear();
    readings
        .until("the node answers again", |reading| value_of(reading, metric::REDIS_ANSWER_TIME).is_some())
        .await;
    assert!(readings.log.iter().all(|reading| value_of(reading, metric::REDIS_COMMANDS).is_none()));
}

/// A proxy that hands each connection to another server and ends it soon, as load balancers do.
async fn proxy_by_turns(servers: Vec<SocketAddr>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    tokio::spawn(async move {
        for server in servers.iter().cycle() {
            let Ok((mut client, _)) = listener.accept().await else { return };
            let server = *server;
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(server).await.expect("the server is there");
                let exchange = copy_bidirectional(&mut client, &mut behind);
                // The end of the exchange is what this is about, however it comes.
                let _ = tokio::time::timeout(Duration::from_millis(500), exchange).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_said_of_the_target() {
    let unused = Server::start(&[]).address();
    let cases = [(unused, "refused"), ("no-such-host.invalid:6379".to_owned(), "resolve")];
    for (seed, words) in cases {
        let (_target, mut readings) = watch(RedisSpec::new(cluster(), vec![seed]));
        let fault = readings.until_fault(&cluster(), FaultKind::Unreachable).await;
        assert!(fault.message.as_str().contains(words), "{}", fault.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentinel_is_not_watched_as_if_it_held_data() {
    let sentinel = Server::start_sentinel();
    let (target, mut readings) = watch(RedisSpec::new(cluster(), vec![sentinel.address()]));
    let fault = readings.until_fault(&cluster(), FaultKind::Malformed).await;
    assert!(fault.message.as_str().contains("is a Sentinel: write redis+sentinel://"), "{}", fault.message);
    assert!(target.topology().is_none());
}

/// Something that is no Redis: sends this to whoever connects, once or without end.
async fn impostor(says: &'static [u8], endless: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 64];
                // Whatever the client does is fine: it is the one that is tested.
                let _ = client.read(&mut asked).await;
                while client.write_all(says).await.is_ok() && endless {}
                while client.read(&mut asked).await.is_ok_and(|length| length > 0) {}
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_redis_is_said_and_holds_nothing_up() {
    let cases: [(&[u8], bool, FaultKind, &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", false, FaultKind::Malformed, "check host and port"),
        (b"\x00\xff\x1b[2Jgarbage\r\n", false, FaultKind::Malformed, "check host and port"),
        (
            b"$99999999999\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            true,
            FaultKind::TooLarge,
            "16 MiB",
        ),
        (b"", false, FaultKind::Silent, "has not answered"),
    ];
    for (says, endless, kind, words) in cases {
        let (target, mut readings) = watch(RedisSpec::new(cluster(), vec![impostor(says, endless).await]));
        let fault = readings.until_fault(&cluster(), kind).await;
        assert!(fault.message.as_str().contains(words), "{}", fault.message);
        target.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dead_seed_does_not_hide_a_living_one() {
    let unused = Server::start(&[]).address();
    let server = Server::start(&[]);
    let (target, _readings) = watch(RedisSpec::new(cluster(), vec![unused, server.address()]));
    let topology = target.discovered(PATIENCE).await.expect("the living seed is found");
    assert_eq!(topology.shards[0].nodes[0].subject.address().unwrap(), server.address());
}
