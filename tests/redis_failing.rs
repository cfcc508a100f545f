//! A cluster that fails in every way that can be brought about here: each fault has its row, its sentence and its
//! recovery, and the rest is looked at as before.

mod redis_failing {
    pub(crate) mod desk;
}

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_engine::metric;
use headwater_engine::reading::{ClusterView, FaultKind, NodeHealth, ScanState};
use headwater_engine::{Snapshot, Subject};
use headwater_test_support::{AtEnd, Cluster, Server, ServerRelease};
use redis_failing::desk::{self, Desk, view_of};

/// The node at an address; the deployment may have to be found first.
fn node(snapshot: &Snapshot, address: &str) -> Option<Subject> {
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let mut nodes = shards.flat_map(|shard| &shard.nodes).map(|node| &node.subject);
    nodes.find(|node| node.address() == Some(address)).cloned()
}

/// Who is accused, and of what; not of slow answers, which a machine that does other work too brings about.
fn accused(snapshot: &Snapshot) -> Vec<String> {
    let suspects = snapshot.report.suspects.iter().filter(|suspect| suspect.rule != "slow-to-answer");
    suspects.map(|suspect| format!("{}: {}", suspect.subject, suspect.sentence)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_is_unreachable_from_here_before_its_cluster_says_so_and_its_replica_takes_over()
{
    let mut cluster = Cluster::start_with(3, 1, &["--cluster-node-timeout", "4000"]);
    let (dead, heir) = (cluster.primaries[1].address(), cluster.replicas[1].address());
    let mut desk = Desk::watch(&[&cluster.primaries[0]]);
    desk.until("all six answer", |snapshot| desk::answering(snapshot) == 6).await;
    let before = desk.until("all six tell their view", |snapshot| snapshot.views.len() == 6).await;
    let (dead_node, heir_node) = (node(&before, &dead).unwrap(), node(&before, &heir).unwrap());
    cluster.primaries[1].kill();
    let taken_for_failed = |snapshot: &Snapshot| {
        snapshot.views.iter().any(|(_, view)| view.failed.iter().any(|failed| failed.as_str() == dead))
    };
    let came_first = Cell::new(None);
    let seen = desk
        .until("it is unreachable from here", |snapshot| {
            let is_fault = desk::fault_of(snapshot, &dead_node) == Some(FaultKind::Unreachable);
            if came_first.get().is_none() && (is_fault || taken_for_failed(snapshot)) {
                came_first.set(Some(is_fault));
            }
            desk::fires(snapshot, "node-unreachable", &dead_node)
        })
        .await;
    // Our own view comes first; the cluster's is told beside it, and is later.
    let sentence = desk::detail(&seen, "node-unreachable", &dead_node);
    assert!(sentence.contains("unreachable from here") && sentence.contains(&dead), "{sentence}");
    assert_eq!(desk::fault_of(&seen, &dead_node), Some(FaultKind::Unreachable));
    assert_eq!(came_first.get(), Some(true), "we know it before any other node says so");
    desk.until("another node takes it for failed", taken_for_failed).await;
    let after = desk
        .until("the replica took over", |snapshot| {
            let first = &snapshot.topologies[0].shards[1].nodes[0];
            first.subject == heir_node && first.primary
        })
        .await;
    let numbers = |snapshot: &Snapshot| -> Vec<_> {
        snapshot.topologies[0]
            .shards
            .iter()
            .map(|shard| (shard.subject.clone(), shard.slots.clone()))
            .collect()
    };
    assert_eq!(numbers(&after), numbers(&before), "a failover renames nothing");
    // The server's own list has two masters in this shard now, the dead one among them.
    let listed = format!("{:?}", cluster.primaries[0].run::<redis::Value>(&["CLUSTER", "SHARDS"]));
    assert_eq!(listed.matches("\"master\"").count(), 4, "{listed}");
    let primaries = after.topologies[0].shards[1].nodes.iter().filter(|row| row.primary).count();
    assert_eq!(primaries, 1, "{:#?}", after.topologies[0].shards[1]);
    let row = after.topologies[0].shards[1].nodes.iter().find(|row| row.subject == dead_node).unwrap();
    assert_eq!(row.health, NodeHealth::Failed);
    desk.nobody_else_failed(&[&dead_node]);
    cluster.primaries[1].restart();
    let back = desk
        .until("it is back as a replica, and nothing is held against it", |snapshot| {
            let row = snapshot.topologies[0].shards[1].nodes.iter().find(|row| row.subject == dead_node);
            row.is_some_and(|row| !row.primary && row.health == NodeHealth::Online)
                && desk::fault_of(snapshot, &dead_node).is_none()
                && desk::state(snapshot, "node-unreachable", &dead_node) != "firing"
        })
        .await;
    assert_eq!(numbers(&back), numbers(&before));
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_nobody_serves_are_told_though_every_state_says_ok() {
    let mut cluster = Cluster::start_with(3, 0, &["--cluster-require-full-coverage", "no"]);
    let dead = cluster.primaries[2].address();
    let mut desk = Desk::watch(&[&cluster.primaries[0]]);
    let whole = |view: &ClusterView| view.says_ok && view.uncovered.is_empty();
    desk.until("all are well", |snapshot| {
        snapshot.views.len() == 3 && snapshot.views.iter().all(|(_, view)| whole(view))
    })
    .await;
    cluster.primaries[2].kill();
    let seen = desk
        .until("a third of the slots has nobody", |snapshot| {
            let views = snapshot.views.iter().map(|(_, view)| view);
            views.filter(|view| view.says_ok && view.uncovered == [(10_922, 16_383)]).count() == 2
        })
        .await;
    let living = node(&seen, &cluster.primaries[0].address()).unwrap();
    assert_eq!(view_of(&seen, &living).unwrap().failed, [dead.as_str().into()]);
    cluster.primaries[2].restart();
    desk.until("all are served again", |snapshot| snapshot.views.iter().all(|(_, view)| whole(view))).await;
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_move_under_load_are_told_and_nobody_is_accused() {
    let cluster = Cluster::start(3, 0);
    let (giver, taker) = (&cluster.primaries[0], &cluster.primaries[1]);
    let mut desk = Desk::watch(&[giver]);
    let first = desk.until("all tell their view", |snapshot| snapshot.views.len() == 3).await;
    let (giving, taking) = (node(&first, &giver.address()).unwrap(), node(&first, &taker.address()).unwrap());
    let id = |server: &Server| server.run::<String>(&["CLUSTER", "MYID"]);
    let tag = (0..).map(|number| format!("{{{number}}}")).find(|tag| {
        let slot: u16 = giver.run(&["CLUSTER", "KEYSLOT", tag]);
        slot < 5_000
    });
    let tag = tag.expect("one of them is there");
    let slot: u16 = giver.run(&["CLUSTER", "KEYSLOT", &tag]);
    let slot_word = slot.to_string();
    let is_over = AtomicBool::new(false);
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let _end = AtEnd(|| is_over.store(true, Ordering::Relaxed));
            scope.spawn(|| {
                let mut connection = giver.connect().expect("the server is there");
                let mut number = 0_u32;
                while !is_over.load(Ordering::Relaxed) {
                    // Refusals are part of it: the key may have moved.
                    let _ =
                        redis::cmd("SET").arg(format!("{tag}{number}")).arg("v").query::<()>(&mut connection);
                    number += 1;
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            });
            tokio::runtime::Handle::current().block_on(async {
                taker.run::<()>(&["CLUSTER", "SETSLOT", &slot_word, "IMPORTING", &id(giver)]);
                giver.run::<()>(&["CLUSTER", "SETSLOT", &slot_word, "MIGRATING", &id(taker)]);
                let moving = desk
                    .until("both sides tell of it", |snapshot| {
                        let told = |node: &Subject, side: fn(&ClusterView) -> usize| {
                            view_of(snapshot, node).is_some_and(|view| side(view) == 1)
                        };
                        told(&giving, |view| view.migrating.len())
                            && told(&taking, |view| view.importing.len())
                    })
                    .await;
                let view = view_of(&moving, &giving).unwrap();
                assert_eq!(view.migrating, [(slot, taker.address().as_str().into())]);
                let view = view_of(&moving, &taking).unwrap();
                assert_eq!(view.importing, [(slot, giver.address().as_str().into())]);
                assert!(moving.views.iter().all(|(_, view)| view.says_ok && view.uncovered.is_empty()));
                assert_eq!(accused(&moving), [""; 0], "a slot on the move is no fault");
                let port = taker.port().to_string();
                while let [key, ..] =
                    &giver.run::<Vec<String>>(&["CLUSTER", "GETKEYSINSLOT", &slot_word, "1"])[..]
                {
                    giver.run::<()>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
                }
            });
        });
    });
    // What was written after the last look has to move too.
    let port = taker.port().to_string();
    while let [key, ..] = &giver.run::<Vec<String>>(&["CLUSTER", "GETKEYSINSLOT", &slot_word, "1"])[..] {
        giver.run::<()>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
    }
    for server in [taker, giver, &cluster.primaries[2]] {
        server.run::<()>(&["CLUSTER", "SETSLOT", &slot_word, "NODE", &id(taker)]);
    }
    let done = desk
        .until("it has arrived and all agree", |snapshot| {
            let views: Vec<_> = snapshot.views.iter().map(|(_, view)| view).collect();
            views.iter().all(|view| view.migrating.is_empty() && view.importing.is_empty())
                && views.iter().all(|view| view.owners == views[0].owners)
                && view_of(snapshot, &taking).is_some_and(|view| view.own.contains(&(slot, slot)))
        })
        .await;
    assert_eq!(accused(&done), [""; 0]);
    desk.nobody_else_failed(&[]);
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_disagree_about_an_owner_are_told_apart() {
    // Later releases give a slot back whose new owner does not claim it; this one keeps what it was told.
    let cluster = Cluster::start_release(ServerRelease::Redis62, 3, 0, &[]);
    let mut desk = Desk::watch(&[&cluster.primaries[0]]);
    let agreed = |snapshot: &Snapshot| {
        let first = snapshot.views.first().map(|(_, view)| view.owners);
        snapshot.views.len() == 3 && snapshot.views.iter().all(|(_, view)| Some(view.owners) == first)
    };
    let before = desk.until("all agree", agreed).await;
    // Gossip repairs what an owner with a higher epoch claims: so a slot of the lowest goes to the highest.
    let lines: String = cluster.primaries[0].run(&["CLUSTER", "NODES"]);
    let mut by_epoch: Vec<(u64, String, String)> = lines
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let address = words[1].split('@').next().expect("it has an address").to_owned();
            (words[6].parse().expect("an epoch is a number"), words[0].to_owned(), address)
        })
        .collect();
    by_epoch.sort();
    let server = |address: &str| {
        cluster.primaries.iter().find(|server| server.address() == address).expect("it is one")
    };
    let (lowest, misled, highest) = (&by_epoch[0], &by_epoch[1], &by_epoch[2]);
    let own = view_of(&before, &node(&before, &lowest.2).unwrap()).unwrap().own[0].0.to_string();
    let force = |owner: &str| server(&misled.2).run::<()>(&["CLUSTER", "SETSLOT", &own, "NODE", owner]);
    force(&highest.1);
    let split = desk.until("one of them sees another owner", |snapshot| !agreed(snapshot)).await;
    let of = |address: &str| view_of(&split, &node(&split, address).unwrap()).unwrap().owners;
    assert!(of(&lowest.2) == of(&highest.2) && of(&misled.2) != of(&lowest.2), "{:#?}", split.views);
    assert!(split.views.iter().all(|(_, view)| view.says_ok), "each of them finds all well");
    force(&lowest.1);
    desk.until("they agree again", agreed).await;
    desk.nobody_else_failed(&[]);
    desk.stop().await;
}

/// Options with which a small dump takes seconds to load.
const SLOW_TO_LOAD: &[&str] =
    &["--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024"];

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loads_is_seen_and_refuses_what_it_refuses() {
    let mut server = Server::start(SLOW_TO_LOAD);
    let mut filling = redis::pipe();
    for number in 0..3_000 {
        filling.cmd("SET").arg(format!("key:{number}")).arg("x".repeat(64)).ignore();
    }
    filling.exec(&mut server.connect().unwrap()).unwrap();
    server.run::<()>(&["SAVE"]);
    let mut desk = Desk::watch(&[&server]);
    let first = desk.until("it answers", |snapshot| desk::answering(snapshot) == 1).await;
    let it = node(&first, &server.address()).unwrap();
    tokio::task::block_in_place(|| server.restart());
    let value = |snapshot: &Snapshot| desk::latest(snapshot, &it, metric::REDIS_LOADING);
    desk.until("it says that it loads", |snapshot| value(snapshot) == Some(1.0)).await;
    let shard = it.parent().unwrap();
    desk.scan(&shard);
    let refused = desk
        .until("the scan is refused", |snapshot| {
            snapshot.scans.iter().any(|(_, scan)| matches!(scan.state, ScanState::Stopped(_)))
        })
        .await;
    let ScanState::Stopped(why) = &refused.scans[0].1.state else { unreachable!("it was just stopped") };
    assert!(why.as_str().contains("is loading its data"), "{why}");
    assert_eq!(desk::fault_of(&refused, &it), None, "INFO answers all the while");
    desk.until("it has loaded", |snapshot| value(snapshot) == Some(0.0)).await;
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_blocks_everything_is_named_and_its_end_is_seen() {
    let (server, other) = (Server::start(&["--lua-time-limit", "100"]), Server::start(&[]));
    let mut desk = Desk::watch(&[&server, &other]);
    let first = desk.until("both answer", |snapshot| desk::answering(snapshot) == 2).await;
    let it = node(&first, &server.address()).unwrap();
    std::thread::scope(|scope| {
        // Nothing else ends the script.
        let _end = AtEnd(|| drop(server.try_run::<()>(&["SCRIPT", "KILL"])));
        scope.spawn(|| server.try_run::<()>(&["EVAL", "while true do end", "0"]));
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let busy = desk
                    .until("it is busy", |snapshot| desk::fault_of(snapshot, &it) == Some(FaultKind::Busy))
                    .await;
                let sentence = desk::fault_sentence(&busy, &it);
                assert!(sentence.contains("runs a script") && sentence.contains("SCRIPT KILL"), "{sentence}");
                assert!(sentence.contains(&server.address()) && sentence.contains("INFO"), "{sentence}");
                assert!(!desk::fires(&busy, "node-unreachable", &it), "it answers, if only with a refusal");
            });
        });
    });
    desk.until("it answers again", |snapshot| {
        desk::fault_of(snapshot, &it).is_none() && desk::answering(snapshot) == 2
    })
    .await;
    desk.nobody_else_failed(&[&it]);
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_keeps_us_and_tells_newcomers_so() {
    let server = Server::start(&["--maxclients", "12"]);
    let mut desk = Desk::watch(&[&server]);
    let first = desk.until("it answers", |snapshot| desk::answering(snapshot) == 1).await;
    let it = node(&first, &server.address()).unwrap();
    let mut crowd = vec![];
    while crowd.len() < 20
        && let Ok(mut connection) = server.connect()
        && redis::cmd("PING").query::<String>(&mut connection).is_ok()
    {
        crowd.push(connection);
    }
    assert!((5..12).contains(&crowd.len()), "{} got in", crowd.len());
    let full = desk
        .until("it is full and we are still in", |snapshot| {
            desk::latest(snapshot, &it, metric::REDIS_CLIENTS) == Some(12.0)
                && desk::latest(snapshot, &it, metric::REDIS_CLIENTS_MAX) == Some(12.0)
        })
        .await;
    assert_eq!(desk::fault_of(&full, &it), None);
    let mut newcomer = Desk::watch(&[&server]);
    let out = newcomer
        .until("a newcomer is told", |snapshot| snapshot.sources.iter().any(|source| source.fault.is_some()))
        .await;
    let told = out.sources.iter().find_map(|source| source.fault.as_ref()).expect("it was just there");
    assert_eq!(told.1.kind, FaultKind::Busy);
    assert!(told.1.message.as_str().contains("out of connections: raise maxclients"), "{}", told.1.message);
    desk.nobody_else_failed(&[]);
    drop(crowd);
    newcomer.until("there is room again", |snapshot| desk::answering(snapshot) == 1).await;
    newcomer.stop().await;
    desk.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_that_begin_anew_give_no_rate_and_never_a_negative_one() {
    let mut server = Server::start(&[]);
    let mut desk = Desk::watch(&[&server]);
    let first = desk.until("it answers", |snapshot| desk::answering(snapshot) == 1).await;
    let it = node(&first, &server.address()).unwrap();
    let rates =
        [metric::REDIS_COMMANDS, metric::REDIS_NET_OUT, metric::REDIS_EXEC, metric::REDIS_CONNECTIONS];
    let count = |snapshot: &Snapshot| desk::points(snapshot, &it, metric::REDIS_COMMANDS).len();
    for round in 0..2 {
        for _ in 0..400 {
            server.run::<()>(&["PING"]);
        }
        let before = desk.until("it has a rate", |snapshot| count(snapshot) > 3 + round * 4).await;
        let points = count(&before);
        match round {
            0 => server.run::<()>(&["CONFIG", "RESETSTAT"]),
            // In the middle of a poll or not, as it comes.
            _ => tokio::task::block_in_place(|| server.restart()),
        }
        let after = desk.until("it has a rate again", |snapshot| count(snapshot) > points + 2).await;
        for metric in rates {
            let points = desk::points(&after, &it, metric);
            let sound = |value: &f64| (0.0..1e6).contains(value);
            assert!(points.iter().all(sound), "{}: {points:?}", metric.name());
        }
    }
    desk.stop().await;
}
