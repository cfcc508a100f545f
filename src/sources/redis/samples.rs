//! From an INFO reply to samples: one table.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::Subject;
use headwater_engine::metric::{self, Metric};
use headwater_engine::reading::{Reading, Value};

use super::address::write_address;
use super::info::Info;

/// How many commands are told apart; the rest are in the totals.
const COMMANDS_SHOWN: usize = 8;

/// How many kinds of error are told apart.
const ERRORS_SHOWN: usize = 16;

/// How many replicas of one primary are told apart.
const REPLICAS_SHOWN: usize = 16;

/// Counters that are one field.
const COUNTERS: &[(Metric, &str)] = &[
    (metric::REDIS_COMMANDS, "total_commands_processed"),
    (metric::REDIS_NET_IN, "total_net_input_bytes"),
    (metric::REDIS_NET_OUT, "total_net_output_bytes"),
    (metric::REDIS_NET_REPL_IN, "total_net_repl_input_bytes"),
    (metric::REDIS_NET_REPL_OUT, "total_net_repl_output_bytes"),
    (metric::REDIS_HITS, "keyspace_hits"),
    (metric::REDIS_MISSES, "keyspace_misses"),
    (metric::REDIS_EXPIRED, "expired_keys"),
    (metric::REDIS_EXPIRE_CAPPED, "expired_time_cap_reached_count"),
    (metric::REDIS_EVICTED, "evicted_keys"),
    (metric::REDIS_CONNECTIONS, "total_connections_received"),
    (metric::REDIS_REJECTED, "rejected_connections"),
    (metric::REDIS_FORKS, "total_forks"),
    (metric::REDIS_FULL_SYNCS, "sync_full"),
    (metric::REDIS_FSYNC_DELAYED, "aof_delayed_fsync"),
];

/// Levels that are one field, with the factor to our unit.
const GAUGES: &[(Metric, &str, f64)] = &[
    (metric::REDIS_CLIENTS_BLOCKED, "blocked_clients", 1.0),
    (metric::REDIS_MEMORY, "used_memory", 1.0),
    (metric::REDIS_MEMORY_RSS, "used_memory_rss", 1.0),
    (metric::REDIS_FORK_TIME, "latest_fork_usec", 1e-6),
    (metric::REDIS_REPLICATION_LAG, "master_last_io_seconds_ago", 1.0),
    (metric::REDIS_UPTIME, "uptime_in_seconds", 1.0),
    (metric::REDIS_EXPIRE_STALE, "expired_stale_perc", 0.01),
    (metric::REDIS_MEMORY_CLIENTS, "mem_clients_normal", 1.0),
    (metric::REDIS_MEMORY_OVERHEAD, "used_memory_overhead", 1.0),
    (metric::REDIS_FRAGMENTATION, "allocator_frag_ratio", 1.0),
    (metric::REDIS_COW, "current_cow_size", 1.0),
    (metric::REDIS_LOADING, "loading", 1.0),
    (metric::REDIS_SYNCING, "master_sync_in_progress", 1.0),
    (metric::REDIS_REPLICATION_DOWN, "master_link_down_since_seconds", 1.0),
];

/// Adds every number that the reply has; a field that is absent gives no sample.
pub(super) fn add_samples(reading: &mut Reading, node: &Subject, info: &Info<'_>, busiest: &mut Busiest) {
    for (metric, field) in COUNTERS {
        add(reading, node, *metric, info.number(field).map(Value::Counter));
    }
    for (metric, field, factor) in GAUGES {
        // None of these can be negative: -1 says that there is no such moment, as of a replica without a link.
        let value = info.number(field).filter(|value| *value >= 0.0);
        add(reading, node, *metric, value.map(|value| Value::Gauge(value * factor)));
    }
    add(reading, node, metric::REDIS_CPU, main_thread_seconds(info).map(Value::Counter));
    let process = info.sum("used_cpu_user", "used_cpu_sys");
    add(reading, node, metric::REDIS_CPU_PROCESS, process.map(Value::Counter));
    let clients = info.number("connected_clients").map(|clients| {
        let others = ["connected_slaves", "cluster_connections"];
        clients + others.iter().filter_map(|field| info.number(field)).sum::<f64>()
    });
    add(reading, node, metric::REDIS_CLIENTS, clients.map(Value::Gauge));
    let most = info.number("maxclients").or_else(|| info.number("max_clients"));
    add(reading, node, metric::REDIS_CLIENTS_MAX, most.map(Value::Gauge));
    let limit = info.number("maxmemory").filter(|limit| *limit > 0.0);
    add(reading, node, metric::REDIS_MEMORY_MAX, limit.map(Value::Gauge));
    let evicts =
        limit.and(info.text("maxmemory_policy")).map(|policy| f64::from(u8::from(policy != "noeviction")));
    add(reading, node, metric::REDIS_MEMORY_EVICTS, evicts.map(Value::Gauge));
    add(reading, node, metric::REDIS_KEYS, info.keys.map(Value::Gauge));
    add(reading, node, metric::REDIS_KEYS_VOLATILE, info.volatile_keys.map(Value::Gauge));
    let expiring = info.number("expire_cycle_cpu_milliseconds").map(|ms| ms / 1e3);
    add(reading, node, metric::REDIS_EXPIRE_TIME, expiring.map(Value::Counter));
    add_persistence(reading, node, info);
    add_replicas(reading, node, info);
    let link = info.text("master_link_status").map(|status| f64::from(u8::from(status == "up")));
    add(reading, node, metric::REDIS_REPLICATION_UP, link.map(Value::Gauge));
    // Modules and scripts can make up any number of words: those that are replied most often are kept.
    let mut errors = info.errors.clone();
    errors.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (word, count) in errors.iter().take(ERRORS_SHOWN) {
        reading.part(node, metric::REDIS_ERRORS, word, Value::Counter(*count));
    }
    if !info.commands.is_empty() {
        let usec: f64 = info.commands.iter().map(|command| command.usec).sum();
        reading.sample(node, metric::REDIS_EXEC, Value::Counter(usec / 1e6));
        for name in busiest.pick(info) {
            let Some(command) = info.commands.iter().find(|command| command.name == name) else { continue };
            let part = part_of(&name);
            reading.part(node, metric::REDIS_COMMAND_CALLS, &part, Value::Counter(command.calls));
            reading.part(node, metric::REDIS_COMMAND_TIME, &part, Value::Counter(command.usec / 1e6));
        }
    }
}

/// A command as users know it: `config|get` is CONFIG GET.
pub(super) fn part_of(command: &str) -> String {
    command.to_ascii_uppercase().replace('|', " ")
}

/// Whether a child saves, and whether what was saved last went well.
fn add_persistence(reading: &mut Reading, node: &Subject, info: &Info<'_>) {
    let children = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"];
    let saving = children.iter().filter_map(|field| info.number(field)).reduce(f64::max);
    add(reading, node, metric::REDIS_SAVING, saving.map(Value::Gauge));
    let outcomes = ["rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"];
    let went_well = outcomes.iter().filter_map(|field| info.text(field)).map(|word| word == "ok");
    let all_well = went_well.reduce(|one, other| one && other).map(|well| f64::from(u8::from(well)));
    add(reading, node, metric::REDIS_SAVE_OK, all_well.map(Value::Gauge));
}

/// What a primary says of each of its replicas.
fn add_replicas(reading: &mut Reading, node: &Subject, info: &Info<'_>) {
    if info.text("role") != Some("master") {
        return;
    }
    add(reading, node, metric::REDIS_REPLICAS, info.number("connected_slaves").map(Value::Gauge));
    let written = info.number("master_repl_offset");
    for replica in info.replicas.iter().take(REPLICAS_SHOWN) {
        // As its subject is written: a rule joins the two.
        let part = write_address(replica.host, replica.port);
        let lag = replica.lag_s.map(Value::Gauge);
        let behind = written.zip(replica.offset).map(|(written, at)| Value::Gauge((written - at).max(0.0)));
        for (metric, value) in [(metric::REDIS_REPLICA_LAG, lag), (metric::REDIS_REPLICA_BEHIND, behind)] {
            if let Some(value) = value {
                reading.part(node, metric, &part, value);
            }
        }
    }
}

/// Seconds that the main thread was busy: the server's own figure where there is one, because with IO threads
/// some forks busy-wait and then CPU time says nothing; else the thread's CPU time; else, off Linux and where threads
/// are equals, nothing.
pub(super) fn main_thread_seconds(info: &Info<'_>) -> Option<f64> {
    if info.has_equal_threads() {
        return None;
    }
    info.number("used_active_time_main_thread")
        .or_else(|| info.sum("used_cpu_user_main_thread", "used_cpu_sys_main_thread"))
}

fn add(reading: &mut Reading, node: &Subject, metric: Metric, value: Option<Value>) {
    if let Some(value) = value {
        reading.sample(node, metric, value);
    }
}

/// Which commands cost a node most: by time, slowly forgetting, and not swapped for a small difference, so that
/// their series have no holes.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    totals: BTreeMap<String, f64>,
    scores: BTreeMap<String, f64>,
    shown: Vec<String>,
}

/// What one look leaves of the earlier score.
const MEMORY: f64 = 0.9;

/// The advantage of a command that is shown already.
const INERTIA: f64 = 1.5;

impl Busiest {
    /// The commands that cost most at the last look, in the server's words, the costliest first.
    pub(super) fn shown(&self) -> &[String] {
        &self.shown
    }

    fn pick(&mut self, info: &Info<'_>) -> Vec<String> {
        // Scripts and modules can make up names; one that is gone is not kept for it.
        let present: BTreeSet<&str> = info.commands.iter().map(|command| command.name).collect();
        self.totals.retain(|name, _| present.contains(name.as_str()));
        self.scores.retain(|name, _| present.contains(name.as_str()));
        for command in &info.commands {
            let before = self.totals.insert(command.name.to_owned(), command.usec).unwrap_or(0.0);
            let score = self.scores.entry(command.name.to_owned()).or_insert(0.0);
            // A restart takes the total back to zero: then all of it is new.
            let new = if command.usec >= before { command.usec - before } else { command.usec };
            *score = *score * MEMORY + new;
        }
        let mut ranked: Vec<(f64, &String)> = self
            .scores
            .iter()
            .map(|(name, score)| (if self.shown.contains(name) { score * INERTIA } else { *score }, name))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        self.shown = ranked.into_iter().take(COMMANDS_SHOWN).map(|(_, name)| name.clone()).collect();
        self.shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric::MetricName;
    use headwater_engine::{Kind, Moment};

    use super::super::fixture;
    use super::*;

    fn reading(text: &str) -> Reading {
        let node = Subject::component(Kind::Redis, "features").shard(0).instance("a:1");
        let mut reading = Reading::new(node.clone(), Moment(0));
        add_samples(&mut reading, &node, &Info::parse(text), &mut Busiest::default());
        reading
    }

    fn value(reading: &Reading, metric: Metric) -> Option<f64> {
        let sample = reading.samples.iter().find(|sample| sample.metric == MetricName::Known(metric))?;
        match sample.value {
            Value::Gauge(value) | Value::Counter(value) => Some(value),
            Value::Histogram(_) => None,
        }
    }

    #[test]
    fn every_version_gives_the_numbers_that_rules_need() {
        for folder in ["redis-6.2.16", "redis-7.0.15", "redis-8.2.3", "valkey-9.1"] {
            let Some(bytes) = fixture(&format!("redis-samples/{folder}/info-all.txt")) else { return };
            let reading = reading(&String::from_utf8(bytes).unwrap());
            let needed = [
                metric::REDIS_CPU,
                metric::REDIS_EXEC,
                metric::REDIS_COMMANDS,
                metric::REDIS_NET_OUT,
                metric::REDIS_HITS,
                metric::REDIS_CLIENTS,
                metric::REDIS_MEMORY_MAX,
                metric::REDIS_EVICTED,
                metric::REDIS_ERRORS,
                metric::REDIS_COMMAND_TIME,
            ];
            for metric in needed {
                assert!(value(&reading, metric).is_some_and(|value| value > 0.0), "{metric:?} in {folder}");
            }
            let commands =
                reading.samples.iter().filter(|s| s.metric == metric::REDIS_COMMAND_TIME.into()).count();
            assert_eq!(commands, COMMANDS_SHOWN, "{folder}");
        }
    }

    #[test]
    fn a_broken_replica_shows_its_link_and_no_lag() {
        let Some(bytes) = fixture("redis-samples/redis-7.0.15/info-replica-linkdown.txt") else { return };
        let reading = reading(&String::from_utf8(bytes).unwrap());
        assert_eq!(value(&reading, metric::REDIS_REPLICATION_UP), Some(0.0));
        assert_eq!(value(&reading, metric::REDIS_REPLICATION_LAG), None);
    }

    #[test]
    fn a_replica_is_named_as_its_subject_is_written() {
        let reading = reading(
            "role:master\r\nconnected_slaves:2\r\n\
             slave0:ip=::1,port=6380,state=online,offset=10,lag=1\r\n\
             slave1:ip=10.0.0.2,port=6379,state=online,offset=10,lag=0\r\n",
        );
        let lags = reading.samples.iter().filter(|sample| sample.metric == metric::REDIS_REPLICA_LAG.into());
        let named: Vec<String> = lags.filter_map(|sample| Some(sample.part.as_ref()?.to_string())).collect();
        assert_eq!(named, ["[::1]:6380", "10.0.0.2:6379"]);
    }

    #[test]
    fn absent_fields_give_no_sample_and_no_limit_is_not_zero() {
        let reading = reading("maxmemory:0\r\nused_memory:7\r\nused_cpu_sys_main_thread:1.5\r\n");
        assert_eq!(reading.samples.len(), 1);
        assert_eq!(value(&reading, metric::REDIS_MEMORY), Some(7.0));
    }

    #[test]
    fn active_time_is_preferred_to_cpu_time() {
        let cpu = "used_cpu_user_main_thread:90\r\nused_cpu_sys_main_thread:10\r\n";
        assert_eq!(value(&reading(cpu), metric::REDIS_CPU), Some(100.0));
        let active = format!("{cpu}used_active_time_main_thread:12.5\r\n");
        assert_eq!(value(&reading(&active), metric::REDIS_CPU), Some(12.5));
    }

    #[test]
    fn the_shown_commands_follow_the_time_but_do_not_flicker() {
        let mut busiest = Busiest::default();
        let text = |gets: u32, last: u32| {
            let others: String = (0..7).map(|n| format!("cmdstat_c{n}:calls=1,usec=900000\n")).collect();
            format!("{others}cmdstat_get:calls=1,usec={gets}\ncmdstat_zz:calls=1,usec={last}\n")
        };
        let mut pick = |gets, last| busiest.pick(&Info::parse(&text(gets, last)));
        assert!(pick(1_000, 999).contains(&"get".to_owned()));
        assert!(!pick(2_000, 2_100).contains(&"zz".to_owned()), "a hair's breadth does not swap");
        assert!(pick(2_000, 90_000).contains(&"zz".to_owned()));
    }

    #[test]
    fn names_that_are_gone_are_forgotten() {
        let mut busiest = Busiest::default();
        for name in 0..500 {
            let text = format!("cmdstat_made_up_{name}:calls=1,usec=9\ncmdstat_get:calls=1,usec={name}\n");
            busiest.pick(&Info::parse(&text));
        }
        assert_eq!((busiest.totals.len(), busiest.scores.len()), (2, 2));
    }
}
