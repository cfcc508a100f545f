use headwater_engine::reading::{Event, Fault, FaultKind, Input, KeySize, Reading, Scan, ScanState};
use headwater_engine::settings::Component;
use headwater_engine::{Baselines, Engine, Moment, Settings};

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
        slot: 9,
        kind: "string".into(),
        bytes: 1_800_000,
        elements: Some(1_799_900),
    };
    let shard = cluster().shard(2);
    Scan { shard, node: node(2, false), scanned: 12_400, total: 50_000, state, biggest: vec![key] }
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
    insta::assert_snapshot!(stage.drawn(80, 12), @r#"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others  entropy 0.54
    share of link  full = the link, 25 MB/s  10 s a cell, 4 min  left/right: another
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    ! suspect  features#2   ░░░░░░░░░░░░░░░░░░██████   41 ms 95.6 %    5 % 23.9 MB/s
    o innocent features#3   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s




    ! suspect features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.13:6379, 95…
    "#);
    insta::assert_snapshot!(stage.drawn(60, 13), @r#"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others
    share of link  full = the link, 25 MB/s  30 s a cell, 7 min
    verdict    shard        over time       answer   link    CPU
    o innocent features#0       ░░░░░░░░░░  0.6 ms    4 %    5 %
    o innocent features#1       ░░░░░░░░░░  0.6 ms    8 %    5 %
    ! suspect  features#2       ░░░░░░░░██   41 ms 95.6 %    5 %
    o innocent features#3       ░░░░░░░░░░  0.6 ms   16 %    5 %





    ! suspect features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s a…
    "#);
    insta::assert_snapshot!(stage.drawn(160, 9), @r#"
    redis/features  max 95.6 % on #2  mean 30.9 %  12x others  entropy 0.54  4 shards
    share of link  full = the link, 25 MB/s  5 s a cell, 3.2 min  left/right: another
    verdict    shard        address          over time                               answer   link    CPU       out        in     ops   slow  memory clients    keys
    o innocent features#0   10.0.0.11:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    o innocent features#1   10.0.0.12:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    ! suspect  features#2   10.0.0.13:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░████████████   41 ms 95.6 %    5 % 23.9 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    o innocent features#3   10.0.0.14:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000

    ! suspect features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.6 ms
    "#);
    stage.act(Action::Right);
    insta::assert_snapshot!(stage.drawn(80, 7), @r#"
    redis/features  max 41 ms on #2  mean 10.7 ms  68x others  entropy 0.16
    time to answer  full = 50 ms  10 s a cell, 4 min  left/right: another
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    ! suspect  features#2   ░░░░░░░░░░░░░░░░░░▓▓▓▓▓▓   41 ms 95.6 %    5 % 23.9 MB/s
    o innocent features#3   ░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s
    "#);
}

#[test]
fn one_shard_shows_its_nodes_its_past_and_what_is_said_of_it() {
    let mut world = incident(4);
    told(&mut world, Event::Scan(scan(ScanState::Running)));
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.panel.open(&node(2, true));
    insta::assert_snapshot!(stage.drawn(80, 21), @r#"
    ! suspect redis/features#2: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s …
    node    address          over time        answer   link    CPU       out     ops
    primary 10.0.0.13:6379        ░░░░░░░░██   41 ms 95.6 %    5 % 23.9 MB/s  1420/s
    replica 10.0.0.113:6379       ░░░░░░░░░░  0.6 ms   12 %    5 %    3 MB/s  1420/s
    share of link  full = the link, 25 MB/s  5 s a cell, 6.7 min
                                                                        █▆▆▆▆▆▆▆▆▆▆▆
                                                                        ████████████
                                                                        ████████████
                                                                        ████████████
                        ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅████████████
    14:04:20                                                                14:11:01
    scan      █████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s
              link; answers in 41 ms, its peers in 0.6 ms (low confidence, since
              14:10:01)
    keys      user:profile:8812 1.8 MB on redis/features#2, slot 9: big string
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
              redis.answer_time 41 ms, its peers 0.6 ms
              redis.busy 5 %
              bytes of user:profile:8812 1.8 MB, limit 524 kB
    lines 1 to 6 of 19   pagedown: further   pageup: back
    "#);
    insta::assert_snapshot!(stage.drawn(60, 13), @r#"
    ! suspect redis/features#2: 23.9 MB/s at 10.0.0.13:6379, 95…
    node    address          over time      answer   link    CPU
    primary 10.0.0.13:6379      ░░░░░░░░██   41 ms 95.6 %    5 %
    replica 10.0.0.113:6379     ░░░░░░░░░░  0.6 ms   12 %    5 %
    scan      ████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6
              % of its 25 MB/s link; answers in 41 ms, its peers
              in 0.6 ms (low confidence, since 14:10:01)
    keys      user:profile:8812 1.8 MB on redis/features#2, slot
              9: big string
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s,
              declared 25 MB/s
    lines 1 to 3 of 19   pagedown: further   pageup: back
    "#);
    stage.act(Action::PageDown);
    insta::assert_snapshot!(stage.drawn(80, 21), @r#"
    ! suspect redis/features#2: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s …
    node    address          over time        answer   link    CPU       out     ops
    primary 10.0.0.13:6379        ░░░░░░░░██   41 ms 95.6 %    5 % 23.9 MB/s  1420/s
    replica 10.0.0.113:6379       ░░░░░░░░░░  0.6 ms   12 %    5 %    3 MB/s  1420/s
    share of link  full = the link, 25 MB/s  5 s a cell, 6.7 min
                                                                        █▆▆▆▆▆▆▆▆▆▆▆
                                                                        ████████████
                                                                        ████████████
                                                                        ████████████
                        ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅████████████
    14:04:20                                                                14:11:01
    scan      █████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
              bytes of user:profile:8812 1.8 MB, limit 524 kB
    big keys  running, 12400 of 50000 keys (24 %) on 10.0.0.113:6379; p: pause or go
              on, x: end
              1.8 MB user:profile:8812 string, slot 9
    slow log  no entry is known: commands may still be slow below its threshold, or
              wait
    commands  share of time: get 1.8 % at 1400/s
    X firing  shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s…
    lines 6 to 11 of 19   pagedown: further   pageup: back
    "#);
    insta::assert_snapshot!(stage.drawn(160, 40), @r#"
    ! suspect redis/features#2: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.6 ms
    node    address          over time                                               answer   link    CPU       out        in     ops   slow  memory clients    keys
    primary 10.0.0.13:6379   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░████████████   41 ms 95.6 %    5 % 23.9 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    replica 10.0.0.113:6379  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   12 %    5 %    3 MB/s  120 kB/s  1420/s    0/s  212 MB      24   50000
    share of link  full = the link, 25 MB/s  5 s a cell, 13.3 min  left/right: another
                                                                                                                                                        █▄▄▄▄▄▄▄▄▄▄▄
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                                                                        ████████████
                                                                                                        ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂████████████
                                                                                                        ████████████████████████████████████████████████████████████
    13:57:40                                                                                                                                                14:11:01
    scan      █████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.6 ms (low confidence, since 14:10:01)
    keys      user:profile:8812 1.8 MB on redis/features#2, slot 9: big string
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
              redis.answer_time 41 ms, its peers 0.6 ms
              redis.busy 5 %
              bytes of user:profile:8812 1.8 MB, limit 524 kB
    big keys  running, 12400 of 50000 keys (24 %) on 10.0.0.113:6379; p: pause or go on, x: end
              1.8 MB user:profile:8812 string, slot 9
    slow log  no entry is known: commands may still be slow below its threshold, or wait
    commands  share of time: get 1.8 % at 1400/s
    X firing  shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.6 ms
    X firing  slow-to-answer: answers in 41 ms, its peers in 0.6 ms
    X firing  big-key: user:profile:8812 holds 1.8 MB, critical
    o clear   node-unreachable (10.0.0.113:6379): answers in 0.6 ms
    o clear   node-unreachable (10.0.0.13:6379): answers in 41 ms
    o clear   shard-saturated: busiest node uses 5 % of its executing thread
    o clear   shard-hot: 5 % busy, the others' median 5 %
    o clear   slow-commands: 0 entries of at least 10 ms in 10 min (the log sees execution alone)
    slots     4 of 16384: 8-11
    "#);
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    assert_eq!(stage.act(Action::Back), Outcome::Ignored);
    assert!(stage.copied().unwrap().starts_with("redis/features#2 10.0.0.13:6379 suspect: 23.9 MB/s"));
}

#[test]
fn two_shards_stand_beside_each_other() {
    let world = incident(4);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.drawn(80, 12);
    assert_eq!(stage.act(Action::Compare), Outcome::Done);
    assert!(stage.drawn(80, 12).contains("*features#2"));
    stage.act(Action::Up);
    stage.act(Action::Compare);
    insta::assert_snapshot!(stage.drawn(80, 16), @r#"
    ! suspect  A = features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.13:637…
    o innocent B = features#1 10.0.0.12:6379 +1 replica: busiest node uses 5 % of i…
    share of link  full = the link, 25 MB/s  5 s a cell, 6.5 min
    A                   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░████████████
    B                   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░

    number                     A           B    A / B
    share of link         95.6 %         8 %      12x
    time to answer         41 ms      0.6 ms      68x
    CPU                      5 %         5 %       1x
    bytes out          23.9 MB/s      2 MB/s      12x
    bytes in            120 kB/s    120 kB/s       1x
    commands              1420/s      1420/s       1x
    slow commands            0/s         0/s        -
    memory                212 MB      212 MB       1x
    clients                   24          24       1x
    "#);
    stage.act(Action::Down);
    assert_eq!(
        stage.copied().unwrap(),
        "redis/features#2 beside redis/features#1: time to answer 41 ms and 0.6 ms, 68x"
    );
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    assert!(!stage.drawn(80, 12).contains('*'));
}

#[test]
fn a_scan_is_asked_for_with_its_cost_and_steered_while_it_runs() {
    let mut world = incident(4);
    let shard = cluster().shard(2);
    {
        let snapshot = world.snapshot();
        let mut stage = stage(&snapshot);
        stage.panel.open(&shard);
        let Outcome::Wants(Intent::Ask(question, effect)) = stage.act(Action::Scan) else { panic!() };
        insta::assert_snapshot!(question, @r#"
    scan redis/features#2 for big keys? reads only; at most 1 % of a core of its replica 10.0.0.113:6379; looks at 50000 keys, for at most 10 min
    "#);
        assert_eq!(effect, Effect::Scan(shard.clone()));
        assert!(matches!(stage.act(Action::PauseScan), Outcome::Refused(_)));
        let then = snapshot.back_to(snapshot.at - std::time::Duration::from_secs(30)).unwrap();
        let mut past = Stage { panel: (ROW.make)(), snapshot: &then };
        assert_eq!(
            past.act(Action::Scan),
            Outcome::Refused("this is the past: return to the present first (L)".into())
        );
    }
    for (state, is_over) in [
        (ScanState::Running, false),
        (ScanState::Paused, false),
        (ScanState::Stopped("the budget is used up".into()), true),
        (ScanState::Complete, true),
    ] {
        told(&mut world, Event::Scan(scan(state)));
        let snapshot = world.snapshot();
        let mut stage = stage(&snapshot);
        stage.panel.open(&shard);
        assert_eq!(matches!(stage.act(Action::Scan), Outcome::Refused(_)), !is_over);
        assert_eq!(matches!(stage.act(Action::CancelScan), Outcome::Refused(_)), is_over);
        assert!(stage.drawn(100, 40).contains("user:profile:8812"));
    }
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
    insta::assert_snapshot!(stage.drawn(80, 10), @r#"
    redis/features  max 95.6 % on #2  mean 39.9 %  8x others  ? 1 not seen
    share of link  full = the link, 25 MB/s  30 s a cell, 7 min  left/right: another
    verdict    shard        over time       answer   link    CPU       out data
    ? unknown  features#0       ░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s 21 s old
    ! suspect  features#1       ░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s refused
    ! suspect  features#2       ░░░░░░░░██   41 ms 95.6 %    5 % 23.9 MB/s fresh
    o innocent features#3       ░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s fresh


    ! suspect features#1 10.0.0.12:6379 +1 replica: unreachable from here: connecti…
    "#);
    stage.panel.open(&cluster().shard(1));
    insta::assert_snapshot!(stage.drawn(80, 9), @r#"
    ! suspect redis/features#1: unreachable from here: connection refused, though t…
    node    address          over time      answer   link    CPU       out data
    primary 10.0.0.12:6379      ░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s refused
    replica 10.0.0.112:6379     ░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s fresh
    ! suspect node-unreachable: unreachable from here: connection refused, though
              the cluster says it is online (low confidence, since 14:11:20)
    evidence  seconds without data 1.5 s, limit 10 s
    or        network-path: a look from another host: only the way from here may be…
    lines 1 to 3 of 15   pagedown: further   pageup: back
    "#);
}

#[test]
fn going_back_shows_what_was_known_then() {
    let world = incident(4);
    let snapshot = world.snapshot().back_to(crate::redis_world::BEGAN + std::time::Duration::from_secs(120));
    let snapshot = snapshot.unwrap();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(80, 8), @r#"
    redis/features  max 16 % on #3  mean 10 %  2x others  entropy 0.92  4 shards
    share of link  full = the link, 25 MB/s  5 s a cell, 2 min  left/right: another
    verdict    shard        over time                 answer   link    CPU       out
    o innocent features#0     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    4 %    5 %    1 MB/s
    o innocent features#1     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms    8 %    5 %    2 MB/s
    o innocent features#2     ░░░░░░░░░░░░░░░░░░░░░░  0.7 ms   12 %    5 %    3 MB/s
    o innocent features#3     ░░░░░░░░░░░░░░░░░░░░░░  0.6 ms   16 %    5 %    4 MB/s
    "#);
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
fn a_standalone_server_is_one_shard_and_deployments_stay_apart() {
    let mut world = World::new(3, settings(None));
    let mut shape = Reading::new("redis/sessions".parse().unwrap(), world.now());
    let mut one = topology(1);
    one.cluster = "redis/sessions".parse().unwrap();
    one.clustered = false;
    one.shards[0].subject = one.cluster.shard(0);
    one.shards[0].nodes.clear();
    shape.events.push(Event::Topology(one));
    world.take(shape);
    world.go_on(60, 2e6, 0.0007);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    for _ in 0..3 {
        stage.act(Action::Sort);
    }
    insta::assert_snapshot!(stage.drawn(80, 12), @r#"
    redis/features  max 0.7 ms on #2  mean 0.63 ms  1.2x others  entropy 1.00
    redis/sessions  ? time to answer not seen on any shard  1 shard
    time to answer  full = 5 ms  5 s a cell, 105 s  left/right: another
    verdict    shard        over time              answer    CPU       out data
    o innocent features#0            ░░░░░░░░░░░░  0.6 ms    5 %    1 MB/s fresh
    o innocent features#1            ░░░░░░░░░░░░  0.6 ms    5 %    2 MB/s fresh
    o innocent features#2            ░░░░░░░░░░░░  0.7 ms    5 %    2 MB/s fresh
    ? unknown  sessions#0                               -      -         - no data



    o innocent features#0 10.0.0.11:6379 +1 replica: busiest node uses 5 % of its e…
    "#);
    stage.panel.open(&"redis/sessions#0".parse().unwrap());
    stage.draw_every_size();
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
