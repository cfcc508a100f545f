mod deployments;
mod edges;
mod opened;
mod order;
mod standing;

use headwater_engine::reading::{Event, Fault, FaultKind, Input, KeySize, Reading, Scan, ScanState};
use headwater_engine::settings::Component;
use headwater_engine::{Baselines, Engine, Moment, Settings, Snapshot};

use super::*;
use crate::panel::{Effect, Intent};
use crate::redis_world::{Stage, World, cluster, node, settings, topology};

fn stage(snapshot: &Snapshot) -> Stage<'_> {
    Stage { panel: (ROW.make)(), snapshot }
}

/// Shard 2 fills its link for the last minute.
fn incident(shards: usize) -> World {
    let mut world = World::new(shards, settings(Some(25e6)));
    world.go_on(240, 3e6, 0.0007);
    world.go_on(60, 23.9e6, 0.041);
    world
}

fn scan(state: ScanState) -> Scan {
    let key = KeySize {
        key: "user:profile:8812".into(),
        slot: Some(9),
        kind: "string".into(),
        bytes: 1_800_000,
        elements: Some(1_799_900),
    };
    let shard = cluster().shard(2);
    Scan { scanned: 12_400, total: 50_000, state, biggest: vec![key], ..Scan::begun(shard, node(2, false)) }
}

fn told(world: &mut World, event: Event) {
    let mut reading = Reading::new(node(2, false), world.now());
    reading.events.push(event);
    world.take(reading);
    world.go_on(1, 23.9e6, 0.041);
}

#[test]
fn the_shard_that_differs_is_seen_among_the_others() {
    let world = incident(4);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(80, 12), @r"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others  evenness 0.54
    share of link  full = the link, 25 MB/s  10 s a cell, 4 min  numbers every 2 s
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    ! suspect  features#2   ░░░░░░░░░░░░░░░░░░██████   41 ms 95.6 %    5 % 23.9 MB/s
    o innocent features#3   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s




    ! suspect redis/features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.13:63…
    ");
    insta::assert_snapshot!(stage.drawn(60, 13), @r"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others
    share of link  full = the link, 25 MB/s  30 s a cell, 7 min
    verdict    shard        over time       answer   link    CPU
    o innocent features#0       ░░░░░░░░░░  0.6 ms    4 %    5 %
    o innocent features#1       ░░░░░░░░░░  0.6 ms    8 %    5 %
    ! suspect  features#2       ░░░░░░░░██   41 ms 95.6 %    5 %
    o innocent features#3       ░░░░░░░░░░  0.6 ms   16 %    5 %





    ! suspect redis/features#2 10.0.0.13:6379 +1 replica: 23.9 …
    ");
    insta::assert_snapshot!(stage.drawn(160, 9), @r"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others  evenness 0.54  4 shards
    share of link  full = the link, 25 MB/s  5 s a cell, 3.2 min  numbers every 2 s  left/right: another
    verdict    shard        address          over time                               answer   link    CPU       out        in     ops   slow  memory clients    keys
    o innocent features#0   10.0.0.11:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    o innocent features#1   10.0.0.12:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    ! suspect  features#2   10.0.0.13:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░████████████   41 ms 95.6 %    5 % 23.9 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    o innocent features#3   10.0.0.14:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000

    ! suspect redis/features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.6 ms
    ");
    stage.act(Action::Right);
    insta::assert_snapshot!(stage.drawn(80, 7), @r"
    redis/features  max 41 ms on #2  mean 10.7 ms  68x others  evenness 0.16
    time to answer  full = 50 ms  10 s a cell, 4 min  numbers every 2 s
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    ! suspect  features#2   ░░░░░░░░░░░░░░░░░░▓▓▓▓▓▓   41 ms 95.6 %    5 % 23.9 MB/s
    o innocent features#3   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s
    ");
}

#[test]
fn a_number_that_is_old_is_neither_zero_nor_compared() {
    let mut world = incident(4);
    world.silent = vec![node(0, true)];
    world.go_on(20, 23.9e6, 0.041);
    let mut reading = Reading::new(node(1, true), world.now());
    reading.faults.push(Fault { kind: FaultKind::Unreachable, message: "connection refused".into() });
    world.silent.push(node(1, true));
    world.take(reading);
    world.go_on(1, 23.9e6, 0.041);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(80, 10), @r"
    redis/features  max 95.6 % on #2  mean 55.8 %  6x others  ? 2 not seen
    share of link  full = the link, 25 MB/s  30 s a cell, 7 min  numbers every 2 s
    verdict    shard        over time       answer   link    CPU       out data
    ? unknown  features#0       ░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s 21 s old
    ! suspect  features#1       ░░░░░░░░░░       -      -      -         - refused
    ! suspect  features#2       ░░░░░░░░██   41 ms 95.6 %    5 % 23.9 MB/s fresh
    o innocent features#3       ░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s fresh


    ! suspect redis/features#1 10.0.0.12:6379 +1 replica: unreachable from here: co…
    ");
    stage.panel.open(&cluster().shard(1));
    insta::assert_snapshot!(stage.drawn(80, 9), @r#"
    ! suspect redis/features#1: unreachable from here: connection refused, though t…
    node    address          over time      answer   link    CPU       out data
    primary 10.0.0.12:6379      ░░░░░░░░░░       -      -      -         - refused
    replica 10.0.0.112:6379     ░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s fresh
    ! suspect node-unreachable: unreachable from here: connection refused, though
              the cluster says it is online (low confidence, since 14:11:20)
    evidence  seconds without data 1.5 s, limit 10 s
    or        network-path: a look from another host: only the way from here may be…
    lines 1 to 3 of 17   pagedown: further   pageup: back
    "#);
}

#[test]
fn going_back_shows_what_was_known_then() {
    let world = incident(4);
    let snapshot = world.snapshot().back_to(crate::redis_world::BEGAN + std::time::Duration::from_secs(120));
    let snapshot = snapshot.unwrap();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(80, 8), @r"
    redis/features  max 16 % on #3  mean 10 %  2x others  evenness 0.92  4 shards
    share of link  full = the link, 25 MB/s  5 s a cell, 2 min  left/right: another
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    o innocent features#2     ░░░░░░░░░░░░░░░░░░░░░░  0.7 ms   12 %    5 %    3 MB/s
    o innocent features#3     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s
    ");
}

#[test]
fn every_reason_for_an_empty_panel_is_said() {
    let drawn = |settings: Settings, readings: Vec<Reading>| {
        let mut engine = Engine::new(settings, Baselines::default());
        for reading in readings {
            engine.take(&Input::Reading(reading));
        }
        engine.take(&Input::Tick(Moment(1_000)));
        let snapshot = engine.snapshot().unwrap();
        stage(&snapshot).drawn(70, 3)
    };
    insta::assert_snapshot!(drawn(Settings::default(), vec![]), @r#"
    ? no source: no Redis target is configured
    start with redis://HOST:PORT, or name one in the configuration; any
    node of a cluster will do
    "#);
    insta::assert_snapshot!(drawn(settings(None), vec![]), @r#"
    ? redis/features: connecting, its shards are not known yet
    "#);
    let mut refused = Reading::new(cluster(), Moment(0));
    refused.faults.push(Fault { kind: FaultKind::Unreachable, message: "'10.0.0.1:6379' refuses".into() });
    insta::assert_snapshot!(drawn(settings(None), vec![refused]), @r#"
    ? redis/features: '10.0.0.1:6379' refuses (since 00:00:00)
    "#);
    let unseen = Component { has_source: false, ..Component::new(cluster()) };
    let unseen = Settings { components: vec![unseen], ..Settings::default() };
    insta::assert_snapshot!(drawn(unseen, vec![]), @r#"
    ? redis/features: no source is configured for it
    "#);
}

#[test]
fn the_cursor_stands_on_the_accused_until_it_is_moved() {
    let mut world = World::new(40, settings(Some(25e6)));
    world.go_on(20, 3e6, 0.0007);
    world.go_on(20, 23.9e6, 0.041);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.drawn(80, 12);
    assert!(stage.copied().unwrap().starts_with("redis/features#2 "));
    stage.act(Action::Bottom);
    assert!(stage.drawn(80, 12).contains("features#39"));
    assert!(stage.copied().unwrap().starts_with("redis/features#39 "));
    // Sorted by verdict the accused comes first, and not the first word of the alphabet.
    stage.act(Action::Sort);
    stage.act(Action::Top);
    assert!(stage.copied().unwrap().starts_with("redis/features#2 "));
}

#[test]
fn every_size_can_be_drawn_whatever_is_open() {
    let mut world = World::new(2, settings(Some(25e6)));
    world.go_on(40, 3e6, 0.0007);
    told(&mut world, Event::Scan(scan(ScanState::Paused)));
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.draw_every_size();
    stage.act(Action::Compare);
    stage.act(Action::Down);
    stage.draw_every_size();
    stage.act(Action::Compare);
    stage.draw_every_size();
    stage.act(Action::Back);
    stage.act(Action::Open);
    stage.draw_every_size();
}

#[test]
fn the_screen_is_still_while_nothing_changes() {
    let mut world = World::new(4, settings(Some(25e6)));
    world.go_on(200, 3e6, 0.0007);
    let before = world.snapshot();
    let first = stage(&before).drawn(200, 20);
    world.go_on(4, 3e6, 0.0007);
    let after = world.snapshot();
    assert_eq!(stage(&after).drawn(200, 20), first);
}
