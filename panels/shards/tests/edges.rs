//! Few shards, little room.

use super::*;

#[test]
fn a_link_is_named_in_figures_only_where_all_have_the_same() {
    let mut settings = settings(Some(25e6));
    let mut other = Component::new("redis/sessions".parse().unwrap());
    other.link = Some(10e6);
    settings.components.push(other);
    let mut world = World::new(2, settings);
    let mut shape = Reading::new("redis/sessions".parse().unwrap(), world.now());
    let mut one = topology(1);
    one.cluster = "redis/sessions".parse().unwrap();
    one.shards[0].subject = one.cluster.shard(0);
    one.shards[0].nodes.clear();
    world.go_on(5, 2e6, 0.0007);
    assert!(stage(&world.snapshot()).drawn(100, 12).contains("full = the link, 25 MB/s"));
    shape.events.push(Event::Topology(one));
    world.take(shape);
    world.go_on(5, 2e6, 0.0007);
    let drawn = stage(&world.snapshot()).drawn(100, 12);
    assert!(drawn.contains("full = its link "), "{drawn}");
}

#[test]
fn with_no_shard_there_is_nothing_to_compare() {
    let mut world = World::new(0, settings(None));
    world.go_on(1, 0.0, 0.0);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    assert_eq!(stage.act(Action::Compare), Outcome::Refused("no shard is known".to_owned()));
}

#[test]
fn the_name_comes_first_on_a_tiny_screen() {
    let world = incident(4);
    let snapshot = world.snapshot();
    let text = stage(&snapshot).drawn(12, 3);
    assert!(text.contains("! features#2"), "{text}");
    let text = stage(&snapshot).drawn(10, 3);
    assert!(text.contains("! featu~#2"), "{text}");
}

#[test]
fn a_long_name_gives_way_to_its_number_also_beside_a_mark() {
    let mut world = World::new(1, settings(None));
    let mut shape = Reading::new("redis/ranker-prod-features".parse().unwrap(), world.now());
    let mut other = topology(1);
    other.cluster = "redis/ranker-prod-features".parse().unwrap();
    other.shards[0].subject = other.cluster.shard(0);
    other.shards[0].nodes.clear();
    shape.events.push(Event::Topology(other));
    world.take(shape);
    world.go_on(5, 2e6, 0.0007);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    let drawn = stage.drawn(100, 12);
    assert!(drawn.contains(" ranker-pr~#0 "), "{drawn}");
    stage.act(Action::Bottom);
    stage.act(Action::Compare);
    let drawn = stage.drawn(100, 12);
    assert!(drawn.contains(" *ranker-p~#0 "), "{drawn}");
    let drawn = stage.drawn(12, 4);
    assert!(drawn.contains("~#0"), "{drawn}");
}
