//! Several deployments, none, and what the overview says of one.

use super::*;

#[test]
fn the_fullest_shard_is_the_one_of_the_list_and_what_was_not_seen_is_counted() {
    let mut world = incident(4);
    world.silent = vec![node(0, true)];
    world.go_on(20, 23.9e6, 0.041);
    let snapshot = world.snapshot();
    let loads = loads(&snapshot, &cluster());
    let link = loads.iter().find(|load| load.word == "link").unwrap();
    assert_eq!((link.seen, link.shards), (3, 4));
    let drawn = stage(&snapshot).drawn(80, 10);
    assert!((link.max - 0.956).abs() < 1e-6 && drawn.contains("max 95.6 % on #2"), "{link:?} {drawn}");
    assert!((link.mean - 0.3987).abs() < 1e-3 && drawn.contains("mean 39.9 %"), "{link:?} {drawn}");
    let cpu = loads.iter().find(|load| load.word == "cpu").unwrap();
    assert!((cpu.max - 0.05).abs() < 1e-6, "{cpu:?}");
    assert_eq!(super::loads(&snapshot, &"redis/sessions".parse().unwrap()), []);
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
    redis/features  max 0.7 ms on #2  mean 0.63 ms  1.2x others  evenness 1.00
    redis/sessions  ? time to answer not seen on any shard  1 shard
    time to answer  full = 5 ms  5 s a cell, 105 s  numbers every 2 s
    verdict    shard        over time              answer    CPU       out data
    o innocent features#0            ░░░░░░░░░░░░  0.6 ms    5 %    1 MB/s fresh
    o innocent features#1            ░░░░░░░░░░░░  0.6 ms    5 %    2 MB/s fresh
    o innocent features#2            ░░░░░░░░░░░░  0.7 ms    5 %    2 MB/s fresh
    ? unknown  sessions#0                               -      -         - no data



    o innocent redis/features#0 10.0.0.11:6379 +1 replica: no fork that anybody fel…
    "#);
    stage.panel.open(&"redis/sessions#0".parse().unwrap());
    stage.draw_every_size();
}
