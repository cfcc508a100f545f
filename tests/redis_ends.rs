//! How scans and searches for hot keys end: nothing is left running, nothing of others is ended, and nothing is said wrongly.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget, ScanHandle, SearchBudget};
use headwater_engine::reading::{Event, HotSearch, KeyMethod, Reading, Scan, ScanState};
use headwater_engine::{Kind, Subject};
use headwater_test_support::stand_in::{StandIn, array, bulk, error, integer};
use headwater_test_support::{PATIENCE, Readings, Server, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

fn search_of(reading: &Reading) -> Option<&HotSearch> {
    reading.events.iter().find_map(|event| match event {
        Event::HotSearch(search) => Some(search),
        _ => None,
    })
}

async fn until_ended(readings: &mut Readings) -> HotSearch {
    let has_ended = |reading: &Reading| search_of(reading).is_some_and(|search| search.state.has_ended());
    let reading = readings.until("the search has ended", has_ended).await;
    search_of(&reading).expect("it was just there").clone()
}

async fn watch(address: String) -> (RedisTarget, Readings, Subject) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![address]);
    let target = RedisTarget::start(spec, Duration::from_secs(1), outlet);
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    (target, readings, topology.shards[0].subject.clone())
}

async fn search(address: String, method: KeyMethod) -> (RedisTarget, Readings, ScanHandle) {
    let (target, readings, shard) = watch(address).await;
    let handle = target.search(&shard, method, SearchBudget::default()).expect("the shard is known");
    (target, readings, handle)
}

async fn until_scanned(readings: &mut Readings) -> Scan {
    let scan_of = |reading: &Reading| {
        reading.events.iter().find_map(|event| match event {
            Event::Scan(scan) if scan.state.has_ended() => Some(scan.clone()),
            _ => None,
        })
    };
    let reading = readings.until("the scan has ended", |reading| scan_of(reading).is_some()).await;
    scan_of(&reading).expect("it was just there")
}

/// A primary of this release as INFO tells it; what is not asked of it here is unknown to it.
fn stand_in(release: &str, more: impl Fn(&[String]) -> Option<Vec<u8>> + Send + Sync + 'static) -> StandIn {
    let info = format!("redis_version:{release}\r\nrun_id:1\r\nrole:master\r\n");
    StandIn::alone(move |words| match words[0].as_str() {
        "INFO" => Some(bulk(&info)),
        "PING" => Some(b"+PONG\r\n".to_vec()),
        _ => more(words),
    })
}

/// HOTKEYS GET of a count that began at this time.
fn counted(since: i64) -> Vec<u8> {
    let numbers = [("tracking-active", 1), ("sample-ratio", 1), ("collection-start-time-unix-ms", since)];
    array(&numbers.iter().flat_map(|(name, number)| [bulk(name), integer(*number)]).collect::<Vec<_>>())
}

/// A server that counts for us from the time 1 on; the count of somebody else begins at 2, after so many looks of ours.
fn counting(others_after: usize, start_takes: Duration) -> StandIn {
    let (since, looks) = (AtomicI64::new(0), AtomicUsize::new(0));
    stand_in("8.6.0", move |words| {
        if words[0] != "HOTKEYS" {
            return None;
        }
        let is_on = since.load(Ordering::Relaxed) > 0;
        Some(match words[1].as_str() {
            "START" => {
                std::thread::sleep(start_takes);
                since.store(1, Ordering::Relaxed);
                b"+OK\r\n".to_vec()
            }
            "GET" if is_on => {
                if looks.fetch_add(1, Ordering::Relaxed) >= others_after {
                    since.store(2, Ordering::Relaxed);
                }
                counted(since.load(Ordering::Relaxed))
            }
            "GET" => b"$-1\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_somebody_else_began_after_ours_is_not_stopped() {
    // Seen at the first look after START; and only when ours is to be stopped.
    for (others_after, is_cancelled) in [(1, false), (1, true)] {
        let server = counting(others_after, Duration::ZERO);
        let (_target, mut readings, handle) = search(server.address(), KeyMethod::Hotkeys).await;
        if is_cancelled {
            let is_running =
                |reading: &Reading| search_of(reading).is_some_and(|search| search.seconds_in_all > 0.0);
            readings.until("it counts", is_running).await;
            handle.cancel.cancel();
        }
        let search = until_ended(&mut readings).await;
        assert!(matches!(search.state, ScanState::Stopped(_)), "{:?}", search.state);
        handle.task.await.expect("the search does not panic");
        assert_eq!((server.asked("HOTKEYS START"), server.asked("HOTKEYS STOP")), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_whose_beginning_was_not_heard_yet_is_stopped() {
    let server = counting(usize::MAX, Duration::from_millis(300));
    let (_target, mut readings, handle) = search(server.address(), KeyMethod::Hotkeys).await;
    wait_until("it is asked to count", || server.asked("HOTKEYS START") == 1);
    handle.cancel.cancel();
    until_ended(&mut readings).await;
    assert_eq!(server.asked("HOTKEYS STOP"), 1);
}

fn scan_of(keys: &[&str]) -> Vec<u8> {
    array(&[bulk("0"), array(&keys.iter().map(|key| bulk(key)).collect::<Vec<_>>())])
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_moving_are_passed_over() {
    let server = stand_in("7.0.15", |words| match words[0].as_str() {
        "SCAN" => Some(scan_of(&["moved", "going", "split", "hot"])),
        "OBJECT" => Some(match words[2].to_lowercase().as_str() {
            "moved" => error("MOVED 1 10.0.0.1:1"),
            "going" => error("ASK 1 10.0.0.1:1"),
            "split" => error("TRYAGAIN Multiple keys request during rehashing of slot"),
            _ => integer(200),
        }),
        _ => None,
    });
    let (_target, mut readings, _handle) = search(server.address(), KeyMethod::Frequencies).await;
    let search = until_ended(&mut readings).await;
    assert_eq!(search.state, ScanState::Complete);
    assert_eq!((search.keys.len(), search.keys[0].frequency), (1, Some(200)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_as_what_it_is_and_asked_for_once() {
    let refusals = [
        ("ERR unknown command 'OBJECT'", "does not know OBJECT FREQ"),
        ("NOPERM this user has no permissions to run the 'object|freq' command", "+object|freq"),
        ("ERR An LFU maxmemory policy is not selected, access frequency not tracked.", "LFU kind"),
    ];
    for (said, words) in refusals {
        let server = stand_in("7.0.15", move |asked| match asked[0].as_str() {
            "SCAN" => Some(scan_of(&["a", "b", "c", "d"])),
            "OBJECT" => Some(error(said)),
            _ => None,
        });
        let (_target, mut readings, _handle) = search(server.address(), KeyMethod::Frequencies).await;
        let search = until_ended(&mut readings).await;
        let ScanState::Stopped(why) = &search.state else { panic!("{:?}", search.state) };
        assert!(why.as_str().contains(words), "{said}: {why}");
        assert_eq!(server.asked("OBJECT"), 1, "each refusal is logged at the server");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_hot_slots_are_asked_for_once_when_that_is_refused() {
    let calls = AtomicI64::new(0);
    let server = stand_in("8.2.3", move |words| {
        let spent = 1_000 * calls.fetch_add(1, Ordering::Relaxed);
        let slot = |slot| {
            let counts = [bulk("key-count"), integer(3), bulk("cpu-usec"), integer(spent)];
            array(&[integer(slot), array(&counts)])
        };
        match (words[0].as_str(), words.get(1).map(String::as_str)) {
            ("CLUSTER", Some("SLOT-STATS")) => Some(array(&[slot(1), slot(2), slot(3)])),
            ("CLUSTER", Some("GETKEYSINSLOT")) => Some(error("NOPERM no permissions")),
            _ => None,
        }
    });
    let (_target, mut readings, _handle) = search(server.address(), KeyMethod::SlotStats).await;
    let search = until_ended(&mut readings).await;
    assert_eq!((&search.state, search.slots.len()), (&ScanState::Complete, 3));
    assert_eq!(server.asked("CLUSTER GETKEYSINSLOT"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_may_not_ask_for_sizes_asks_for_one_and_has_looked_at_no_key() {
    let server = stand_in("7.0.15", |words| match words[0].as_str() {
        "SCAN" => Some(scan_of(&["a", "b", "c", "d"])),
        "MEMORY" => Some(error("NOPERM no permissions")),
        _ => None,
    });
    let (target, mut readings, shard) = watch(server.address()).await;
    let handle = target.scan(&shard, ScanBudget::default()).expect("the shard is known");
    let scan = until_scanned(&mut readings).await;
    assert!(matches!(&scan.state, ScanState::Stopped(why) if why.as_str().contains("+memory|usage")));
    assert_eq!((scan.scanned, server.asked("MEMORY USAGE")), (0, 1));
    handle.task.await.expect("the scan does not panic");
    assert!(target.resume(&shard, ScanBudget::default()).is_none(), "there is nothing to go on with");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_scan_does_not_wait_for_a_node_that_hangs() {
    let server = Server::start(&[]);
    let mut pipeline = redis::pipe();
    for key in 0..2_000 {
        pipeline.cmd("SET").arg(format!("k{key}")).arg("v".repeat(20_000)).ignore();
    }
    pipeline.exec(&mut server.connect().unwrap()).unwrap();
    let (target, mut readings, shard) = watch(server.address()).await;
    // So slow that it is not over when it is cancelled.
    let budget = ScanBudget { core_share: 0.000_1, ..ScanBudget::default() };
    let handle = target.scan(&shard, budget).expect("the shard is known");
    let has_begun = |reading: &Reading| {
        reading.events.iter().any(|event| matches!(event, Event::Scan(scan) if scan.scanned > 0))
    };
    readings.until("it has begun", has_begun).await;
    server.pause();
    handle.cancel.cancel();
    let scan = until_scanned(&mut readings).await;
    server.resume();
    assert!(
        matches!(&scan.state, ScanState::Stopped(why) if why.as_str() == "cancelled"),
        "{:?}",
        scan.state
    );
}

fn listeners(server: &Server) -> usize {
    let clients: String = server.run(&["CLIENT", "LIST"]);
    clients.lines().filter(|line| line.contains(" flags=O")).count()
}

#[test]
fn monitor_ends_before_the_terminal_stops_the_command() {
    use std::os::unix::process::CommandExt;
    let server = Arc::new(Server::start(&[]));
    let target = format!("redis://{}", server.address());
    let mut child = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["keys", "hot", &target, "--allow-monitor", "2s"])
        // As a shell does: its parent lets it go on.
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("headwater can be run");
    let process = Pid::from_child(&child);
    wait_until("it listens", || listeners(&server) == 1);
    kill_process(process, Signal::TSTP).expect("it is there");
    // Stopped as usual it would stay open; that it stands still is not asked, for it may be over before it does.
    wait_until("nobody listens though it was not let go on", || listeners(&server) == 0);
    kill_process(process, Signal::CONT).expect("it is there");
    assert!(child.wait().expect("it ends").code().is_some(), "it has gone on to its end");
}

#[test]
fn more_than_one_shard_is_never_slowed_at_once() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let config = one.folder().join("two.toml");
    let text = [("a", &one), ("b", &other)].map(|(name, server)| {
        format!("[[redis]]\nname = \"{name}\"\nurl = \"redis://{}\"\n", server.address())
    });
    std::fs::write(&config, text.concat()).expect("the folder is there");
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["keys", "hot", "--allow-monitor", "--config"])
        .arg(&config)
        .output()
        .expect("headwater can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("there are 2 shards: name one with --shard"), "{said}");
    for server in [&one, &other] {
        let stats: String = server.run(&["INFO", "commandstats"]);
        assert!(!stats.contains("cmdstat_monitor:"), "{stats}");
    }
}
