//! What servers tell of their keys for free, on real servers: sizes, and commands that were large.

use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{Event, LargeCommand, LargeKind, Reading};
use headwater_engine::{Kind, Subject};
use headwater_test_support::{PATIENCE, Readings, Server, ServerRelease};
use tokio_util::sync::CancellationToken;

fn watch(server: &Server) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![server.address()]);
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn large_of(reading: &Reading) -> impl Iterator<Item = &LargeCommand> {
    reading.events.iter().filter_map(|event| match event {
        Event::LargeCommand(command) => Some(command),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_8_tells_how_many_keys_it_has_of_each_size() {
    let server = Server::start_release(ServerRelease::Redis82, &[]);
    server.run::<()>(&["SET", "big", &"v".repeat(1_500_000)]);
    server.run::<()>(&["SADD", "few", "a", "b", "c"]);
    let (_target, mut readings) = watch(&server);
    let sizes_of = |reading: &Reading| {
        reading.events.iter().find_map(|event| match event {
            Event::KeySizes(sizes) => Some(sizes.clone()),
            _ => None,
        })
    };
    let reading = readings.until("it tells the sizes", |reading| sizes_of(reading).is_some()).await;
    let sizes = sizes_of(&reading).unwrap();
    let row = |name: &str| sizes.rows.iter().find(|(row, _)| row.as_str() == name).map(|(_, bins)| bins);
    let strings = row("strings_sizes").expect("there is a string");
    assert_eq!((strings[0].from, strings[0].keys), (1_048_576, 1));
    let sets = row("sets_items").expect("there is a set");
    assert_eq!((sets[0].from, sets[0].keys), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_names_the_keys_of_large_commands_once_each() {
    for release in [ServerRelease::Valkey81, ServerRelease::Valkey91] {
        let options =
            ["--commandlog-reply-larger-than", "100000", "--commandlog-request-larger-than", "100000"];
        let mut server = Server::start_release(release, &options);
        let (_target, mut readings) = watch(&server);
        readings.until("it is asked", |reading| !reading.samples.is_empty()).await;
        let mut expected = vec![];
        for round in 0..2_u64 {
            server.run::<()>(&["SET", "blob", &"v".repeat(300_000)]);
            server.run::<String>(&["GET", "blob"]);
            expected.extend([(LargeKind::Reply, round), (LargeKind::Request, round)]);
            let mut seen = vec![];
            readings
                .until("both are told", |reading| {
                    seen.extend(large_of(reading).map(|command| (command.kind, command.id)));
                    seen.len() >= 2
                })
                .await;
        }
        let all: Vec<LargeCommand> = readings.log.iter().flat_map(large_of).cloned().collect();
        let mut told: Vec<_> = all.iter().map(|command| (command.kind, command.id)).collect();
        told.sort_unstable();
        expected.sort_unstable();
        expected.sort_by_key(|(kind, id)| (*kind, *id));
        assert_eq!(told, expected, "{release:?}");
        for command in &all {
            let name = if command.kind == LargeKind::Reply { "GET" } else { "SET" };
            assert_eq!((command.command.as_str(), command.excluded), (name, false));
            assert_eq!(command.key.as_ref().map(|key| key.as_str()), Some("blob"));
            assert!((300_000..301_000).contains(&command.bytes), "{}", command.bytes);
        }
        // Another run counts from 0 again.
        server.restart();
        server.run::<()>(&["SET", "again", &"v".repeat(200_000)]);
        let is_again =
            |command: &LargeCommand| command.key.as_ref().is_some_and(|key| key.as_str() == "again");
        readings.until("the new run's is told", |reading| large_of(reading).any(is_again)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_commands_that_come_in_crowds_are_all_told_or_said_to_be_lost() {
    let options = ["--commandlog-reply-larger-than", "100000", "--commandlog-large-reply-max-len", "128"];
    let server = Server::start_release(ServerRelease::Valkey81, &options);
    server.run::<()>(&["SET", "blob", &"v".repeat(120_000)]);
    let crowd = |count: usize| {
        let mut gets = redis::pipe();
        (0..count).for_each(|_| {
            gets.cmd("GET").arg("blob").ignore();
        });
        gets.exec(&mut server.connect().unwrap()).unwrap();
    };
    crowd(1);
    let (_target, mut readings) = watch(&server);
    let replies = |reading: &Reading| {
        let replies = large_of(reading).filter(|command| command.kind == LargeKind::Reply);
        replies.map(|command| command.id).max()
    };
    readings.until("the log is followed", |reading| replies(reading) == Some(0)).await;
    crowd(100);
    readings.until("the newest is told", |reading| replies(reading) == Some(100)).await;
    let mut told: Vec<_> =
        readings.log.iter().flat_map(large_of).map(|command| (command.kind, command.id)).collect();
    told.retain(|(kind, _)| *kind == LargeKind::Reply);
    told.sort_unstable();
    assert_eq!(told, (0..=100).map(|id| (LargeKind::Reply, id)).collect::<Vec<_>>());
    let is_lost = |event: &Event| {
        matches!(event, Event::Unavailable { what, why } if what.as_str() == "COMMANDLOG entries of large replies"
            && why.as_str().contains("were overwritten") && why.as_str().contains("commandlog-large-reply-max-len"))
    };
    assert!(!readings.log.iter().flat_map(|reading| &reading.events).any(is_lost));
    crowd(200);
    readings.until("what was lost is said", |reading| reading.events.iter().any(is_lost)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_without_them_are_asked_for_neither() {
    for release in [ServerRelease::Installed, ServerRelease::Redis62] {
        let server = Server::start_release(release, &[]);
        let (target, mut readings) = watch(&server);
        target.discovered(PATIENCE).await.expect("it is discovered");
        for _ in 0..3 {
            readings.until("it is asked", |reading| !reading.samples.is_empty()).await;
        }
        let unavailable: Vec<_> = readings
            .log
            .iter()
            .flat_map(|reading| &reading.events)
            .filter(|event| matches!(event, Event::Unavailable { what, .. } if what.as_str().contains("COMMANDLOG")))
            .collect();
        assert!(unavailable.is_empty(), "{unavailable:?}");
    }
}
