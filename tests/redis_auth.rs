//! Who is let in, and what is said to whom is not: passwords, ACL users, full servers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use headwater::sources::Outlet;
use headwater::sources::redis::connection::{Access, Connection, Cost, Dial};
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, FaultKind, Reading};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, value_of, wait_until};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn target() -> Subject {
    Subject::component(Kind::Redis, "features")
}

fn watch(spec: RedisSpec) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn answered(reading: &Reading) -> bool {
    value_of(reading, metric::REDIS_ANSWER_TIME).is_some()
}

/// How often a server refused somebody's password, by its own log.
fn refusals(server: &Server) -> u64 {
    let log: Vec<redis::Value> = server.run(&["ACL", "LOG"]);
    let count = |entry: &redis::Value| {
        let pairs: Vec<(String, redis::Value)> = entry
            .as_map_iter()
            .expect("an entry is a list of fields")
            .map(|(name, value)| (redis::from_redis_value_ref(name).expect("names are text"), value.clone()))
            .collect();
        let field =
            |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let reason: String =
            redis::from_redis_value(field("reason").expect("there is a reason")).expect("text");
        let count: u64 =
            redis::from_redis_value(field("count").expect("there is a count")).expect("a number");
        if reason == "auth" { count } else { 0 }
    };
    log.iter().map(count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_tried_once_for_the_whole_cluster() {
    let cluster = Cluster::start(3, 1);
    for server in cluster.servers() {
        server.run::<()>(&["ACL", "SETUSER", "watcher", "on", ">right", "+@all", "~*"]);
    }
    let mut spec = RedisSpec::new(target(), cluster.servers().map(Server::address).collect());
    spec.username = Some("watcher".to_owned());
    spec.password = Some("wrong".to_owned().into());
    let (running, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    drop(running);
    assert!(fault.message.as_str().contains("refused the password of user 'watcher'"), "{}", fault.message);
    assert!(fault.message.as_str().contains("password_env"), "{}", fault.message);
    assert!(!fault.message.as_str().contains("wrong"), "{}", fault.message);
    assert!(readings.ended().await, "nothing goes on after the refusal");
    assert_eq!(readings.log.len(), 1, "{:#?}", readings.log);
    assert_eq!(cluster.servers().map(refusals).sum::<u64>(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_changed_later_stops_all_nodes_at_the_first_refusal() {
    let mut cluster = Cluster::start(3, 0);
    let set_user = |server: &Server, password: &str| {
        let word = format!(">{password}");
        server.run::<()>(&["ACL", "SETUSER", "watcher", "reset", "on", &word, "+@all", "~*"]);
    };
    cluster.servers().for_each(|server| set_user(server, "first"));
    let mut spec = RedisSpec::new(target(), vec![cluster.primaries[0].address()]);
    spec.username = Some("watcher".to_owned());
    spec.password = Some("first".to_owned().into());
    let (running, mut readings) = watch(spec);
    running.discovered(PATIENCE).await.expect("the right password lets us in");
    readings.until("a node answers", answered).await;
    // A restarted node knows only the default user, as if the user had been taken away.
    cluster.primaries[1].restart();
    readings.until_fault(&target(), FaultKind::Auth).await;
    readings.log.clear();
    drop(running);
    assert!(readings.ended().await, "nothing goes on after the refusal");
    assert_eq!(refusals(&cluster.primaries[1]), 1);
    assert_eq!(refusals(&cluster.primaries[0]) + refusals(&cluster.primaries[2]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_lost_together_try_a_changed_password_once() {
    let servers: Vec<_> = (0..4).map(|_| Server::start(&["--requirepass", "second"])).collect();
    let mut spec = RedisSpec::new(target(), vec![]);
    spec.password = Some("first".to_owned().into());
    let access = Access::of(&spec).unwrap();
    let cost = Arc::new(Cost::default());
    let dials: Vec<_> = servers
        .iter()
        .map(|server| Dial { shown: server.address(), host: "127.0.0.1".to_owned(), port: server.port() })
        .collect();
    let deadline = Instant::now() + PATIENCE;
    // Paused, they all have the connection before any of them answers.
    servers.iter().for_each(Server::pause);
    let opened = join_all(dials.iter().map(|dial| Connection::open(dial, &access, &cost, deadline)));
    let resumed = async { servers.iter().for_each(Server::resume) };
    let (opened, ()) = tokio::join!(opened, resumed);
    for outcome in opened {
        assert_eq!(outcome.err().map(|trouble| trouble.kind), Some(FaultKind::Auth));
    }
    let refused: usize = servers
        .iter()
        .map(|server| {
            let url = format!("redis://:second@{}/", server.address());
            let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
            let log: Vec<redis::Value> = redis::cmd("ACL").arg("LOG").query(&mut connection).unwrap();
            log.len()
        })
        .sum();
    assert_eq!(refused, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_password_is_said_as_such() {
    let server = Server::start(&["--requirepass", "secret"]);
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    assert!(fault.message.as_str().contains("wants a password"), "{}", fault.message);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.password = Some("secret".to_owned().into());
    let (_target, mut readings) = watch(spec);
    readings.until("the password lets us in", answered).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_for_a_server_without_one_is_said_as_such() {
    let server = Server::start(&[]);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.password = Some("needless".to_owned().into());
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    assert!(fault.message.as_str().contains("remove it"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_allowed_costs_only_itself_and_names_the_rule() {
    let server = Server::start(&[]);
    server.run::<()>(&["ACL", "SETUSER", "watcher", "on", ">word", "+info", "+client|setname"]);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.username = Some("watcher".to_owned());
    spec.password = Some("word".to_owned().into());
    let (_target, mut readings) = watch(spec);
    let names_rule = |reading: &Reading| {
        reading.events.iter().any(|event| {
            matches!(event, Event::Unavailable { what, why }
                if what.as_str() == "SLOWLOG GET" && why.as_str().contains("ACL SETUSER watcher +slowlog|get"))
        })
    };
    let reading = readings.until("the missing rule is named", names_rule).await;
    assert!(answered(&reading) && reading.faults.is_empty(), "{reading:?}");
    server.run::<()>(&["ACL", "SETUSER", "watcher", "+slowlog|get"]);
    let is_back =
        |event: &Event| matches!(event, Event::Available { what } if what.as_str() == "SLOWLOG GET");
    let granted = readings.until("it is asked again", |reading| reading.events.iter().any(is_back)).await;
    assert!(value_of(&granted, metric::REDIS_SLOW).is_some(), "{granted:?}");
    server.run::<()>(&["ACL", "SETUSER", "watcher", "-info"]);
    let denied = |reading: &Reading| reading.faults.iter().any(|fault| fault.kind == FaultKind::Denied);
    let reading = readings.until("INFO is denied", denied).await;
    assert!(reading.faults[0].message.as_str().contains("ACL SETUSER watcher +info"), "{reading:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_says_that_it_is_full() {
    let server = Server::start(&["--maxclients", "1"]);
    let mut holder = None;
    wait_until("the one place is free and taken", || {
        holder = server.connect().ok();
        holder.is_some()
    });
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    let fault = readings.until_fault(&target(), FaultKind::Busy).await;
    assert!(fault.message.as_str().contains("out of connections"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_blocks_everything_is_busy_and_passes() {
    let server = Server::start(&["--busy-reply-threshold", "50"]);
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    readings.until("the node answers", answered).await;
    let mut connection = server.connect().unwrap();
    let script = std::thread::spawn(move || {
        redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut connection).unwrap_err().to_string()
    });
    let busy = |reading: &Reading| reading.faults.iter().any(|fault| fault.kind == FaultKind::Busy);
    let said = readings.until("the script is said", busy).await;
    assert!(said.faults[0].message.as_str().contains("SCRIPT KILL"), "{said:?}");
    server.run::<()>(&["SCRIPT", "KILL"]);
    assert!(script.join().unwrap().contains("killed"));
    readings.until("the node answers again", answered).await;
}
