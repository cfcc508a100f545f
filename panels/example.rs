//! A small deployment that is driven through a real engine, for the tests of panels.

mod deployment;
mod drawing;
mod keyspace;
mod suspicion;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::*;
use headwater_engine::reading::{
    Event, Fault, FaultKind, Input, KeySize, Node, NodeHealth, Reading, Scan, ScanState, Shard, Topology,
    Value,
};
use headwater_engine::settings::{Baselines, Component, Settings};
use headwater_engine::{Engine, Moment, RemoteText, Snapshot, Subject};

use deployment::{node, topology};
pub(crate) use drawing::{drawn, keys, live, text_of};
pub(crate) use keyspace::scan;

/// The first second: 14:06:00 UTC of some day.
pub(crate) const BEGAN: Moment = Moment(1_772_633_160_000);

const BOUNDS: &[f64] = &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0];

/// Requests a second.
const RATE: f64 = 1_420.0;

/// What is said of the Redis nodes of `redis/features`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing is wrong.
    #[default]
    None,
    /// A key of 1.8 MB is read so often that the link of shard 2 is full.
    FullLink,
    /// The node of shard 2 takes long, and is waited for.
    Late,
    /// Every target refuses connections.
    Refused,
    /// Nothing has answered yet.
    Nothing,
}

/// Three shards, a service with its queue, a client; a GPU is declared and no source tells of it.
pub(crate) struct World {
    engine: Engine,
    second: i64,
    totals: std::collections::BTreeMap<(Subject, MetricName, String), (f64, Histogram)>,
    /// What is going on from now on.
    pub(crate) trouble: Trouble,
    /// Replicas that each primary counts.
    replicas: f64,
    /// Whether a slot is on its way from shard 2 to shard 1.
    is_moving: bool,
}

pub(crate) fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

fn settings() -> Settings {
    let mut redis = Component::new(subject("redis/features"));
    redis.has_source = true;
    redis.link = Some(25e6);
    let mut service = Component::new(subject("service/ranker"));
    service.has_source = true;
    service.objective_p99 = Some(Duration::from_millis(500));
    service.stages.insert("feature_load".to_owned(), subject("redis/features"));
    let mut queue = Component::new(subject("queue/ranker"));
    queue.has_source = true;
    let gpu = Component::new(subject("gpu/ranker"));
    let mut client = Component::new(subject("client/load"));
    client.has_source = true;
    Settings {
        name: "ranker-prod".to_owned(),
        components: vec![redis, service, queue, gpu, client],
        ..Settings::default()
    }
}

impl World {
    /// A deployment that nobody has looked at yet.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same, declared otherwise.
    pub(crate) fn with(adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings();
        adjust(&mut settings);
        Self {
            engine: Engine::new(settings, Baselines::default()),
            second: 0,
            totals: std::collections::BTreeMap::new(),
            trouble: Trouble::None,
            replicas: 0.0,
            is_moving: false,
        }
    }

    /// Two minutes of health, then so many seconds of this trouble.
    pub(crate) fn after(trouble: Trouble, seconds: i64) -> Arc<Snapshot> {
        let mut world = Self::new();
        if !matches!(trouble, Trouble::Refused | Trouble::Nothing) {
            world.run(120);
        }
        world.trouble = trouble;
        world.run(seconds);
        world.snapshot()
    }

    /// The newest snapshot.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot().unwrap()
    }

    /// Hands the engine something else.
    pub(crate) fn take(&mut self, input: &Input) {
        self.engine.take(input);
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Moment {
        BEGAN + Duration::from_secs(self.second.unsigned_abs())
    }

    /// Lets so many seconds pass.
    pub(crate) fn run(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.second += 1;
            let now = self.now();
            for reading in self.readings(now) {
                self.engine.take(&Input::Reading(reading));
            }
            self.engine.take(&Input::Tick(now));
        }
    }

    fn readings(&mut self, now: Moment) -> Vec<Reading> {
        let service = subject("service/ranker@10.1.0.1:8000");
        let nodes: Vec<Subject> = (0..3).map(node).collect();
        let client = subject("client/load@10.2.0.1:9000");
        let refused = |source: &Subject| {
            let mut reading = Reading::new(source.clone(), now);
            let message = RemoteText::new("connection refused: is it running?");
            reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
            reading
        };
        let mut all: Vec<Reading> = match self.trouble {
            Trouble::Nothing => vec![],
            Trouble::Refused => nodes.iter().chain([&service, &client]).map(refused).collect(),
            _ => {
                let mut all: Vec<Reading> = (0..3).map(|shard| self.redis(shard, now)).collect();
                all.extend([self.service(&service, now), self.client(&client, now)]);
                all
            }
        };
        let observer = subject("observer/headwater");
        let mut own = Reading::new(observer.clone(), now);
        own.sample(&observer, LOOP_LAG, Value::Gauge(0.001));
        own.sample(&observer, PROCESS_MEMORY, Value::Gauge(24e6));
        self.count(&mut own, &observer, PROCESS_CPU, 0.004);
        all.push(own);
        all
    }

    fn redis(&mut self, shard: usize, now: Moment) -> Reading {
        let node = node(shard);
        let mut reading = Reading::new(node.clone(), now);
        if self.second == 1 {
            reading.events.push(Event::Topology(topology()));
        }
        if shard == 2 && self.trouble == Trouble::Late {
            reading.events.push(Event::Late(now - Duration::from_secs(2)));
            return reading;
        }
        reading.events.push(Event::ClusterView(self.seen_by(shard)));
        let is_full = shard == 2 && self.trouble == Trouble::FullLink;
        let (answer, out) = if is_full { (0.041, 23.9e6) } else { (0.0007, 400_000.0) };
        reading.sample(&node, REDIS_ANSWER_TIME, Value::Gauge(answer));
        reading.sample(&node, REDIS_CLIENTS, Value::Gauge(20.0));
        reading.sample(&node, REDIS_MEMORY, Value::Gauge(1e8));
        reading.sample(&node, REDIS_REPLICAS, Value::Gauge(self.replicas));
        // A fork of some time ago, that nobody felt.
        reading.sample(&node, REDIS_FORK_TIME, Value::Gauge(if shard == 2 { 0.023 } else { 0.001 }));
        for (metric, rate) in [
            (REDIS_CPU, 0.06),
            (REDIS_CPU_PROCESS, 0.07),
            (REDIS_EXEC, 0.04),
            (REDIS_COMMANDS, 400.0),
            (REDIS_NET_IN, 50_000.0),
            (REDIS_NET_OUT, out),
            (REDIS_HITS, 394.0),
            (REDIS_MISSES, 6.0),
            (REDIS_EXPIRED, 12.0),
            (REDIS_EXPIRE_CAPPED, 0.0),
            (REDIS_EVICTED, 0.0),
            (REDIS_FORKS, 0.0),
            (REDIS_OUR_COMMANDS, 2.0),
            (REDIS_OUR_BYTES, 9_000.0),
        ] {
            self.count(&mut reading, &node, metric, rate);
        }
        if is_full {
            let key = |name: &str, bytes| KeySize {
                key: RemoteText::new(name),
                slot: Some(14_000),
                kind: RemoteText::new("string"),
                bytes,
                elements: None,
            };
            reading.events.push(Event::Scan(Scan {
                scanned: 1_000,
                total: 1_000,
                state: ScanState::Complete,
                biggest: vec![key("user:profile:8812", 1_800_000), key("item:feat:55", 900)],
                ..Scan::begun(subject("redis/features#2"), node.clone())
            }));
        }
        reading
    }

    fn service(&mut self, service: &Subject, now: Moment) -> Reading {
        let queue = subject("queue/ranker@10.1.0.1:8000");
        let mut reading = Reading::new(service.clone(), now);
        let is_slow = self.trouble == Trouble::FullLink;
        let (whole, load, get) = if is_slow { (2.4, 1.6, 0.45) } else { (0.06, 0.008, 0.0015) };
        self.events(&mut reading, service, REQUEST_DURATION, "", &[(0.04, RATE * 0.9), (whole, RATE * 0.1)]);
        self.events(&mut reading, service, STAGE_DURATION, "feature_load", &[(load, RATE)]);
        self.events(&mut reading, service, STAGE_DURATION, "infer", &[(0.03, RATE)]);
        self.events(&mut reading, service, DB_DURATION, "GET", &[(get, RATE * 2.0)]);
        self.count(&mut reading, service, REQUESTS, RATE);
        self.count(&mut reading, service, ERRORS, if is_slow { 0.003 * RATE } else { 0.0 });
        reading.sample(service, IN_FLIGHT, Value::Gauge(40.0));
        reading.sample(&queue, QUEUE_WAITING, Value::Gauge(3.0));
        reading.sample(&queue, QUEUE_RUNNING, Value::Gauge(7.0));
        reading.events.push(Event::Dialects(vec![RemoteText::new("lab")]));
        self.count(&mut reading, service, SCRAPE_BYTES, 12_000.0);
        reading.sample(service, SCRAPE_TIME, Value::Gauge(0.002));
        reading
    }

    fn client(&mut self, client: &Subject, now: Moment) -> Reading {
        let mut reading = Reading::new(client.clone(), now);
        let is_slow = self.trouble == Trouble::FullLink;
        self.count(&mut reading, client, CLIENT_ORIGINALS, RATE);
        self.count(&mut reading, client, CLIENT_ATTEMPTS, RATE * if is_slow { 1.011 } else { 1.0 });
        self.count(&mut reading, client, CLIENT_SUCCESSES, RATE);
        reading.events.push(Event::Unavailable {
            what: RemoteText::new("request durations"),
            why: RemoteText::new("the page has no histogram of them"),
        });
        reading
    }

    fn count(&mut self, reading: &mut Reading, subject: &Subject, metric: Metric, rate: f64) {
        let (total, _) = self.running(subject, metric, "");
        *total += rate;
        let value = Value::Counter(*total);
        reading.sample(subject, metric, value);
    }

    fn events(
        &mut self,
        reading: &mut Reading,
        subject: &Subject,
        metric: Metric,
        part: &str,
        values: &[(f64, f64)],
    ) {
        let (_, histogram) = self.running(subject, metric, part);
        for (value, events) in values {
            for (bound, count) in histogram.bounds.iter().zip(&mut histogram.counts) {
                *count += if value <= bound { *events } else { 0.0 };
            }
            histogram.count += events;
            histogram.sum = histogram.sum.map(|sum| sum + value * events);
        }
        let value = Value::Histogram(Arc::new(histogram.clone()));
        match part {
            "" => reading.sample(subject, metric, value),
            part => reading.part(subject, metric, part, value),
        }
    }

    fn running(&mut self, subject: &Subject, metric: Metric, part: &str) -> &mut (f64, Histogram) {
        self.totals.entry((subject.clone(), metric.into(), part.to_owned())).or_insert_with(|| {
            let counts = vec![0.0; BOUNDS.len()].into();
            (1e6, Histogram { bounds: BOUNDS.into(), counts, count: 0.0, sum: Some(0.0) })
        })
    }
}
