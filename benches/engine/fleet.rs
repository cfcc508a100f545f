//! A simulated fleet of Redis nodes and service instances, read once a second, with the engine behind it.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{self, Metric};
use headwater_engine::reading::{Event, Input, Node, NodeHealth, Reading, Shard, Topology, Value};
use headwater_engine::settings::{Component, Settings};
use headwater_engine::{Baselines, Engine, Kind, Moment, RemoteText, Subject};
use rustix::time::{ClockId, clock_gettime};

const INSTANCES: usize = 8;
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

/// The engine with the simulated fleet in front of it.
pub(crate) struct Fleet {
    pub(crate) engine: Engine,
    topology: Topology,
    second: u32,
    pub(crate) samples: usize,
}

impl Fleet {
    pub(crate) fn new(shards: usize, nodes_a_shard: usize) -> Self {
        let cluster = Subject::component(Kind::Redis, "features");
        let shards = (0..shards).map(|index| {
            let subject = cluster.shard(index);
            let nodes = (0..nodes_a_shard).map(|place| {
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

    pub(crate) fn tick(&self) -> Input {
        Input::Tick(BEGAN + Duration::from_secs(self.second.into()) + Duration::from_millis(900))
    }

    /// The readings of the next second, of every node and instance.
    pub(crate) fn next_readings(&mut self) -> Vec<Input> {
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

/// Processor time of this thread for some work.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time since the start");
    let began = now();
    work();
    now() - began
}
