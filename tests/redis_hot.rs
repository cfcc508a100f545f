//! Searches for hot keys on real servers: they name the key, and leave nothing behind.
//!
//! HOTKEYS has no server here that knows it: a stand-in answers what is documented.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headwater::sources::Outlet;
use headwater::sources::redis::allowed::{Release, acl_line};
use headwater::sources::redis::{RedisSpec, RedisTarget, SearchBudget};
use headwater_engine::reading::{Event, HotSearch, KeyMethod, MethodOffer, Reading, ScanState};
use headwater_engine::slot::slot_of;
use headwater_engine::{Kind, RemoteText, Subject, metric};
use headwater_test_support::stand_in::{StandIn, array, bulk, integer};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, ServerRelease, node_at, wait_until};
use tokio_util::sync::CancellationToken;

fn watch(seed: String) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![seed]);
    (RedisTarget::start(spec, Duration::from_secs(1), outlet), readings)
}

fn search_of(reading: &Reading) -> Option<&HotSearch> {
    reading.events.iter().find_map(|event| match event {
        Event::HotSearch(search) => Some(search),
        _ => None,
    })
}

async fn until_state(readings: &mut Readings, what: &str, fits: impl Fn(&ScanState) -> bool) -> HotSearch {
    let reading =
        readings.until(what, |reading| search_of(reading).is_some_and(|search| fits(&search.state))).await;
    search_of(&reading).expect("it was just there").clone()
}

async fn until_ended(readings: &mut Readings) -> HotSearch {
    until_state(readings, "the search has ended", ScanState::has_ended).await
}

async fn offers(readings: &mut Readings, node: &Subject) -> Vec<MethodOffer> {
    let told = |reading: &Reading| {
        reading.events.iter().find_map(|event| match event {
            Event::Offers(offers) if reading.source == *node => Some(offers.clone()),
            _ => None,
        })
    };
    let reading = readings.until("the node tells what it offers", |reading| told(reading).is_some()).await;
    told(&reading).expect("it was just there")
}

fn refusal(offers: &[MethodOffer], method: KeyMethod) -> Option<String> {
    let offer = offers.iter().find(|offer| offer.method == method).expect("each way is told of");
    offer.refusal.as_ref().map(ToString::to_string)
}

/// Clients that read: three of four reads are of the hot key.
struct Load {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Load {
    fn of(server: &Server, database: u32, hot: &[u8], cold: &[u8]) -> Self {
        let mut connection = server.connect().expect("the server is there");
        if database > 0 {
            redis::cmd("SELECT").arg(database).exec(&mut connection).expect("there is such a database");
        }
        redis::cmd("SET").arg(hot).arg("v".repeat(100)).exec(&mut connection).expect("it can be written");
        let (hot, cold) = (hot.to_vec(), cold.to_vec());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let mut pipeline = redis::pipe();
                for _ in 0..3 {
                    pipeline.cmd("GET").arg(&hot).ignore();
                }
                pipeline.cmd("GET").arg(&cold).ignore();
                if pipeline.exec(&mut connection).is_err() {
                    return;
                }
                std::thread::yield_now();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listeners(server: &Server) -> usize {
    let clients: String = server.run(&["CLIENT", "LIST"]);
    clients.lines().filter(|line| line.contains(" flags=O")).count()
}

fn our_connections(server: &Server) -> usize {
    let clients: String = server.run(&["CLIENT", "LIST"]);
    clients.lines().filter(|line| line.contains(" name=headwater")).count()
}

fn was_sent(server: &Server, command: &str) -> bool {
    let stats: String = server.run(&["INFO", "commandstats"]);
    stats.contains(&format!("cmdstat_{command}:"))
}

/// A moment of MONITOR that came to its end; on a busy machine one is ended for the server's sake now and then.
async fn listened(target: &RedisTarget, readings: &mut Readings, shard: &Subject) -> HotSearch {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let handle =
            target.search(shard, KeyMethod::Monitor, SearchBudget::default()).expect("the shard is known");
        let search = until_ended(readings).await;
        handle.task.await.expect("the search does not panic");
        if search.state == ScanState::Complete {
            return search;
        }
        assert!(is_fair_end(&search.state) && Instant::now() < deadline, "{:?}", search.state);
    }
}

/// On a busy machine a search may be ended for the server's sake; what it has seen by then counts.
fn is_fair_end(state: &ScanState) -> bool {
    match state {
        ScanState::Complete => true,
        ScanState::Stopped(why) => why.as_str().contains("ended at once"),
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_of_monitor_names_the_hot_key_on_every_release_and_leaves_nothing_behind() {
    for release in ServerRelease::ALL {
        let server = Server::start_release(release, &[]);
        let hot = [&b"user:\"7\"\\\r\n"[..], &[0xff, 0x00, 0x1b], b" end"].concat();
        let load = Load::of(&server, 0, &hot, b"cold");
        let (target, mut readings) = watch(server.address());
        let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
        let shard = topology.shards[0].subject.clone();
        let usual = offers(&mut readings, &topology.shards[0].nodes[0].subject).await;
        assert_eq!(refusal(&usual, KeyMethod::Monitor), None);
        let search = listened(&target, &mut readings, &shard).await;
        assert!(search.seconds_in_all <= 1.0 && search.counted > 20, "{release:?}: {search:?}");
        let first = &search.keys[0];
        assert_eq!(first.key, RemoteText::from_bytes(&hot), "{release:?}");
        let share = first.operations_share.expect("MONITOR gives shares");
        assert!((0.6..0.8).contains(&share), "{release:?}: {share}");
        assert_eq!(first.command.as_ref().map(|command| command.as_str()), Some("GET"));
        assert!(first.per_second.is_some_and(|rate| rate > 0.0));
        assert_eq!(search.keys[1].key.as_str(), "cold");
        wait_until("nobody listens any more", || listeners(&server) == 0);
        drop(load);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn monitor_that_is_paused_or_cancelled_is_gone_from_the_server() {
    let server = Server::start(&[]);
    let load = Load::of(&server, 3, b"hot", b"cold");
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let shard = topology.shards[0].subject.clone();
    wait_until("the node is polled", || our_connections(&server) == 1);
    let budget = SearchBudget { monitor: Duration::from_secs(60), ..SearchBudget::default() };
    let deadline = Instant::now() + PATIENCE;
    let handle = loop {
        let handle = target.search(&shard, KeyMethod::Monitor, budget).expect("the shard is known");
        let running = until_state(&mut readings, "it runs", |state| *state == ScanState::Running).await;
        assert!(running.seconds_in_all <= 2.0, "longer than 2 s is never asked for");
        handle.pause.send_replace(true);
        let state = until_state(&mut readings, "it is paused or over", |state| *state != ScanState::Running);
        if state.await.state == ScanState::Paused {
            break handle;
        }
        assert!(Instant::now() < deadline, "it is always over before it can be paused");
        handle.task.await.expect("the search does not panic");
    };
    wait_until("nobody listens while it is paused", || listeners(&server) == 0);
    handle.pause.send_replace(false);
    until_state(&mut readings, "it goes on", |state| *state != ScanState::Paused).await;
    handle.cancel.cancel();
    handle.task.await.expect("the search does not panic");
    wait_until("what it opened is closed", || listeners(&server) == 0 && our_connections(&server) == 1);
    drop(load);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_whose_task_is_killed_leaves_nothing_behind() {
    let server = Server::start(&[]);
    let load = Load::of(&server, 0, b"hot", b"cold");
    let (target, _readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    wait_until("the node is polled", || our_connections(&server) == 1);
    let budget = SearchBudget { monitor: Duration::from_secs(2), ..SearchBudget::default() };
    let handle =
        target.search(&topology.shards[0].subject, KeyMethod::Monitor, budget).expect("the shard is known");
    wait_until("it listens", || listeners(&server) == 1);
    handle.task.abort();
    wait_until("what it opened is closed", || listeners(&server) == 0 && our_connections(&server) == 1);
    drop(load);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_needs_a_yes_is_sent_without_one() {
    for release in ServerRelease::ALL {
        let server = Server::start_release(release, &["--maxmemory-policy", "allkeys-lfu"]);
        let (target, mut readings) = watch(server.address());
        let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
        let (shard, node) = (&topology.shards[0].subject, &topology.shards[0].nodes[0].subject);
        let offers = offers(&mut readings, node).await;
        assert_eq!(refusal(&offers, KeyMethod::Frequencies), None, "{release:?}");
        assert!(
            refusal(&offers, KeyMethod::SlotStats).is_some_and(|why| why.contains("no part of a cluster"))
        );
        assert!(refusal(&offers, KeyMethod::Hotkeys).is_some_and(|why| why.contains("has no HOTKEYS")));
        assert!(target.search(shard, KeyMethod::Scan, SearchBudget::default()).is_none());
        target.search(shard, KeyMethod::Frequencies, SearchBudget::default()).expect("the shard is known");
        until_ended(&mut readings).await;
        for _ in 0..2 {
            readings.until_sample(node, metric::REDIS_ANSWER_TIME).await;
        }
        assert!(!was_sent(&server, "monitor"), "{release:?}");
    }
}

/// A real server in the clothes of one that knows HOTKEYS.
#[test]
fn a_server_that_could_count_hot_keys_is_not_told_to_without_a_yes() {
    for (policy, code) in [("allkeys-lfu", 0), ("noeviction", 69)] {
        let server = Server::start(&["--maxmemory-policy", policy]);
        server.run::<()>(&["SET", "user:7", "v"]);
        let info = format!(
            "redis_version:8.6.0\r\nrun_id:1\r\nprocess_id:1\r\nrole:master\r\nmaxmemory_policy:{policy}\r\n\
             instantaneous_ops_per_sec:9\r\n"
        );
        let before = StandIn::before(&server, move |words| match words[0].as_str() {
            "INFO" => Some(bulk(&info)),
            "HOTKEYS" => Some(b"$-1\r\n".to_vec()),
            _ => None,
        });
        let target = format!("redis://{}", before.address());
        let (came, said) = headwater(&["keys", "hot", &target]);
        assert_eq!(came, Some(code), "{policy}: {said}");
        assert!(said.contains("offered with --allow-hotkeys"), "{said}");
        let (came, said) = headwater(&["keys", "hot", &target, "--method", "hotkeys"]);
        assert_eq!(came, Some(64), "{policy}: {said}");
        for command in ["HOTKEYS START", "HOTKEYS STOP", "HOTKEYS RESET", "MONITOR"] {
            assert_eq!(before.asked(command), 0, "{policy}: {command}");
        }
        assert_eq!(before.asked("OBJECT FREQ") > 0, policy == "allkeys-lfu", "it looked where it may");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_of_eviction_rank_keys_and_give_no_shares() {
    let server = Server::start(&["--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "1"]);
    let mut connection = server.connect().unwrap();
    let mut pipeline = redis::pipe();
    for key in 0..500 {
        pipeline.cmd("SET").arg(format!("k{key}")).arg("v").ignore();
    }
    for _ in 0..3_000 {
        pipeline.cmd("GET").arg("k77").ignore();
    }
    pipeline.exec(&mut connection).unwrap();
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let shard = &topology.shards[0].subject;
    target.search(shard, KeyMethod::Frequencies, SearchBudget::default()).expect("the shard is known");
    let search = until_ended(&mut readings).await;
    assert_eq!((&search.state, search.counted), (&ScanState::Complete, 500));
    assert_eq!(search.keys[0].key.as_str(), "k77");
    assert!(search.keys[0].frequency.is_some_and(|counter| counter > 20), "{:?}", search.keys[0]);
    assert_eq!(search.keys[0].greatest_share(), None);
    // What the search itself adds to the hits is counted as ours.
    let node = &topology.shards[0].nodes[0].subject;
    let hits = |reading: &Reading| headwater_test_support::value_of(reading, metric::REDIS_OUR_HITS);
    readings
        .until("our hits are told", |reading| {
            reading.source == *node && hits(reading).is_some_and(|hits| hits >= 500.0)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_counts_no_reads_refuses_and_says_what_would_help() {
    let server = Server::start(&[]);
    server.run::<()>(&["SET", "k", "v"]);
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let (shard, node) = (&topology.shards[0].subject, &topology.shards[0].nodes[0].subject);
    let offers = offers(&mut readings, node).await;
    assert!(refusal(&offers, KeyMethod::Frequencies).is_some_and(|why| why.contains("allkeys-lfu")));
    for (method, words) in
        [(KeyMethod::Frequencies, "LFU"), (KeyMethod::SlotStats, "does not know CLUSTER SLOT-STATS")]
    {
        target.search(shard, method, SearchBudget::default()).expect("the shard is known");
        let search = until_ended(&mut readings).await;
        let ScanState::Stopped(why) = &search.state else { panic!("{:?}", search.state) };
        assert!(why.as_str().contains(words), "{method:?}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counted_slots_name_the_key_that_is_alone_in_its_slot() {
    for release in [ServerRelease::Redis82, ServerRelease::Valkey81, ServerRelease::Valkey91] {
        let cluster = Cluster::start_release(release, 3, 0, &[]);
        let hot = (0..)
            .map(|id| format!("user:{id}"))
            .find(|key| slot_of(key.as_bytes()) / 5_462 == 1)
            .expect("one of them is there");
        let server = &cluster.primaries[1];
        let (target, mut readings) = watch(cluster.primaries[0].address());
        let topology = target.discovered(PATIENCE).await.expect("the cluster is discovered");
        let node = node_at(&topology, &server.address());
        let shard = topology.shards[1].subject.clone();
        let before = offers(&mut readings, &node).await;
        assert!(
            refusal(&before, KeyMethod::SlotStats)
                .is_some_and(|why| why.contains("CONFIG SET cluster-slot-stats-enabled yes")),
            "{release:?}: {before:?}"
        );
        target.search(&shard, KeyMethod::SlotStats, SearchBudget::default()).expect("the shard is known");
        let refused = until_ended(&mut readings).await;
        assert!(
            matches!(&refused.state, ScanState::Stopped(why) if why.as_str().contains("does not count slots"))
        );

        server.run::<()>(&["CONFIG", "SET", "cluster-slot-stats-enabled", "yes"]);
        let cold = format!("cold:{{{hot}2}}");
        let cold = if slot_of(cold.as_bytes()) / 5_462 == 1 { cold } else { hot.clone() };
        let load = Load::of(server, 0, hot.as_bytes(), cold.as_bytes());
        target.search(&shard, KeyMethod::SlotStats, SearchBudget::default()).expect("the shard is known");
        let search = until_ended(&mut readings).await;
        assert_eq!(search.state, ScanState::Complete, "{release:?}");
        assert_eq!(search.node, node);
        let first = &search.keys[0];
        assert_eq!((first.key.as_str(), first.slot), (hot.as_str(), Some(slot_of(hot.as_bytes()))));
        assert!(first.cpu_share.is_some_and(|share| share > 0.5), "{release:?}: {search:?}");
        assert!(first.bytes_share.is_some_and(|share| share > 0.5), "{release:?}: {search:?}");
        assert_eq!(Some(search.slots[0].slot), first.slot);
        drop(load);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn monitor_ends_as_soon_as_the_node_stops_answering() {
    let server = Server::start(&[]);
    let load = Load::of(&server, 0, b"hot", b"cold");
    let (target, mut readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let budget = SearchBudget { monitor: Duration::from_secs(2), ..SearchBudget::default() };
    target.search(&topology.shards[0].subject, KeyMethod::Monitor, budget).expect("the shard is known");
    wait_until("it listens", || listeners(&server) == 1);
    server.pause();
    let search = until_ended(&mut readings).await;
    server.resume();
    assert!(
        matches!(&search.state, ScanState::Stopped(why) if why.as_str().contains("ended at once")),
        "{:?}",
        search.state
    );
    wait_until("nobody listens any more", || listeners(&server) == 0);
    drop(load);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_listen_is_told_so_once_and_one_who_may_leaves_the_acl_log_empty() {
    for may_listen in [true, false] {
        let server = Server::start(&[]);
        let line = acl_line("watcher", Release::redis(7, 0), may_listen).replace(">PASSWORD", ">word");
        server.run::<()>(&line.split(' ').collect::<Vec<_>>());
        let load = Load::of(&server, 0, b"hot", b"cold");
        let (send, mut readings) = Readings::channel();
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        let mut spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![server.address()]);
        spec.username = Some("watcher".to_owned());
        spec.password = Some("word".to_owned().into());
        let target = RedisTarget::start(spec, Duration::from_secs(1), outlet);
        let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
        let (shard, node) = (&topology.shards[0].subject, &topology.shards[0].nodes[0].subject);
        let usual = offers(&mut readings, node).await;
        assert_eq!(refusal(&usual, KeyMethod::Monitor), None, "what was never refused is offered");
        let refused = |server: &Server| server.run::<Vec<redis::Value>>(&["ACL", "LOG"]).len();
        assert_eq!(refused(&server), 0, "nothing is tried to find out");
        target.search(shard, KeyMethod::Monitor, SearchBudget::default()).expect("the shard is known");
        let search = until_ended(&mut readings).await;
        if may_listen {
            assert!(is_fair_end(&search.state), "{:?}", search.state);
            assert_eq!((search.keys[0].key.as_str(), refused(&server)), ("hot", 0));
        } else {
            assert!(
                matches!(&search.state, ScanState::Stopped(why) if why.as_str().contains("ACL SETUSER watcher +monitor")),
                "{:?}",
                search.state
            );
            assert_eq!(refused(&server), 1, "once");
            let after = offers(&mut readings, node).await;
            assert!(refusal(&after, KeyMethod::Monitor).is_some_and(|why| why.contains("+monitor")));
        }
        drop(load);
    }
}

/// A primary of this release as INFO tells it; what is not asked of it here is unknown to it.
fn stand_in(release: &str, hotkeys: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> StandIn {
    let info = format!("{release}\r\nrun_id:1\r\nrole:master\r\ninstantaneous_ops_per_sec:120000\r\n");
    StandIn::alone(move |words| match words[0].as_str() {
        "INFO" => Some(bulk(&info)),
        "HOTKEYS" => Some(hotkeys(words)),
        "PING" => Some(b"+PONG\r\n".to_vec()),
        _ => None,
    })
}

/// HOTKEYS GET of Redis 8.6 in the form of its later releases, an array of one: user:7 has 70 % of the time.
fn counted(is_active: bool) -> Vec<u8> {
    let numbers = [
        ("tracking-active", i64::from(is_active)),
        ("sample-ratio", 24),
        ("all-commands-all-slots-us", 24_000),
        ("net-bytes-all-commands-all-slots", 48_000),
        ("collection-start-time-unix-ms", 1_769_420_604_522),
        ("collection-duration-ms", 1_500),
    ];
    let mut fields: Vec<_> =
        numbers.iter().flat_map(|(name, number)| [bulk(name), integer(*number)]).collect();
    fields.extend([bulk("by-cpu-time-us"), array(&[bulk("user:7"), integer(700), bulk("b"), integer(20)])]);
    fields.extend([bulk("by-net-bytes"), array(&[bulk("user:7"), integer(1_000)])]);
    array(&[array(&fields)])
}

async fn search_by_hotkeys(
    server: &StandIn,
) -> (RedisTarget, Readings, headwater::sources::redis::ScanHandle) {
    let (target, readings) = watch(server.address());
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let shard = &topology.shards[0].subject;
    let handle =
        target.search(shard, KeyMethod::Hotkeys, SearchBudget::default()).expect("the shard is known");
    (target, readings, handle)
}

#[tokio::test(flavor = "multi_thread")]
async fn hotkeys_has_an_end_of_its_own_and_is_stopped_when_cancelled() {
    let is_on = Arc::new(AtomicBool::new(false));
    let server = stand_in("redis_version:8.6.0", move |words| match words[1].as_str() {
        "START" => {
            is_on.store(true, Ordering::Relaxed);
            b"+OK\r\n".to_vec()
        }
        "GET" if is_on.load(Ordering::Relaxed) => counted(true),
        "GET" => b"$-1\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (_target, mut readings, handle) = search_by_hotkeys(&server).await;
    let with_keys = |reading: &Reading| search_of(reading).is_some_and(|search| !search.keys.is_empty());
    let reading = readings.until("keys are told", with_keys).await;
    let first = &search_of(&reading).expect("it was just there").keys[0];
    assert_eq!((first.key.as_str(), first.cpu_share, first.bytes_share), ("user:7", Some(0.7), Some(0.5)));
    handle.cancel.cancel();
    handle.task.await.expect("the search does not panic");
    assert_eq!(server.asked("HOTKEYS START METRICS 2 CPU NET COUNT 32 DURATION 10 SAMPLE 24"), 1);
    assert_eq!(
        (server.asked("HOTKEYS START"), server.asked("HOTKEYS STOP"), server.asked("HOTKEYS RESET")),
        (1, 1, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_counts_is_read_and_left_alone() {
    let server = stand_in("redis_version:8.6.0", |_| counted(true));
    let (_target, mut readings, _handle) = search_by_hotkeys(&server).await;
    let search = until_ended(&mut readings).await;
    assert!(matches!(&search.state, ScanState::Stopped(why) if why.as_str().contains("somebody else")));
    assert_eq!(search.keys[0].key.as_str(), "user:7");
    for command in ["HOTKEYS START", "HOTKEYS STOP", "HOTKEYS RESET"] {
        assert_eq!(server.asked(command), 0, "{command}");
    }
}

/// The rows of Valkey's HOTKEYS are known from its pull request #3708 alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_valkey_counts_by_itself_and_is_only_read() {
    let rows = || array(&[array(&[bulk("user:7"), integer(0), integer(60_000)])]);
    let server = stand_in("redis_version:7.2.4\r\nvalkey_version:10.0.0", move |_| rows());
    let (_target, mut readings, _handle) = search_by_hotkeys(&server).await;
    let search = until_ended(&mut readings).await;
    assert_eq!(search.state, ScanState::Complete);
    assert_eq!((search.keys[0].key.as_str(), search.keys[0].operations_share), ("user:7", Some(0.5)));
    assert_eq!((server.asked("HOTKEYS GET"), server.asked("HOTKEYS START")), (1, 0));
}

fn headwater(arguments: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(arguments)
        .output()
        .expect("headwater can be run");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_command_line_asks_before_it_slows_anything() {
    let server = Server::start(&[]);
    let load = Load::of(&server, 0, b"user:7", b"cold");
    let target = format!("redis://{}", server.address());
    let (code, said) = headwater(&["keys", "hot", &target]);
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains("to name it:") && said.contains("offered with --allow-monitor 1s"), "{said}");
    assert!(said.contains("not offered: its maxmemory-policy noeviction counts no reads"), "{said}");
    let (code, _) = headwater(&["keys", "hot", &target, "--method", "monitor"]);
    assert_eq!(code, Some(64), "a way that needs a yes is not run without it");
    let (code, _) = headwater(&["keys", "hot", &target, "--allow-monitor", "3s"]);
    assert_eq!(code, Some(64), "2 s are the most");
    assert!(!was_sent(&server, "monitor"));
    let (code, said) = headwater(&["keys", "hot", &target, "--allow-monitor", "500ms", "--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let json: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    let search = &json["shards"][0]["search"];
    assert_eq!(
        (&search["keys"][0]["key"], &search["method"]),
        (&"user:7".into(), &"monitor".into()),
        "{json:#}"
    );
    assert_eq!(search["seconds_in_all"], 0.5);
    wait_until("nobody listens any more", || listeners(&server) == 0);
    drop(load);
}
