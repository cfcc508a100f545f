//! Our own view of a shard beside the cluster's, and what is no trouble.

use super::*;

#[test]
fn our_own_view_stands_beside_the_clusters_as_far_as_that_still_holds() {
    use headwater_engine::reading::ClusterView;
    let mut world = incident(3);
    let view = |place: usize, owners: u64| ClusterView {
        node: node(place, true),
        says_ok: place != 1,
        known: 6,
        epoch: 3,
        uncovered: vec![(8, 9)],
        owners,
        own: vec![],
        failed: if place == 0 { vec!["10.0.0.13:6379".into()] } else { vec![] },
        suspected: vec![],
        migrating: match place {
            0 => vec![],
            _ => vec![(10, "10.0.0.11:6379".into()), (11, "10.0.0.11:6379".into())],
        },
        importing: vec![],
    };
    for (place, owners) in [(0, 1), (1, 2), (2, 3)] {
        let mut reading = Reading::new(node(place, true), world.now());
        reading.events.push(Event::ClusterView(view(place, owners)));
        if place == 2 {
            reading.faults.push(Fault { kind: FaultKind::Unreachable, message: "connection refused".into() });
            world.silent.push(node(2, true));
        }
        world.take(reading);
    }
    world.go_on(1, 23.9e6, 0.041);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.panel.open(&cluster().shard(2));
    let gone = stage.drawn(120, 60);
    let says = "10.0.0.13:6379: unreachable from here since 14:11:00: connection refused; the cluster says online; 1 of 2";
    assert!(gone.contains(says), "{gone}");
    assert!(!gone.contains("gives 2 slots"), "the last word of a node that is gone is no view:\n{gone}");
    stage.panel.open(&cluster().shard(1));
    let drawn = stage.drawn(120, 60);
    for part in [
        "1 of 2 nodes gives slots to other owners than the rest",
        "1 of 2 nodes calls the state of the cluster not ok",
        "10.0.0.12:6379 gives 2 slots away to 10.0.0.11:6379: 10, 11",
        "no node of the cluster answers for 8-9",
    ] {
        assert!(drawn.contains(part), "'{part}' is not in\n{drawn}");
    }
    // One round of differing views is a failover or a move; the rule says when it is trouble.
    assert!(!drawn.contains("! seen"), "{drawn}");
    world.go_on(35, 1e6, 0.0006);
    let snapshot = world.snapshot();
    let mut stage = Stage { snapshot: &snapshot, ..stage };
    let later = stage.drawn(120, 60);
    assert!(!later.contains("gives 2 slots") && !later.contains("give slots to other"), "too old:\n{later}");
}

#[test]
fn what_a_healthy_server_counts_is_no_trouble() {
    use headwater_engine::metric::{REDIS_FSYNC_DELAYED, REDIS_SAVE_OK};
    use headwater_engine::reading::Value;
    let mut world = incident(3);
    for second in 0..2 {
        let node = node(1, true);
        let mut reading = Reading::new(node.clone(), world.now());
        reading.sample(&node, REDIS_FSYNC_DELAYED, Value::Counter(f64::from(second) * 3.0));
        reading.sample(&node, REDIS_SAVE_OK, Value::Gauge(f64::from(1 - second)));
        world.take(reading);
        world.go_on(1, 1e6, 0.0006);
    }
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.panel.open(&cluster().shard(1));
    let drawn = stage.drawn(120, 60);
    assert!(drawn.contains("appends that waited 3/s") && !drawn.contains("! appends"), "{drawn}");
    // A save that failed is wrong at any time.
    assert!(drawn.contains("! saves   ! last save failed"), "{drawn}");
}

#[test]
fn only_a_cluster_is_said_to_call_its_nodes_anything() {
    let mut world = World::new(2, settings(None));
    world.go_on(3, 1e6, 0.0006);
    let drawn = |world: &World| {
        let snapshot = world.snapshot();
        let mut stage = stage(&snapshot);
        stage.panel.open(&cluster().shard(0));
        stage.drawn(130, 60)
    };
    let unseen = drawn(&world);
    assert!(unseen.contains("the node that was asked for the cluster's shape calls them online"), "{unseen}");
    let mut shape = Reading::new(cluster(), world.now());
    let one = headwater_engine::reading::Topology { clustered: false, ..topology(2) };
    shape.events.push(Event::Topology(one));
    world.take(shape);
    world.go_on(1, 1e6, 0.0006);
    let alone = drawn(&world);
    assert!(alone.contains("both nodes answer us") && !alone.contains("calls them"), "{alone}");
}
