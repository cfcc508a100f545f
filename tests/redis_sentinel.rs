//! Real Sentinels: they tell the primary, they are followed through a failover, and they have a password of their own.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::allowed::sentinel_acl_line;
use headwater::sources::redis::{RedisSpec, RedisTarget, SentinelSpec, probe};
use headwater_engine::reading::{Event, FaultKind, Topology};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{PATIENCE, Readings, Server, node_at, wait_until};
use tokio_util::sync::CancellationToken;

fn target() -> Subject {
    Subject::component(Kind::Redis, "features")
}

fn watch(spec: RedisSpec) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn primary_of(topology: &Topology) -> &str {
    let node = topology.shards[0].nodes.iter().find(|node| node.primary);
    node.and_then(|node| node.subject.address()).expect("there is a primary with an address")
}

/// A primary with a replica, and three Sentinels that let in a user who may do just what Headwater does there.
struct Watched {
    primary: Server,
    replica: Server,
    sentinels: Vec<Server>,
}

impl Watched {
    fn start() -> Self {
        let primary = Server::start(&["--repl-diskless-sync-delay", "0"]);
        let replica = Server::start(&["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
        wait_until("the replica follows", || replica.info("master_link_status") == "up");
        let sentinels: Vec<_> = (0..3).map(|_| Server::start_sentinel()).collect();
        for sentinel in &sentinels {
            let port = primary.port().to_string();
            sentinel.run::<()>(&["SENTINEL", "MONITOR", "main", "127.0.0.1", &port, "2"]);
            for (name, value) in [("down-after-milliseconds", "500"), ("failover-timeout", "3000")] {
                sentinel.run::<()>(&["SENTINEL", "SET", "main", name, value]);
            }
            let line = sentinel_acl_line("watcher").replace(">PASSWORD", ">sentinel-word");
            sentinel.run::<()>(&line.split(' ').collect::<Vec<_>>());
        }
        let seen = |sentinel: &Server| {
            format!("{:?}", sentinel.run::<redis::Value>(&["SENTINEL", "MASTER", "main"]))
        };
        wait_until("the Sentinels know each other and the replica", || {
            sentinels.iter().all(|sentinel| {
                let known = seen(sentinel).replace("bulk-string(", "");
                let of = |name: &str, count: &str| {
                    known.split(name).nth(1).is_some_and(|rest| {
                        rest.chars().filter(char::is_ascii_digit).take(1).eq(count.chars())
                    })
                };
                of("num-slaves", "1") && of("num-other-sentinels", "2")
            })
        });
        Self { primary, replica, sentinels }
    }

    fn spec(&self) -> RedisSpec {
        let mut spec = RedisSpec::new(target(), self.sentinels.iter().map(Server::address).collect());
        spec.sentinel = Some(SentinelSpec {
            primary: "main".to_owned(),
            username: Some("watcher".to_owned()),
            password: Some("sentinel-word".to_owned().into()),
        });
        spec
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_tell_the_primary_and_are_followed_through_a_failover() {
    let mut watched = Watched::start();
    let (old, new) = (watched.primary.address(), watched.replica.address());
    let (running, mut readings) = watch(watched.spec());
    let topology = running.discovered(PATIENCE).await.expect("the Sentinels tell the shape");
    assert_eq!((primary_of(&topology), topology.clustered), (old.as_str(), false));
    for address in [&old, &new] {
        readings.until_sample(&node_at(&topology, address), metric::REDIS_ANSWER_TIME).await;
    }
    watched.primary.kill();
    let is_new = |topology: &Topology| primary_of(topology) == new;
    let topology = readings.until_topology("the replica has become the primary", is_new).await;
    assert_eq!(topology.shards[0].nodes.len(), 2, "the lost one is still shown");

    // Back, it takes itself for a primary until the Sentinels tell it otherwise: we do not.
    readings.log.clear();
    watched.primary.restart();
    wait_until("it follows", || watched.primary.info("role") == "slave");
    let node = node_at(&topology, &old);
    readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    let said: Vec<_> = readings.log.iter().flat_map(|reading| &reading.events).collect();
    for event in said {
        let Event::Topology(topology) = event else { continue };
        assert_eq!(primary_of(topology), new);
    }

    // Without Sentinels the nodes are watched all the same, and it is said.
    watched.sentinels.clear();
    let is_said =
        |event: &Event| matches!(event, Event::Unavailable { what, .. } if what.as_str() == "the Sentinels");
    readings.until("the loss of the Sentinels is said", |reading| reading.events.iter().any(is_said)).await;
    readings.log.clear();
    readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sentinels_do_not_know_or_allow_is_said_and_what_we_ask_is_never_refused() {
    let watched = Watched::start();
    let steps = probe(&watched.spec()).await;
    assert!(steps.iter().all(|step| step.outcome.is_ok()), "{steps:#?}");
    let told = steps.iter().filter(|step| step.what.as_str().starts_with("ask Sentinel"));
    assert_eq!(told.count(), 3, "{steps:#?}");
    for sentinel in &watched.sentinels {
        let log: Vec<redis::Value> = sentinel.run(&["ACL", "LOG"]);
        assert!(log.is_empty(), "{log:?}");
    }

    let mut spec = watched.spec();
    spec.sentinel.as_mut().unwrap().primary = "mian".to_owned();
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Malformed).await;
    assert!(
        fault.message.as_str().contains("knows no primary 'mian': it watches 'main'"),
        "{}",
        fault.message
    );

    let mut spec = watched.spec();
    spec.seeds = vec![watched.primary.address()];
    spec.sentinel = Some(SentinelSpec::new("main".to_owned()));
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Malformed).await;
    assert!(fault.message.as_str().contains("is no Sentinel"), "{}", fault.message);

    let mut spec = watched.spec();
    spec.sentinel.as_mut().unwrap().password = Some("wrong-4711".to_owned().into());
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    assert!(!fault.message.as_str().contains("4711"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentinel_with_another_password_keeps_neither_the_others_nor_the_nodes_from_us() {
    let watched = Watched::start();
    let rotate = |sentinel: &Server| {
        sentinel.run::<()>(&["ACL", "SETUSER", "watcher", "resetpass", ">another-word"]);
    };
    rotate(&watched.sentinels[0]);
    let steps = probe(&watched.spec()).await;
    let asked: Vec<_> = steps
        .iter()
        .filter(|step| step.what.as_str().starts_with("ask Sentinel"))
        .map(|step| step.outcome.is_ok())
        .collect();
    assert_eq!(asked, [false, true, true], "{steps:#?}");

    let (running, mut readings) = watch(watched.spec());
    let topology = running.discovered(PATIENCE).await.expect("another Sentinel tells the shape");
    let node = node_at(&topology, &watched.primary.address());
    readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    watched.sentinels.iter().for_each(rotate);
    let is_said =
        |event: &Event| matches!(event, Event::Unavailable { what, .. } if what.as_str() == "the Sentinels");
    readings.until("their refusal is said", |reading| reading.events.iter().any(is_said)).await;
    readings.log.clear();
    readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    assert!(readings.log.iter().all(|reading| reading.faults.is_empty()), "{:#?}", readings.log);
}
