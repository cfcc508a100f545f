//! What a fleet of a thousand Redis nodes costs the engine: share of one core, and memory.
//!
//! Ten simulated minutes at 1 Hz are fed first, timed in processor time, and the peak of the resident memory is
//! read at their end; then criterion times one simulated second of the same, warm engine: its readings, and its
//! tick with all rules, the triage and the snapshot.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{self, Metric};
use headwater_engine::reading::{Event, Input, Node, NodeHealth, Reading, Shard, Topology, Value};
use headwater_engine::settings::{Component, Settings};
use headwater_engine::{Baselines, Engine, Kind, Moment, RemoteText, Subject};
use rustix::time::{ClockId, clock_gettime};

const SHARDS: usize = 500;
const NODES_A_SHARD: usize = 2;
const INSTANCES: usize = 8;
const SECONDS: u32 = 600;
const BEGAN: Moment = Moment(1_772_633_160_000);

/// Counters of a node that serves, with their rates a second: what the Redis source reads from INFO.
const COUNTERS: &[(Metric, f64)] = &[
    (metric::REDIS_COMMANDS, 2_000.0),
    (metric::REDIS_NET_IN, 150e3),
    (metric::REDIS_NET_OUT, 2.5e6),
    (metric::REDIS_NET_REPL_IN, 40e3),
    (metric::REDIS_NET_REPL_OUT, 40e3),
    (metric::REDIS_HITS, 1_900.0),
    (metric::REDIS_MISSES, 20.0),
    (metric::REDIS_EXPIRED, 12.0),
    (metric::REDIS_EXPIRE_CAPPED, 0.0),
    (metric::REDIS_EVICTED, 0.0),
    (metric::REDIS_CONNECTIONS, 0.5),
    (metric::REDIS_REJECTED, 0.0),
    (metric::REDIS_FORKS, 0.0),
    (metric::REDIS_CPU, 0.12),
    (metric::REDIS_CPU_PROCESS, 0.15),
    (metric::REDIS_EXEC, 0.09),
    (metric::REDIS_OUR_COMMANDS, 1.2),
    (metric::REDIS_OUR_BYTES, 9e3),
];

const LEVELS: &[(Metric, f64)] = &[
    (metric::REDIS_ANSWER_TIME, 0.000_8),
    (metric::REDIS_CLIENTS_BLOCKED, 0.0),
    (metric::REDIS_CLIENTS_MAX, 10_000.0),
    (metric::REDIS_MEMORY, 2e9),
    (metric::REDIS_MEMORY_RSS, 2.2e9),
    (metric::REDIS_FORK_TIME, 0.01),
    (metric::REDIS_CLIENTS, 40.0),
    (metric::REDIS_KEYS, 1.5e6),
    (metric::REDIS_MEMORY_MAX, 4e9),
];

const COMMANDS: &[&str] = &["GET", "MGET", "SET", "HGETALL", "EXPIRE", "INFO", "PING", "SLOWLOG GET"];

fn main() {
    let mut fleet = Fleet::new();
    let spent = fleet.run(SECONDS);
    report(&fleet, &spent);
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("engine, 1000 nodes");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let fleet = std::cell::RefCell::new(fleet);
    group.bench_function("readings of one second", |bencher| {
        bencher.iter_batched(
            || fleet.borrow_mut().next_readings(),
            |readings| readings.iter().for_each(|reading| fleet.borrow_mut().engine.take(reading)),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("tick", |bencher| {
        bencher.iter_batched(
            || {
                let readings = fleet.borrow_mut().next_readings();
                readings.iter().for_each(|reading| fleet.borrow_mut().engine.take(reading));
                fleet.borrow().tick()
            },
            |tick| {
                fleet.borrow_mut().engine.take(&tick);
                black_box(fleet.borrow().engine.snapshot())
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Processor time of every second, readings and tick apart.
struct Spent {
    readings: Vec<Duration>,
    ticks: Vec<Duration>,
}

/// The engine with the simulated fleet in front of it.
struct Fleet {
    engine: Engine,
    topology: Topology,
    second: u32,
    samples: usize,
}

impl Fleet {
    fn new() -> Self {
        let cluster = Subject::component(Kind::Redis, "features");
        let shards = (0..SHARDS).map(|index| {
            let subject = cluster.shard(index);
            let nodes = (0..NODES_A_SHARD).map(|place| {
                let address = format!("10.{}.{}.{}:6379", index / 250, index % 250, place + 1);
                Node {
                    subject: subject.instance(&address),
                    id: RemoteText::new(&address),
                    primary: place == 0,
                    health: NodeHealth::Online,
                }
            });
            Shard { nodes: nodes.collect(), slots: vec![(0, 32)], subject }
        });
        let topology = Topology { cluster: cluster.clone(), clustered: true, shards: shards.collect() };
        let service = Subject::component(Kind::Service, "ranker");
        let mut redis = Component::new(cluster.clone());
        (redis.has_source, redis.link) = (true, Some(1.25e9));
        let mut ranker = Component::new(service);
        ranker.has_source = true;
        ranker.depends_on = vec![cluster.clone()];
        ranker.stages = [("feature_load".to_owned(), cluster)].into();
        let settings = Settings { components: vec![redis, ranker], ..Settings::default() };
        Self { engine: Engine::new(settings, Baselines::default()), topology, second: 0, samples: 0 }
    }

    fn run(&mut self, seconds: u32) -> Spent {
        let mut spent = Spent { readings: vec![], ticks: vec![] };
        for _ in 0..seconds {
            let readings = self.next_readings();
            spent.readings.push(timed(|| readings.iter().for_each(|reading| self.engine.take(reading))));
            let tick = self.tick();
            spent.ticks.push(timed(|| self.engine.take(&tick)));
        }
        spent
    }

    fn tick(&self) -> Input {
        Input::Tick(BEGAN + Duration::from_secs(self.second.into()) + Duration::from_millis(900))
    }

    /// The readings of the next second, of every node and instance.
    fn next_readings(&mut self) -> Vec<Input> {
        self.second += 1;
        let at = BEGAN + Duration::from_secs(self.second.into());
        let nodes = self.topology.shards.iter().flat_map(|shard| &shard.nodes).enumerate();
        let mut readings: Vec<Reading> = nodes.map(|(index, node)| self.node(node, index, at)).collect();
        readings.extend((0..INSTANCES).map(|index| self.instance(index, at)));
        self.samples = readings.iter().map(|reading| reading.samples.len()).sum();
        readings.into_iter().map(Input::Reading).collect()
    }

    fn node(&self, node: &Node, index: usize, at: Moment) -> Reading {
        let name = &node.subject;
        let mut reading = Reading::new(name.clone(), at);
        reading.source_clock_us = u64::try_from(at.0 * 1_000).ok();
        // No two nodes and no two seconds are quite alike.
        let wave = 1.0 + 0.2 * f64::sin(f64::from(self.second) * 0.37 + index as f64);
        let elapsed = 1e6 + f64::from(self.second) + 0.1 * wave;
        for (metric, rate) in COUNTERS {
            reading.sample(name, *metric, Value::Counter(rate * elapsed));
        }
        for (metric, level) in LEVELS {
            reading.sample(name, *metric, Value::Gauge(level * wave));
        }
        reading.sample(name, metric::REDIS_UPTIME, Value::Gauge(1e6 + f64::from(self.second)));
        if !node.primary {
            reading.sample(name, metric::REDIS_REPLICATION_UP, Value::Gauge(1.0));
            reading.sample(name, metric::REDIS_REPLICATION_LAG, Value::Gauge(0.0));
        }
        for command in COMMANDS {
            reading.part(name, metric::REDIS_COMMAND_CALLS, command, Value::Counter(200.0 * elapsed));
            reading.part(name, metric::REDIS_COMMAND_TIME, command, Value::Counter(0.01 * elapsed));
        }
        if index == 0 && self.second % 30 == 1 {
            reading.events.push(Event::Topology(self.topology.clone()));
        }
        reading
    }

    fn instance(&self, index: usize, at: Moment) -> Reading {
        let service = Subject::component(Kind::Service, "ranker").instance(&format!("10.9.0.{index}:8000"));
        let mut reading = Reading::new(service.clone(), at);
        let count = 300.0 * f64::from(self.second) + 1e6;
        let started = BEGAN.0 as f64 / 1e3 - 1e4;
        reading.sample(&service, metric::PROCESS_START, Value::Gauge(started));
        reading.sample(&service, metric::REQUESTS, Value::Counter(count));
        reading.sample(&service, metric::ERRORS, Value::Counter(0.0));
        reading.sample(&service, metric::REQUEST_DURATION, filled(count, 0.02));
        reading.part(&service, metric::STAGE_DURATION, "feature_load", filled(count, 0.005));
        reading.part(&service, metric::STAGE_DURATION, "infer", filled(count, 0.015));
        reading.part(&service, metric::DB_DURATION, "GET", filled(4.0 * count, 0.002));
        reading
    }
}

/// A cumulative histogram of `count` events around `typical` seconds.
fn filled(count: f64, typical: f64) -> Value {
    let bounds: Arc<[f64]> = (0..16).map(|power| 0.001 * f64::from(1_u32 << power)).collect();
    let counts = bounds.iter().map(|bound| count * (1.0 - (-bound / typical).exp())).collect();
    Value::Histogram(Arc::new(Histogram { bounds, counts, count, sum: Some(count * typical) }))
}

fn timed(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time since the start");
    let began = now();
    work();
    now() - began
}

fn report(fleet: &Fleet, spent: &Spent) {
    let rows = [("readings", &spent.readings), ("tick", &spent.ticks)];
    let mut out = std::io::stdout().lock();
    let mut say = |text: String| writeln!(out, "{text}").expect("standard output");
    say(format!(
        "{} nodes, {} samples a second, {} series, {SECONDS} simulated seconds",
        SHARDS * NODES_A_SHARD,
        fleet.samples,
        fleet.engine.store().series_count()
    ));
    say("| part | mean | median | worst | share of a core |".to_owned());
    say("| --- | --- | --- | --- | --- |".to_owned());
    for (name, times) in rows {
        let mut sorted = times.clone();
        sorted.sort();
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1);
        say(format!(
            "| {name} | {mean:.1?} | {:.1?} | {:.1?} | {:.1} % |",
            sorted[sorted.len() / 2],
            sorted[sorted.len() - 1],
            mean.as_secs_f64() * 100.0
        ));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    let history = fleet.engine.store().bytes() as f64 / 1e6;
    say(format!("{peak}; history {history:.0} MB of points, bins and scrapes"));
    let snapshot = fleet.engine.snapshot().expect("a snapshot");
    say(format!("conclusion {:?}, {} rule states", snapshot.report.conclusion, snapshot.rules.len()));
}
