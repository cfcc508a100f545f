use headwater_engine::Settings;
use headwater_engine::metric::REDIS_SLOW_THRESHOLD;
use headwater_engine::reading::{Event, Reading, Value};

use super::*;
use crate::redis_world::{Stage, World, cluster, node, settings, slow};

fn stage(snapshot: &Snapshot) -> Stage<'_> {
    Stage { panel: (ROW.make)(), snapshot }
}

fn threshold(world: &mut World, shard: usize, seconds: f64) {
    let node = node(shard, true);
    let mut reading = Reading::new(node.clone(), world.now());
    reading.sample(&node, REDIS_SLOW_THRESHOLD, Value::Gauge(seconds));
    world.take(reading);
    world.go_on(1, 2e6, 0.0007);
}

fn logged(world: &mut World, shard: usize, entries: Vec<SlowCommand>) {
    let node = node(shard, true);
    let mut reading = Reading::new(node.clone(), world.now());
    reading.events.extend(entries.into_iter().map(Event::SlowCommand));
    world.take(reading);
}

/// A cluster on which a few commands were slow.
fn busy() -> World {
    let mut world = World::new(3, settings(None));
    world.go_on(20, 2e6, 0.0007);
    threshold(&mut world, 0, 0.01);
    threshold(&mut world, 1, 0.01);
    let now = world.now();
    let with_arguments = SlowCommand {
        arguments: vec!["0".into(), "-1".into()],
        ..slow(3, now, "LRANGE", Some("feed:99"), 31)
    };
    let ours =
        SlowCommand { excluded: true, client: "headwater".into(), ..slow(4, now, "CONFIG GET", None, 12) };
    let (one, other) = (Some("user:profile:8812"), Some("user:profile:9"));
    logged(&mut world, 0, vec![slow(1, now, "HGETALL", one, 120), with_arguments]);
    logged(&mut world, 1, vec![slow(1, now, "HGETALL", other, 80), slow(2, now, "KEYS", None, 15), ours]);
    world.go_on(1, 2e6, 0.0007);
    world
}

#[test]
fn entries_stand_in_groups_with_their_share_of_the_time() {
    let snapshot = busy().snapshot();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(80, 12), @r#"
    4 entries in 3 groups, 246 ms, since 14:06:22; 1 by admins or Headwater (-)
    logged from 10 ms on; empty does not mean fast: no waiting, no sending in it
    command        key            count  share   total longest nodes          newest
    HGETALL        user:profile:*     2 81.3 %  200 ms  120 ms 2 nodes      14:06:22
    LRANGE         feed:*             1 12.6 %   31 ms   31 ms features#0   14:06:22
    KEYS                              1  6.1 %   15 ms   15 ms features#1   14:06:22
    - CONFIG GET                      1      -   12 ms   12 ms features#1   14:06:22




    HGETALL user:profile:*: 2 entries, 200 ms (81.3 % of the time), at most 120 ms,…
    "#);
    insta::assert_snapshot!(stage.drawn(60, 12), @r#"
    4 entries in 3 groups, 246 ms, since 14:06:22; 1 by admins…
    logged from 10 ms on; empty does not mean fast: no waiting,…
    command        key              count  share   total longest
    HGETALL        user:profile:*       2 81.3 %  200 ms  120 ms
    LRANGE         feed:*               1 12.6 %   31 ms   31 ms
    KEYS                                1  6.1 %   15 ms   15 ms
    - CONFIG GET                        1      -   12 ms   12 ms




    HGETALL user:profile:*: 2 entries, 200 ms (81.3 % of the…
    "#);
    assert_eq!(
        stage.copied().unwrap(),
        "HGETALL user:profile:*: 2 entries, 200 ms (81.3 % of the time), at most 120 ms, on 2 nodes, newest \
         14:06:22"
    );
}

#[test]
fn a_group_opens_and_all_entries_can_be_listed() {
    let snapshot = busy().snapshot();
    let mut stage = stage(&snapshot);
    stage.act(Action::Open);
    insta::assert_snapshot!(stage.drawn(80, 12), @r#"
    HGETALL user:profile:*: 2 entries, 200 ms (81.3 % of the time), at most 120 ms,…
    logged from 10 ms on; empty does not mean fast: no waiting, no sending in it
          at    took command        key                    node         client
    14:06:22  120 ms HGETALL        user:profile:8812      features#0   ranker
    14:06:22   80 ms HGETALL        user:profile:9         features#1   ranker






    HGETALL user:profile:8812: 120 ms on redis/features#0@10.0.0.11:6379 at…
    "#);
    let shard = Some(cluster().shard(0));
    assert_eq!(stage.act(Action::Open), Outcome::Wants(Intent::Show("shards", shard)));
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    stage.act(Action::Group);
    stage.act(Action::Arguments);
    insta::assert_snapshot!(stage.drawn(120, 12), @r"
    4 entries, 246 ms, since 14:06:22; 1 by admins or Headwater (-)
    logged from 10 ms on; empty does not mean fast: no waiting, no sending in it
          at    took command        key                                           node         client       address
    14:06:22  120 ms HGETALL        user:profile:8812                             features#0   ranker       10.0.0.11:6379
    14:06:22   31 ms LRANGE         feed:99 0 -1                                  features#0   ranker       10.0.0.11:6379
    14:06:22   80 ms HGETALL        user:profile:9                                features#1   ranker       10.0.0.12:6379
    14:06:22   15 ms KEYS                                                         features#1   ranker       10.0.0.12:6379
    14:06:22   12 ms - CONFIG GET                                                 features#1   headwater    10.0.0.12:6379



    HGETALL user:profile:8812: 120 ms on redis/features#0@10.0.0.11:6379 at 14:06:22, by ranker
    ");
    stage.act(Action::Arguments);
    assert!(!stage.drawn(120, 12).contains("0 -1"));
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    assert_eq!(stage.act(Action::Back), Outcome::Ignored);
    stage.panel.open(&cluster().shard(1));
    insta::assert_snapshot!(stage.drawn(80, 10), @r#"
    redis/features#1 alone: 2 entries in 2 groups, 95 ms, since 14:06:22; 1 by…
    logged from 10 ms on; empty does not mean fast: no waiting, no sending in it
    command        key            count  share   total longest nodes          newest
    HGETALL        user:profile:*     1 84.2 %   80 ms   80 ms features#1   14:06:22
    KEYS                              1 15.8 %   15 ms   15 ms features#1   14:06:22
    - CONFIG GET                      1      -   12 ms   12 ms features#1   14:06:22



    HGETALL user:profile:*: 1 entry, 80 ms (84.2 % of the time), at most 80 ms, on…
    "#);
}

#[test]
fn an_empty_log_says_what_it_does_not_prove_and_where_it_was_not_read() {
    let mut world = World::new(3, settings(None));
    world.go_on(3, 2e6, 0.0007);
    let snapshot = world.snapshot();
    insta::assert_snapshot!(stage(&snapshot).drawn(60, 5), @r#"
    no entry in the slow log
    threshold not known (slowlog-log-slower-than); empty does
    not mean fast: no waiting, no sending in it
    "#);
    for shard in 0..2 {
        let mut denied = Reading::new(node(shard, true), world.now());
        let why = "denied to the user 'watcher': ACL SETUSER watcher +slowlog|get".into();
        denied.events.push(Event::Unavailable { what: "SLOWLOG GET".into(), why });
        world.take(denied);
    }
    threshold(&mut world, 0, -1.0);
    threshold(&mut world, 2, 0.01);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    insta::assert_snapshot!(stage.drawn(60, 8), @r#"
    no entry in the slow log
    logged from 10 ms on, off on 1 node; empty does not mean
    fast: no waiting, no sending in it
    ? not read: denied to the user 'watcher': ACL SETUSER
    watcher +slowlog|get: redis/features#0@10.0.0.11:6379
    #1@10.0.0.12:6379
    "#);
    assert!(matches!(stage.act(Action::Arguments), Outcome::Refused(_)));
    assert!(matches!(stage.act(Action::Open), Outcome::Refused(_)));
}

#[test]
fn thresholds_that_differ_or_are_off_are_said() {
    let mut world = World::new(3, settings(None));
    let mut words = |shard, seconds| {
        threshold(&mut world, shard, seconds);
        head::threshold(&world.snapshot()).split(';').next().unwrap().to_owned()
    };
    assert_eq!(words(0, -1.0), "slow logs are off (slowlog-log-slower-than is below 0)");
    assert_eq!(words(1, 0.01), "logged from 10 ms on, off on 1 node");
    assert_eq!(words(0, 0.2), "logged from 10 ms to 200 ms on, by node");
}

#[test]
fn without_redis_it_says_so() {
    let mut engine =
        headwater_engine::Engine::new(Settings::default(), headwater_engine::Baselines::default());
    engine.take(&headwater_engine::Input::Tick(headwater_engine::Moment(0)));
    let snapshot = engine.snapshot().unwrap();
    assert!(stage(&snapshot).drawn(60, 5).starts_with("? no source: no Redis target is configured"));
}

#[test]
fn every_size_can_be_drawn_whatever_is_open() {
    let snapshot = busy().snapshot();
    let mut stage = stage(&snapshot);
    stage.draw_every_size();
    stage.act(Action::Open);
    stage.draw_every_size();
}

#[test]
fn what_was_asked_of_one_groups_entries_does_not_hide_those_of_the_next() {
    let snapshot = busy().snapshot();
    let mut stage = stage(&snapshot);
    for leave in [Action::Back, Action::Group] {
        assert_eq!(stage.act(Action::Open), Outcome::Done);
        let fields = stage.panel.fields();
        stage.panel.set_filter(Filter::parse("nothing-of-this-name", &fields).ok());
        assert!(stage.panel.filter().is_some());
        assert_eq!(stage.act(leave), Outcome::Done);
        assert_eq!(stage.act(Action::Open), Outcome::Done);
        assert!(stage.panel.filter().is_none(), "{leave:?}");
        stage.act(Action::Back);
    }
    let fields = stage.panel.fields();
    stage.panel.set_filter(Filter::parse("nothing-of-this-name", &fields).ok());
    stage.panel.open(&cluster().shard(0));
    assert!(stage.panel.filter().is_none(), "whoever comes from another panel wants to see what is there");
}
