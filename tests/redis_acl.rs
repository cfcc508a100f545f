//! Headwater does nothing but what its list allows: a user with just these rights is never refused.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::allowed::acl_line;
use headwater::sources::redis::info::Info;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget, SearchBudget, probe};
use headwater_engine::reading::{Event, KEY_METHODS, Reading, ScanState};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, ServerRelease, value_of};
use tokio_util::sync::CancellationToken;

fn allow_watcher(server: &Server) {
    let info: String = server.run(&["INFO", "server"]);
    let line = acl_line("watcher", Info::parse(&info).release(), false).replace(">PASSWORD", ">word");
    server.run::<()>(&line.split(' ').collect::<Vec<_>>());
}

fn spec(server: &Server) -> RedisSpec {
    let mut spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![server.address()]);
    spec.username = Some("watcher".to_owned());
    spec.password = Some("word".to_owned().into());
    spec
}

fn assert_never_refused(server: &Server) {
    let log: Vec<redis::Value> = server.run(&["ACL", "LOG"]);
    assert!(log.is_empty(), "{} refused: {log:?}", server.address());
}

/// Polls until the shape was asked for again, scans, probes.
async fn do_everything(spec: RedisSpec) {
    let (send, mut readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let target = RedisTarget::start(spec.clone(), Duration::from_millis(500), outlet);
    let topology = target.discovered(PATIENCE).await.expect("the deployment is discovered");
    for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
        let reading = readings.until_sample(&node.subject, metric::REDIS_SLOW).await;
        assert!(value_of(&reading, metric::REDIS_ANSWER_TIME).is_some() && reading.faults.is_empty());
    }
    for shard in &topology.shards {
        target.scan(&shard.subject, ScanBudget::default()).expect("the shard is known");
        let complete = |reading: &Reading| {
            reading.events.iter().any(|event| {
                matches!(event, Event::Scan(scan)
                if scan.shard == shard.subject && scan.state == ScanState::Complete)
            })
        };
        readings.until("the scan is complete", complete).await;
    }
    for shard in &topology.shards {
        for row in KEY_METHODS.iter().filter(|row| !row.needs_consent) {
            // One that this server does not offer ends by saying so, and may not be tried at the server either.
            let Some(_search) = target.search(&shard.subject, row.method, SearchBudget::default()) else {
                continue;
            };
            let ended = |reading: &Reading| {
                reading.events.iter().any(|event| {
                    matches!(event, Event::HotSearch(search)
                    if search.shard == shard.subject && search.method == row.method && search.state.has_ended())
                })
            };
            readings.until("the search is over", ended).await;
        }
    }
    readings
        .until_topology("the shape was asked for again", |again| again.shards.len() == topology.shards.len())
        .await;
    readings.until_topology("and again by a node", |again| again.shards.len() == topology.shards.len()).await;
    // What a release does not have is no refusal.
    let is_refusal = |event: &Event| matches!(event, Event::Unavailable { why, .. } if why.as_str().contains("may not run"));
    let refused: Vec<_> =
        readings.log.iter().flat_map(|reading| &reading.events).filter(|event| is_refusal(event)).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let steps = probe(&spec).await;
    assert!(steps.len() > 5 && steps.iter().all(|step| step.outcome.is_ok()), "{steps:#?}");
}

/// A server of a release with something of every type in it, once as a cluster of its own and once alone.
fn fill(server: &Server) {
    let fillings: [&[&str]; 6] = [
        &["SET", "string", "v"],
        &["RPUSH", "list", "a", "b"],
        &["XADD", "stream", "*", "field", "v"],
        &["ZADD", "sorted", "1", "a"],
        &["SADD", "set", "a"],
        &["HSET", "hash", "a", "1"],
    ];
    for words in fillings {
        // Of a cluster's keys half belong elsewhere.
        let _ = server.try_run::<redis::Value>(words);
    }
    let _ = server.try_run::<redis::Value>(&["EXPIRE", "string", "1000"]);
}

async fn a_release_refuses_nothing(release: ServerRelease) {
    let server =
        Server::start_release(release, &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu"]);
    fill(&server);
    allow_watcher(&server);
    let cluster = Cluster::start_release(release, 2, 1, &[]);
    for server in cluster.servers() {
        fill(server);
        // Only where it is known.
        let _ = server.try_run::<redis::Value>(&["CONFIG", "SET", "cluster-slot-stats-enabled", "yes"]);
        allow_watcher(server);
    }
    // Beside each other: most of their time is spent waiting for what is asked seldom.
    tokio::join!(do_everything(spec(&server)), do_everything(spec(&cluster.primaries[0])));
    assert_never_refused(&server);
    cluster.servers().for_each(assert_never_refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_installed_release_refuses_nothing_that_we_ask() {
    a_release_refuses_nothing(ServerRelease::Installed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_6_2_refuses_nothing_that_we_ask() {
    a_release_refuses_nothing(ServerRelease::Redis62).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_8_2_refuses_nothing_that_we_ask() {
    a_release_refuses_nothing(ServerRelease::Redis82).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_8_1_refuses_nothing_that_we_ask() {
    a_release_refuses_nothing(ServerRelease::Valkey81).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_9_1_refuses_nothing_that_we_ask() {
    a_release_refuses_nothing(ServerRelease::Valkey91).await;
}

#[test]
fn every_release_takes_its_line_with_and_without_consent() {
    for release in ServerRelease::ALL {
        let server = Server::start_release(release, &[]);
        let info: String = server.run(&["INFO", "server"]);
        for with_consented in [false, true] {
            let line = acl_line("watcher", Info::parse(&info).release(), with_consented);
            server.run::<()>(&line.split(' ').collect::<Vec<_>>());
            let dry = line.contains("+monitor");
            assert_eq!(dry, with_consented, "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_does_not_let_its_user_do_harm() {
    let server = Server::start(&[]);
    allow_watcher(&server);
    let url = format!("redis://watcher:word@{}/", server.address());
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let harms: [&[&str]; 7] = [
        &["SET", "k", "v"],
        &["GET", "k"],
        &["KEYS", "*"],
        &["FLUSHALL"],
        &["CONFIG", "SET", "maxmemory", "1"],
        &["MONITOR"],
        &["SLOWLOG", "RESET"],
    ];
    for words in harms {
        let mut command = redis::Cmd::new();
        let refused = command.arg(words).exec(&mut connection).unwrap_err();
        assert_eq!(refused.code(), Some("NOPERM"), "{words:?}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_what_is_missing_and_the_line_that_repairs_it() {
    let server = Server::start(&[]);
    server.run::<()>(&["ACL", "SETUSER", "watcher", "on", ">word", "+info", "+client"]);
    let steps = probe(&spec(&server)).await;
    let slowlog = steps.iter().find(|step| step.what.as_str() == "SLOWLOG GET").expect("it was tried");
    assert!(slowlog.outcome.as_ref().unwrap_err().as_str().contains("slow commands are not seen"));
    let fix = slowlog.fix.as_ref().expect("there is a fix").as_str();
    assert_eq!(fix, "ACL SETUSER watcher +slowlog|get");
    let whole = steps.iter().find(|step| step.what.as_str() == "ACL user").expect("it is always given");
    let line = whole.fix.as_ref().expect("there is a line").as_str();
    assert!(line.contains("+slowlog|get") && line.contains("+latency|histogram"), "{line}");
    assert!(whole.outcome.as_ref().unwrap().as_str().contains("takes from this user whatever else"));
    let offer = |way: &str| {
        steps.iter().find(|step| step.what.as_str() == format!("keys by {way}")).expect("it is told")
    };
    let scan = offer("scan").outcome.as_ref().expect("no failure of its own").as_str();
    assert!(scan.starts_with("not offered: ") && scan.contains("ACL SETUSER watcher +scan"), "{scan}");
    let monitor = offer("monitor").outcome.as_ref().expect("no failure of its own").as_str();
    assert!(monitor.contains("not tried"), "{monitor}");

    let mut wrong = spec(&server);
    wrong.password = Some("nonsense".to_owned().into());
    let steps = probe(&wrong).await;
    assert_eq!(steps.len(), 1, "{steps:#?}");
    assert!(steps[0].outcome.as_ref().unwrap_err().as_str().contains("refused the password"));
}
