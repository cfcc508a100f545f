//! Headwater does nothing but what its list allows: a user with just these rights is never refused.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::allowed::acl_line;
use headwater::sources::redis::info::Info;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget, probe};
use headwater_engine::reading::{Event, Reading, ScanState};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, value_of};
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
    readings
        .until_topology("the shape was asked for again", |again| again.shards.len() == topology.shards.len())
        .await;
    readings.until_topology("and again by a node", |again| again.shards.len() == topology.shards.len()).await;
    // On a busy machine a node may be spared; that is no refusal.
    let is_unavailable = |event: &Event| matches!(event, Event::Unavailable { what, .. } if what.as_str() != "commandstats at every look");
    let missing: Vec<_> =
        readings.log.iter().flat_map(|reading| &reading.events).filter(|e| is_unavailable(e)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let steps = probe(&spec).await;
    assert!(steps.len() > 5 && steps.iter().all(|step| step.outcome.is_ok()), "{steps:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_watched_scanned_and_probed_within_the_list() {
    let cluster = Cluster::start(2, 1);
    cluster.servers().for_each(allow_watcher);
    for key in 0..200 {
        // Half of the keys belong to the other shard.
        let _ = cluster.primaries[0].try_run::<()>(&["SET", &format!("k{key}"), "v"]);
    }
    do_everything(spec(&cluster.primaries[0])).await;
    cluster.servers().for_each(assert_never_refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standalone_server_is_watched_scanned_and_probed_within_the_list() {
    let server = Server::start(&[]);
    allow_watcher(&server);
    server.run::<()>(&["RPUSH", "list", "a", "b"]);
    server.run::<()>(&["XADD", "stream", "*", "field", "v"]);
    server.run::<()>(&["ZADD", "sorted", "1", "a"]);
    server.run::<()>(&["SADD", "set", "a"]);
    server.run::<()>(&["HSET", "hash", "a", "1"]);
    do_everything(spec(&server)).await;
    assert_never_refused(&server);
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
    assert!(fix.starts_with("ACL SETUSER watcher") && fix.contains("+slowlog|get"), "{fix}");

    let mut wrong = spec(&server);
    wrong.password = Some("nonsense".to_owned().into());
    let steps = probe(&wrong).await;
    assert_eq!(steps.len(), 1, "{steps:#?}");
    assert!(steps[0].outcome.as_ref().unwrap_err().as_str().contains("refused the password"));
}
