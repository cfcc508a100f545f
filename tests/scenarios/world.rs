//! Drives the engine through a case: totals grow, histograms fill, faults and events come when they are due.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{Form, PROCESS_START, REDIS_UPTIME};
use headwater_engine::reading::{
    Change, Event, Fault, Input, Node, NodeHealth, Reading, Sample, Shard, SlowCommand, Topology, Value,
};
use headwater_engine::settings::{BaselineRow, Baselines, Component, Settings, Teller};
use headwater_engine::slot::SLOTS;
use headwater_engine::{Engine, Kind, Moment, RemoteText, Snapshot, Subject};

use super::healthy::{Exposes, Healthy, Worth, nodes, sources};
use super::script::{Case, Failing, Set, during};
use super::{expect, keys, views};

/// The first second: a Wednesday, 14:06:00 UTC.
pub(crate) const BEGAN: Moment = Moment(1_772_633_160_000);

/// How long every target had run at the first second.
const UPTIME_S: f64 = 100_000.0;

/// Bucket bounds of every histogram, in seconds.
const BOUNDS: &[f64] = &[
    0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3,
    0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 5.0, 10.0,
];

/// A series with what it has gathered so far.
struct Running {
    healthy: Healthy,
    total: f64,
    histogram: Histogram,
}

/// A source with its series.
struct Target {
    source: Subject,
    series: Vec<Running>,
    started_s: f64,
}

/// A case in progress.
pub(crate) struct World<'a> {
    case: &'a Case,
    targets: Vec<Target>,
    engine: Engine,
    topology_sent: Option<Topology>,
}

impl<'a> World<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        let bounds: Arc<[f64]> = BOUNDS.into();
        let targets: Vec<Target> = sources(case)
            .into_iter()
            .map(|Exposes { source, series }| Target {
                source,
                started_s: -UPTIME_S,
                series: series
                    .into_iter()
                    .map(|healthy| {
                        let life = worth(&case.lifetime, &healthy, 0);
                        let empty = Histogram {
                            bounds: Arc::clone(&bounds),
                            counts: vec![0.0; bounds.len()].into(),
                            count: 0.0,
                            sum: Some(0.0),
                        };
                        let mut running = Running { healthy, total: 0.0, histogram: empty };
                        running.advance(&life, UPTIME_S);
                        running
                    })
                    .collect(),
            })
            .collect();
        for row in case.set.iter().chain(&case.lifetime) {
            let is_known = |series: &Running| {
                row.subject.contains(&series.healthy.subject) && row.metric == series.healthy.metric.as_str()
            };
            assert!(
                targets.iter().flat_map(|target| &target.series).any(is_known),
                "[{}] nothing tells '{}' of {}",
                case.name,
                row.metric,
                row.subject
            );
        }
        let engine = Engine::new(settings(case), learned(case));
        Self { case, targets, engine, topology_sent: None }
    }

    /// Runs to the end; returns what was not as expected.
    pub(crate) fn run(mut self, rule: Option<&str>) -> Vec<String> {
        let mut complaints = vec![];
        for second in 0..=self.case.seconds {
            self.step(second);
            let snapshot = self.engine.snapshot().expect("a tick makes a snapshot");
            for expect in &self.case.expect {
                if expect.at.unwrap_or(self.case.seconds) == second {
                    complaints.extend(expect::rule(&snapshot, expect, rule));
                }
            }
        }
        let snapshot = self.engine.snapshot().expect("a tick makes a snapshot");
        complaints.extend(self.case.report.iter().flat_map(|report| expect::report(&snapshot, report)));
        complaints.into_iter().map(|complaint| format!("[{}] {complaint}", self.case.name)).collect()
    }

    /// Runs to the end; returns what is said then.
    pub(crate) fn outcome(mut self) -> Arc<Snapshot> {
        for second in 0..=self.case.seconds {
            self.step(second);
        }
        self.engine.snapshot().expect("a tick makes a snapshot")
    }

    fn step(&mut self, second: u32) {
        let at = BEGAN + Duration::from_secs(second.into());
        for place in 0..self.targets.len() {
            self.advance(place, second);
            if let Some(reading) = self.reading(place, second, at) {
                self.engine.take(&Input::Reading(reading));
            }
        }
        for reading in changes(self.case, second, at) {
            self.engine.take(&Input::Reading(reading));
        }
        self.engine.take(&Input::Tick(at + Duration::from_millis(500)));
    }

    fn advance(&mut self, place: usize, second: u32) {
        let target = &mut self.targets[place];
        if self.case.restart.iter().any(|row| row.source == target.source && row.at == second) {
            target.started_s = f64::from(second) - 1.0;
            for series in &mut target.series {
                series.total = 0.0;
                series.histogram.counts.fill(0.0);
                (series.histogram.count, series.histogram.sum) = (0.0, Some(0.0));
            }
        }
        if second > 0 {
            for series in &mut target.series {
                let now = worth(&self.case.set, &series.healthy, second);
                series.advance(&now, 1.0);
            }
        }
    }

    fn reading(&mut self, place: usize, second: u32, at: Moment) -> Option<Reading> {
        let Self { case, targets, topology_sent, .. } = self;
        let target = &targets[place];
        let source = &target.source;
        if case.silent.iter().any(|row| row.source.contains(source) && during(second, row.from, row.until)) {
            return None;
        }
        let mut reading = Reading::new(source.clone(), at);
        if let Some(every) = case.scraped_every {
            reading.every = Some(Duration::from_secs(every.into()));
            if !second.is_multiple_of(every) {
                return None;
            }
        }
        if let Some(late) =
            case.late.iter().find(|row| row.source.contains(source) && during(second, row.from, row.until))
        {
            reading.events.push(Event::Late(BEGAN + Duration::from_secs(late.from.into())));
            return (second == late.from + 2).then_some(reading);
        }
        let fault =
            case.fault.iter().find(|row| row.source.contains(source) && during(second, row.from, row.until));
        if let Some(fault) = fault {
            let message = RemoteText::new(&fault.message);
            reading.faults.push(Fault { kind: fault.kind, message });
            return Some(reading);
        }
        let shown = |series: &Running| {
            !case.without.iter().any(|row| {
                row.subject.contains(&series.healthy.subject)
                    && row.metric.as_ref().is_none_or(|name| name == series.healthy.metric.as_str())
                    && row.part.as_ref().is_none_or(|part| Some(part) == series.healthy.part.as_ref())
                    && during(second, row.from, row.until)
            })
        };
        reading.samples = target
            .series
            .iter()
            .filter(|series| shown(series))
            .map(|series| series.sample(worth(&case.set, &series.healthy, second)))
            .collect();
        if !reading.samples.is_empty() {
            add_uptime(&mut reading, target, second);
        }
        if source.kind() == Kind::Redis {
            let topology = topology(case, second);
            reading.events.extend(views::of(case, &topology, source, second));
            if topology_sent.as_ref() != Some(&topology) {
                reading.events.push(Event::Topology(topology.clone()));
                *topology_sent = Some(topology);
            }
            if case.restart.iter().any(|row| row.source == *source && row.at == second) {
                reading.events.push(Event::Restarted);
            }
        }
        add_events(case, source, second, &mut reading);
        Some(reading)
    }
}

impl Running {
    fn advance(&mut self, now: &Worth, seconds: f64) {
        match now {
            Worth::Number(rate) => self.total += rate * seconds,
            Worth::Events { rate, values } => {
                let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
                for (value, weight) in values {
                    let count = rate * seconds * weight / weights;
                    let first = self.histogram.bounds.partition_point(|bound| bound < value);
                    for bucket in &mut self.histogram.counts[first..] {
                        *bucket += count;
                    }
                    self.histogram.count += count;
                    self.histogram.sum = self.histogram.sum.map(|sum| sum + count * value);
                }
            }
        }
    }

    fn sample(&self, now: Worth) -> Sample {
        let value = match (self.healthy.form, now) {
            (Form::Gauge, Worth::Number(level)) => Value::Gauge(level),
            (Form::Histogram, _) => Value::Histogram(Arc::new(self.histogram.clone())),
            _ => Value::Counter(self.total),
        };
        Sample {
            subject: self.healthy.subject.clone(),
            metric: self.healthy.metric.clone(),
            part: self.healthy.part.as_deref().map(RemoteText::new),
            value,
        }
    }
}

/// What a series is worth in a second: the healthy value, or what the last matching row sets.
fn worth(rows: &[Set], healthy: &Healthy, second: u32) -> Worth {
    let row = rows.iter().rev().find(|row| {
        row.subject.contains(&healthy.subject)
            && row.metric == healthy.metric.as_str()
            && row.part.as_deref().is_none_or(|part| Some(part) == healthy.part.as_deref())
            && during(second, row.from, row.until)
    });
    let Some(row) = row else { return healthy.worth.clone() };
    match &healthy.worth {
        Worth::Number(value) => {
            let gained = row.gains * f64::from(second - row.from.min(second));
            Worth::Number(row.value.unwrap_or(*value) + gained)
        }
        Worth::Events { rate, values } => Worth::Events {
            rate: row.rate.unwrap_or(*rate),
            values: row
                .value
                .map(|value| vec![(value, 1.0)])
                .or_else(|| row.values.clone())
                .unwrap_or_else(|| values.clone()),
        },
    }
}

fn add_uptime(reading: &mut Reading, target: &Target, second: u32) {
    let source = target.source.clone();
    match source.kind() {
        Kind::Redis => {
            reading.source_clock_us = u64::try_from(reading.at.0 * 1_000).ok();
            reading.sample(&source, REDIS_UPTIME, Value::Gauge(f64::from(second) - target.started_s));
        }
        Kind::Service | Kind::Client => {
            let started = BEGAN.0 as f64 / 1_000.0 + target.started_s;
            reading.sample(&source, PROCESS_START, Value::Gauge(started));
        }
        _ => {}
    }
}

fn add_events(case: &Case, source: &Subject, second: u32, reading: &mut Reading) {
    for row in case.slow_log.iter().filter(|row| row.source == *source && row.at == second) {
        reading.events.extend((0..row.count).map(|id| {
            Event::SlowCommand(SlowCommand {
                id,
                at: reading.at - Duration::from_secs(row.ago.into()),
                took: Duration::from_secs_f64(row.took),
                command: RemoteText::new("HGETALL"),
                key: row.key.as_deref().map(RemoteText::new),
                arguments: vec![],
                client: RemoteText::new("ranker"),
                excluded: row.excluded,
            })
        }));
    }
    for row in case.scan.iter().filter(|row| row.at == second && row.shard.contains(source)) {
        reading.events.push(Event::Scan(keys::scan(row, source)));
    }
    keys::add_events(case, source, second, reading);
    for row in case.unavailable.iter().filter(|row| row.source.contains(source) && second == 0) {
        reading
            .events
            .push(Event::Unavailable { what: RemoteText::new(&row.what), why: RemoteText::new(&row.why) });
    }
}

/// What the sources of changes tell in a second: each speaks every second, if only to say that there is nothing new.
fn changes(case: &Case, second: u32, at: Moment) -> Vec<Reading> {
    let told = case.changes.iter().map(|row| &row.source);
    let sources: BTreeSet<&Subject> = case.change_sources.iter().chain(told).collect();
    let reading = |source: &Subject| {
        let mut reading = Reading::new(source.clone(), at);
        let fails = |row: &&Failing| row.source == *source && during(second, row.from, row.until);
        if let Some(row) = case.fault.iter().find(fails) {
            reading.faults.push(Fault { kind: row.kind, message: RemoteText::new(&row.message) });
            return reading;
        }
        for row in case.changes.iter().filter(|row| row.source == *source && row.told == second) {
            reading.events.push(Event::Change(Change {
                id: RemoteText::new(&row.title),
                at: Moment(BEGAN.0 + row.at * 1_000),
                component: row.component.clone(),
                kind: row.kind,
                title: RemoteText::new(&row.title),
            }));
        }
        reading
    };
    sources.into_iter().map(reading).collect()
}

fn topology(case: &Case, second: u32) -> Topology {
    let cluster = Subject::component(Kind::Redis, "features");
    let slots_each = SLOTS / u16::try_from(case.shards).expect("few shards");
    let health = |node: &Subject| {
        let row = case.health.iter().rev().find(|row| row.node == *node && second >= row.from);
        row.map_or(NodeHealth::Online, |row| row.health)
    };
    let shards = (0..case.shards)
        .map(|index| {
            let first = slots_each * u16::try_from(index).expect("few shards");
            let last = if index + 1 == case.shards { SLOTS - 1 } else { first + slots_each - 1 };
            let nodes = nodes(case, index).into_iter().enumerate().map(|(place, subject)| Node {
                id: RemoteText::new(subject.address().unwrap_or_default()),
                primary: place == 0,
                health: health(&subject),
                subject,
            });
            Shard { subject: cluster.shard(index), slots: vec![(first, last)], nodes: nodes.collect() }
        })
        .collect();
    Topology { cluster, clustered: case.shards > 1, shards }
}

fn teller(source: &Subject) -> Teller {
    Teller { subject: source.clone(), every: Some(Duration::from_secs(1)) }
}

fn settings(case: &Case) -> Settings {
    let mut settings = Settings {
        name: "ranker-test".to_owned(),
        thresholds: case.thresholds.clone(),
        symptoms: case.symptoms.clone(),
        tellers: case.tellers.iter().map(teller).collect(),
        ..Settings::default()
    };
    if case.undeclared {
        return settings;
    }
    let subject = |text: &str| text.parse::<Subject>().expect("a subject");
    let declared = |text: &str, depends_on: &[&str]| Component {
        has_source: text != "gpu/ranker" || case.gpu,
        depends_on: depends_on.iter().map(|callee| subject(callee)).collect(),
        ..Component::new(subject(text))
    };
    let mut service = declared("service/ranker", &["redis/features", "queue/ranker"]);
    service.objective_p99 = Some(Duration::from_secs_f64(case.objective.unwrap_or(0.5)));
    service.stages = case.stages.clone().unwrap_or_else(|| {
        [("feature_load", "redis/features"), ("queue", "queue/ranker"), ("infer", "gpu/ranker")]
            .map(|(stage, spent_in)| (stage.to_owned(), subject(spent_in)))
            .into()
    });
    let mut redis = declared("redis/features", &[]);
    redis.link = case.link;
    settings.components = vec![
        redis,
        service,
        declared("queue/ranker", &["gpu/ranker"]),
        declared("client/load", &["service/ranker"]),
        declared("gpu/ranker", &[]),
    ];
    settings.components.retain(|component| !case.absent.contains(&component.subject));
    for row in &case.components {
        settings.components.retain(|component| component.subject != row.subject);
        settings.components.push(Component {
            has_source: row.has_source,
            depends_on: row.depends_on.clone(),
            aliases: row.aliases.clone(),
            alerts: row.alerts.clone(),
            stages: row.stages.clone(),
            workload: row.workload,
            objective_p99: row.objective.map(Duration::from_secs_f64),
            timeout: row.timeout.map(Duration::from_secs_f64),
            ..Component::new(row.subject.clone())
        });
    }
    for component in &mut settings.components {
        component.depends_on.retain(|callee| !case.absent.contains(callee));
        component.baselines = case.baselines.get(&component.subject).cloned().unwrap_or_default();
    }
    settings
}

fn learned(case: &Case) -> Baselines {
    let rows = case.learned.iter().map(|row| BaselineRow {
        high: None,
        mean: None,
        subject: row.subject.clone(),
        metric: row.metric.clone().into(),
        part: None,
        hour: 14,
        typical: row.typical,
        spread: row.spread,
        points: row.points,
    });
    Baselines { rows: rows.collect() }
}
