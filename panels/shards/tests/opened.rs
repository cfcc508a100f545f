//! One shard, two beside each other, and a scan.

use super::*;

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
    scan      ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  24 %
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s
              link; answers in 41 ms, its peers in 0.6 ms (low confidence, since
              14:10:01)
    keys      user:profile:8812 1.8 MB on redis/features#2, slot 9: big string
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
              redis.answer_time 41 ms, its peers 0.6 ms
              redis.cpu.main_thread 5 %
              bytes of user:profile:8812 1.8 MB, limit 524 kB
    lines 1 to 6 of 24   pagedown: further   pageup: back
    "#);
    insta::assert_snapshot!(stage.drawn(60, 13), @r#"
    ! suspect redis/features#2: 23.9 MB/s at 10.0.0.13:6379, 95…
    node    address          over time      answer   link    CPU
    primary 10.0.0.13:6379      ░░░░░░░░██   41 ms 95.6 %    5 %
    replica 10.0.0.113:6379     ░░░░░░░░░░  0.6 ms   12 %    5 %
    scan      ██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  24 %
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6
              % of its 25 MB/s link; answers in 41 ms, its peers
              in 0.6 ms (low confidence, since 14:10:01)
    keys      user:profile:8812 1.8 MB on redis/features#2, slot
              9: big string
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s,
              declared 25 MB/s
    lines 1 to 3 of 24   pagedown: further   pageup: back
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
    scan      ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  24 %
              bytes of user:profile:8812 1.8 MB, limit 524 kB
    big keys  running, 12400 of 50000 keys (24 %) on 10.0.0.113:6379; p: pause or go
              on, x: end
              1.8 MB user:profile:8812 string, slot 9
    hot keys  not searched for
    seen      both nodes answer us, and the node that was asked for the cluster's
              shape calls them online
    commands  get 1.8 % of the time at 1400/s
    lines 6 to 11 of 24   pagedown: further   pageup: back
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
    scan      ███████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  24 %
    ! suspect shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s    slow log  no entry is known: commands may still be slow below its threshold, or
              link; answers in 41 ms, its peers in 0.6 ms (low confidence, since               wait
              14:10:01)                                                              X firing  shard-bandwidth: 23.9 MB/s at 10.0.0.13:6379, 95.6 % of its 25 MB/s
    keys      user:profile:8812 1.8 MB on redis/features#2, slot 9: big string                 link; answers in 41 ms, its peers in 0.6 ms
    evidence  redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s          X firing  slow-to-answer: answers in 41 ms, its peers in 0.6 ms
              redis.answer_time 41 ms, its peers 0.6 ms                              X firing  big-key: user:profile:8812 holds 1.8 MB, critical
              redis.cpu.main_thread 5 %                                              ? unknown co-located-keys: user:profile:8812 is big; no hot key is known
              bytes of user:profile:8812 1.8 MB, limit 524 kB                        o clear   node-unreachable, fork-stall, expiry-herd, shard-saturated,
    big keys  running, 12400 of 50000 keys (24 %) on 10.0.0.113:6379; p: pause or              shard-hot, slow-commands, hot-key, memory-high, evicting,
              go on, x: end                                                                    connections-high, replication-broken
              1.8 MB user:profile:8812 string, slot 9
    hot keys  not searched for
    seen      both nodes answer us, and the node that was asked for the cluster's
              shape calls them online
    commands  get 1.8 % of the time at 1400/s
    clients   connected 24
    memory    used 212 MB, evicted 0/s
    saves     last fork 4 ms, fork per GB 18.9 ms, forks 0/s
    replicas  replicas connected 1
    expiry    expired 12/s, cycles cut short 0/s
    keys      keys 50000
    slots     4096 of 16384: 8192-12287
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
    ! suspect  A = redis/features#2 10.0.0.13:6379 +1 replica: 23.9 MB/s at 10.0.0.…
    o innocent B = redis/features#1 10.0.0.12:6379 +1 replica: no fork that anybody…
    share of link  full = the link, 25 MB/s  5 s a cell, 6.5 min
    A                   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░████████████
    B                   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░

    number                                  A                B   A / B differs
    share of link                      95.6 %              8 %     12x ! A
    time to answer                      41 ms           0.6 ms     68x ! A
    CPU                                   5 %              5 %      1x
    bytes out                       23.9 MB/s           2 MB/s     12x ! A
    bytes in                         120 kB/s         120 kB/s      1x
    commands                           1420/s           1420/s      1x
    slow commands                         0/s              0/s       -
    memory                             212 MB           212 MB      1x
    clients                                24               24      1x
    "#);
    let named = stage.with(|panel, view| panel.short(Action::Open, view));
    assert_eq!(named, None, "a number has no page, and no key is offered for one");
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
        past.panel.open(&shard);
        let drawn = past.drawn(120, 40);
        assert!(drawn.contains("no scan was known at this moment"), "{drawn}");
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
fn no_link_is_fuller_than_full() {
    let mut world = incident(4);
    world.go_on(10, 27e6, 0.041);
    let drawn = stage(&world.snapshot()).drawn(80, 12);
    let row = drawn.lines().find(|line| line.contains("suspect  features#2")).unwrap().to_owned();
    assert!(row.contains(" 100 % ") && row.contains("27 MB/s"), "{row}");
    assert!(drawn.contains("max 100 % on #2") && !drawn.contains("108 %"), "{drawn}");
}

#[test]
fn everything_of_a_shard_is_on_one_screen_what_is_in_trouble_first() {
    use crate::example;
    let mut world = example::World::new();
    world.know_keys(ScanState::Complete, ScanState::Complete);
    world.know_commands(80);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.panel.open(&example::subject("redis/features#2"));
    insta::assert_snapshot!("drilled-160x48", stage.drawn(160, 48));
    insta::assert_snapshot!("drilled-80x24", stage.drawn(80, 22));
    stage.act(Action::Back);
    stage.act(Action::Bottom);
    stage.act(Action::Compare);
    stage.act(Action::Up);
    stage.act(Action::Compare);
    insta::assert_snapshot!("compared-160x48", stage.drawn(160, 46));
    insta::assert_snapshot!("compared-80x24", stage.drawn(80, 22));
}
