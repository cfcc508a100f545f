//! Servers that are like Redis and are not: what one of them blocks, renames or lacks costs only what needs it, which
//! says why and what would help; everything else goes on.
//!
//! None of them is installed here, so each is a stand-in: a script, mostly in front of a real server whose answers it
//! passes on. Each test says where its script has its answers from.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::metric::{self, Metric};
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{Kind, Subject};
use headwater_test_support::stand_in::{StandIn, array, bulk, error, integer, unknown};
use headwater_test_support::{Readings, Server, ServerRelease, value_of, wait_until};
use tokio_util::sync::CancellationToken;

/// What is there of any server that answers INFO as one does.
const PLAIN: &[Metric] = &[
    metric::REDIS_ANSWER_TIME,
    metric::REDIS_COMMANDS,
    metric::REDIS_MEMORY,
    metric::REDIS_CLIENTS,
    metric::REDIS_HITS,
];

struct Seen {
    readings: Readings,
    target: RedisTarget,
    /// What is missing, in the words that users see, with the reason.
    missing: BTreeMap<String, String>,
}

impl Seen {
    fn says(&self, what: &str, words: &[&str]) {
        assert!(
            self.missing.contains_key(what),
            "nothing says that '{what}' is missing: {:#?}",
            self.missing
        );
        let why = &self.missing[what];
        for word in words {
            assert!(why.contains(word), "'{what}' is missing without '{word}': {why}");
        }
    }

    fn has(&self, metrics: &[Metric]) {
        for metric in metrics {
            let told = self.readings.log.iter().any(|reading| value_of(reading, *metric).is_some());
            assert!(told, "{} is not told", metric.name());
        }
    }

    fn lacks(&self, metric: Metric) {
        let told = self.readings.log.iter().find(|reading| value_of(reading, metric).is_some());
        assert!(told.is_none(), "{} is told: {told:#?}", metric.name());
    }
}

/// Watches an address for some looks, in which nothing may fail as a whole.
async fn watch(address: String) -> Seen {
    let (send, mut readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![address]);
    let target = RedisTarget::start(spec, Duration::from_millis(200), outlet);
    for _ in 0..6 {
        let answered = |reading: &Reading| value_of(reading, metric::REDIS_ANSWER_TIME).is_some();
        readings.until("the node answers", answered).await;
    }
    let faults: Vec<_> = readings.log.iter().flat_map(|reading| &reading.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let mut missing = BTreeMap::new();
    for event in readings.log.iter().flat_map(|reading| &reading.events) {
        match event {
            Event::Unavailable { what, why } => {
                missing.insert(what.as_str().to_owned(), why.as_str().to_owned());
            }
            Event::Available { what } => {
                missing.remove(what.as_str());
            }
            _ => {}
        }
    }
    Seen { readings, target, missing }
}

fn is(words: &[String], command: &str) -> bool {
    words.join(" ").starts_with(command)
}

/// From the list of restricted commands of Amazon ElastiCache; its wording is that of a Redis without the command.
#[tokio::test(flavor = "multi_thread")]
async fn elasticache_has_no_config() {
    let server = Server::start(&[]);
    let stand_in = StandIn::before(&server, |words| is(words, "CONFIG").then(|| unknown(words)));
    let seen = watch(stand_in.address()).await;
    seen.says("slow-log threshold", &["does not know CONFIG GET", "managed service", "unknown command"]);
    seen.says("the server's own latency monitor", &["CONFIG GET"]);
    seen.has(PLAIN);
    seen.has(&[metric::REDIS_SLOW, metric::REDIS_EXEC, metric::REDIS_CPU]);
    assert!(stand_in.asked("CONFIG GET SLOWLOG") <= 1, "it is not asked for again and again");
}

/// From Amazon's list of supported commands and DataDog's report #20150: one virtual shard, no SLOWLOG, no CLIENT LIST.
#[tokio::test(flavor = "multi_thread")]
async fn elasticache_serverless_is_one_virtual_shard_without_a_slow_log() {
    let server = Server::start(&["--cluster-enabled", "yes", "--cluster-port", "%PORT%"]);
    server.run::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let stand_in = StandIn::before(&server, |words| {
        let blocked = ["SLOWLOG", "CONFIG", "CLIENT LIST", "CLIENT NO-", "MEMORY", "OBJECT", "LATENCY"];
        blocked.iter().any(|command| is(words, command)).then(|| unknown(words))
    });
    let port = stand_in.address().rsplit_once(':').expect("it has a port").1.to_owned();
    server.run::<()>(&["CONFIG", "SET", "cluster-announce-port", &port]);
    wait_until("it announces the stand-in", || {
        server.run::<String>(&["CLUSTER", "NODES"]).contains(&format!(":{port}@"))
            && server.run::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
    });
    let seen = watch(stand_in.address()).await;
    let topology = seen.target.topology().expect("it is found");
    assert!(topology.clustered && topology.shards.len() == 1, "{topology:#?}");
    assert_eq!(topology.shards[0].slots, [(0, 16_383)]);
    seen.says("SLOWLOG GET", &["does not know SLOWLOG GET", "managed service"]);
    seen.says("LATENCY HISTOGRAM", &["Redis has it from 7.0 on"]);
    seen.says("LATENCY LATEST", &["does not know LATENCY LATEST"]);
    seen.has(PLAIN);
    assert!(!seen.missing.contains_key("CLUSTER NODES"), "{:#?}", seen.missing);
    let views = seen.readings.log.iter().flat_map(|reading| &reading.events);
    assert_eq!(views.filter(|event| matches!(event, Event::ClusterView(_))).count(), 1);
    assert!(stand_in.asked("SLOWLOG") <= 1 && stand_in.asked("LATENCY LATEST") <= 1);
}

/// From Google's lists of supported commands: what is not on them is refused as a right that is missing.
#[tokio::test(flavor = "multi_thread")]
async fn memorystore_refuses_by_rights() {
    let server = Server::start(&[]);
    let stand_in = StandIn::before(&server, |words| {
        let refused = is(words, "CONFIG") || is(words, "SLOWLOG");
        refused.then(|| error("NOPERM this user has no permissions to run this command"))
    });
    let seen = watch(stand_in.address()).await;
    seen.says("SLOWLOG GET", &["may not run SLOWLOG GET", "ACL SETUSER default +slowlog|get"]);
    seen.says("the server's own latency monitor", &["+config|get"]);
    seen.has(PLAIN);
    seen.lacks(metric::REDIS_SLOW);
    assert!(stand_in.asked("SLOWLOG") <= 1, "a refusal is logged at the server each time");
}

/// The slow log's shape from redis-py #1352 and #1489, the rest from the compatibility page of Redis Enterprise.
#[tokio::test(flavor = "multi_thread")]
async fn enterprise_puts_a_complexity_into_its_slow_log() {
    let server = Server::start(&[]);
    let stand_in = StandIn::before(&server, |words| {
        let entry = |id, complexity: &str, command: &[&str]| {
            let words: Vec<_> = command.iter().map(|word| bulk(word)).collect();
            array(&[integer(id), integer(1_600_000_000), integer(25_000), bulk(complexity), array(&words)])
        };
        if is(words, "SLOWLOG GET") {
            let entries = [
                entry(8, "Complexity info: N:16", &["HGETALL", "user:7"]),
                entry(7, "", &["GET", "k"]),
                entry(6, "", &[]),
            ];
            return Some(array(&entries));
        }
        (is(words, "LATENCY LATEST") || is(words, "CLIENT NO-"))
            .then(|| error("ERR command is not supported"))
            .or_else(|| is(words, "CONFIG GET").then(|| array(&[])))
    });
    let seen = watch(stand_in.address()).await;
    let slow = seen.readings.log.iter().flat_map(|reading| &reading.events).filter_map(|event| match event {
        Event::SlowCommand(slow) => {
            Some((slow.id, slow.command.as_str(), slow.key.as_ref().map(|key| key.as_str())))
        }
        _ => None,
    });
    assert_eq!(
        slow.collect::<Vec<_>>(),
        [(6, "", None), (7, "GET", Some("k")), (8, "HGETALL", Some("user:7"))]
    );
    seen.says("LATENCY LATEST", &["not supported"]);
    seen.has(PLAIN);
    seen.lacks(metric::REDIS_SLOW_THRESHOLD);
}

/// INFO as in Dragonfly's issues #5431 and #5625, shortened; its refusal of CLUSTER from its documentation.
const DRAGONFLY: &str = "# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.31.0\r\nredis_mode:standalone\r\n\
    arch_bits:64\r\nos:Linux 6.6.85.1-2.azl3 x86_64\r\nthread_count:16\r\nmultiplexing_api:iouring\r\ntcp_port:6379\r\n\
    uptime_in_seconds:10275\r\nuptime_in_days:0\r\n\r\n# Clients\r\nconnected_clients:6\r\nmax_clients:64000\r\n\
    client_read_buffer_bytes:34048\r\nblocked_clients:0\r\n\r\n# Memory\r\nused_memory:67223920\r\n\
    used_memory_human:64.11MiB\r\nused_memory_rss:413818880\r\nused_memory_rss_human:394.65MiB\r\nmaxmemory:419430400\r\n\
    maxmemory_human:400.00MiB\r\ncache_mode:store\r\nmaxmemory_policy:noeviction\r\n\r\n# Stats\r\n\
    total_connections_received:10261\r\ntotal_commands_processed:314296\r\ninstantaneous_input_kbps:-1\r\n\
    total_net_input_bytes:1857259523\r\ntotal_net_output_bytes:42949065\r\nrejected_connections:-1\r\nexpired_keys:3\r\n\
    evicted_keys:0\r\nkeyspace_hits:100\r\nkeyspace_misses:4\r\n\r\n# Replication\r\nrole:master\r\n\
    connected_slaves:0\r\n\r\n# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:9.0\r\nused_cpu_sys_main_thread:0.9\r\n\
    used_cpu_user_main_thread:5.0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=-1\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn dragonfly_says_less_and_its_main_thread_is_one_of_many() {
    let stand_in = StandIn::alone(|words| match words[0].as_str() {
        // Several sections in one question are too many for it.
        "INFO" if words.len() > 2 => Some(error("ERR syntax error")),
        "INFO" => Some(bulk(DRAGONFLY)),
        "CLUSTER" => Some(error("ERR Cluster is disabled. See the `--cluster_mode` flag.")),
        "SLOWLOG" => Some(array(&[])),
        "CONFIG" => Some(array(&[])),
        "CLIENT" => Some(error("ERR unknown subcommand or wrong number of arguments")),
        _ => None,
    });
    let seen = watch(stand_in.address()).await;
    seen.has(PLAIN);
    seen.has(&[metric::REDIS_CPU_PROCESS, metric::REDIS_CLIENTS_MAX, metric::REDIS_KEYS]);
    seen.lacks(metric::REDIS_CPU);
    seen.lacks(metric::REDIS_REJECTED);
    let memory = seen.readings.log.iter().find_map(|reading| value_of(reading, metric::REDIS_MEMORY));
    assert_eq!(memory, Some(67_223_920.0), "the plain number, not its twin in MiB");
    seen.says("LATENCY LATEST", &["unknown command"]);
    assert_eq!(stand_in.asked("CLUSTER"), 0, "it is no cluster");
}

/// The lines that differ are from a published KeyDB 6.3.4 INFO; the rest is a real server of that age.
#[tokio::test(flavor = "multi_thread")]
async fn keydb_counts_cached_keys_beside_keys() {
    let server = Server::start_release(ServerRelease::Redis62, &[]);
    let mut text: String = server.run(&["INFO", "all"]);
    text.push_str("\r\n# Keyspace\r\ndb0:keys=526496,expires=12,avg_ttl=0,cached_keys=526496\r\n\r\n# KeyDB\r\nmvcc_depth:0\r\n");
    let stand_in = StandIn::before(&server, move |words| match words {
        [info, all] if info == "INFO" && all == "ALL" => Some(bulk(&text)),
        [info] if info == "INFO" => Some(bulk(&text)),
        _ => None,
    });
    let seen = watch(stand_in.address()).await;
    let keys = |metric| seen.readings.log.iter().find_map(|reading| value_of(reading, metric));
    assert_eq!(keys(metric::REDIS_KEYS), Some(526_496.0));
    assert_eq!(keys(metric::REDIS_KEYS_VOLATILE), Some(12.0));
    seen.says("LATENCY HISTOGRAM", &["KeyDB 6.2.5 does not know", "from 7.0 on"]);
    assert_eq!(stand_in.asked("LATENCY HISTOGRAM"), 0, "what its release cannot know is not tried");
    seen.has(PLAIN);
}

/// Which fields Envoy sums, takes of any shard or leaves out is from the source of its redis_proxy filter.
#[tokio::test(flavor = "multi_thread")]
async fn envoy_adds_shards_up_and_gives_no_rates() {
    let server = Server::start(&["--cluster-enabled", "yes", "--cluster-port", "%PORT%"]);
    server.run::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    const SUM: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\n\
        run_id:96a2800c5c08b5e9eb409ab60da9f11acd3669cd\r\nserver_time_usec:1795968436017000\r\nuptime_in_seconds:900\r\n\
        # Clients\r\nconnected_clients:30\r\n# Memory\r\nused_memory:9000000\r\n# Stats\r\n\
        total_commands_processed:100\r\nkeyspace_hits:5\r\nkeyspace_misses:5\r\n# CPU\r\nused_cpu_sys_main_thread:0\r\n\
        used_cpu_user_main_thread:0\r\n# Cluster\r\ncluster_enabled:1\r\n";
    let stand_in = StandIn::before(&server, |words| match words[0].as_str() {
        "INFO" if words.len() > 2 => Some(error("invalid request")),
        "INFO" => Some(bulk(SUM)),
        "CLIENT" | "LATENCY" => Some(unknown(words)),
        "CLUSTER" if words[1] == "SHARDS" => Some(unknown(words)),
        _ => None,
    });
    let port = stand_in.address().rsplit_once(':').expect("it has a port").1.to_owned();
    server.run::<()>(&["CONFIG", "SET", "cluster-announce-port", &port]);
    wait_until("it announces the stand-in", || {
        server.run::<String>(&["CLUSTER", "NODES"]).contains(&format!(":{port}@"))
    });
    let seen = watch(stand_in.address()).await;
    seen.says("rates of this node", &["a proxy adds several servers up", "behind it"]);
    for metric in [metric::REDIS_COMMANDS, metric::REDIS_CPU, metric::REDIS_MEMORY] {
        seen.lacks(metric);
    }
}

/// From Alibaba's page on the proxy mode of Tair: plain commands go to whichever shard, IINFO alone to a chosen one.
#[tokio::test(flavor = "multi_thread")]
async fn tair_proxy_answers_for_another_shard_each_time() {
    let server = Server::start(&[]);
    let text: String = server.run(&["INFO", "everything"]);
    let own = server.info("run_id");
    let turn = AtomicUsize::new(0);
    let stand_in = StandIn::before(&server, move |words| {
        let other = turn.fetch_add(usize::from(is(words, "INFO")), Ordering::Relaxed) % 2 == 1;
        let run_id = if other { "f".repeat(40) } else { own.clone() };
        is(words, "INFO").then(|| bulk(&text.replace(&own, &run_id)))
    });
    let seen = watch(stand_in.address()).await;
    seen.says("rates of this node", &["different servers answer at this one address", "behind it"]);
    let last =
        seen.readings.log.iter().rfind(|reading| value_of(reading, metric::REDIS_ANSWER_TIME).is_some());
    assert_eq!(last.and_then(|reading| value_of(reading, metric::REDIS_COMMANDS)), None);
}

/// Four elements up to Redis 3.2, six since 4.0, seven since 8.10, and whatever comes: the rest is what it was.
#[tokio::test(flavor = "multi_thread")]
async fn slow_log_entries_of_every_length_are_read() {
    let server = Server::start(&[]);
    let stand_in = StandIn::before(&server, |words| {
        let entry = |id: i64, more: &[Vec<u8>]| {
            let argv = array(&[bulk("HGETALL"), bulk(&format!("user:{id}"))]);
            let first = [integer(id), integer(1_600_000_000), integer(25_000), argv];
            array(&[&first[..], more].concat())
        };
        let client = [bulk("10.0.0.9:1234"), bulk("ranker")];
        let longer = [&client[..], &[integer(2)]].concat();
        let longest = [&longer[..], &[bulk("?"), array(&[])]].concat();
        let entries = [entry(9, &longest), entry(8, &longer), entry(7, &client), entry(6, &[])];
        is(words, "SLOWLOG GET").then(|| array(&entries))
    });
    let seen = watch(stand_in.address()).await;
    let slow = seen.readings.log.iter().flat_map(|reading| &reading.events).filter_map(|event| match event {
        Event::SlowCommand(slow) => Some(slow),
        _ => None,
    });
    let slow: Vec<_> =
        slow.map(|slow| (slow.id, slow.key.as_ref().map(|key| key.as_str()), slow.client.as_str())).collect();
    let expected = [
        (6, Some("user:6"), ""),
        (7, Some("user:7"), "ranker"),
        (8, Some("user:8"), "ranker"),
        (9, Some("user:9"), "ranker"),
    ];
    assert_eq!(slow, expected);
}

/// A gauge that went below zero and wrapped around, as in redis#5580, and a total that fell: neither becomes a number.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_wrapped_around_are_no_numbers() {
    let server = Server::start(&[]);
    let text: String = server.run(&["INFO", "everything"]);
    let used = server.info("used_memory");
    let hits = server.info("keyspace_hits");
    let text = text
        .replace(&format!("\r\nused_memory:{used}\r\n"), "\r\nused_memory:18446744073597767720\r\n")
        .replace(&format!("\r\nkeyspace_hits:{hits}\r\n"), "\r\nkeyspace_hits:-1\r\n");
    let stand_in = StandIn::before(&server, move |words| is(words, "INFO").then(|| bulk(&text)));
    let seen = watch(stand_in.address()).await;
    seen.lacks(metric::REDIS_MEMORY);
    seen.lacks(metric::REDIS_HITS);
    seen.has(&[metric::REDIS_COMMANDS, metric::REDIS_MEMORY_RSS]);
}
