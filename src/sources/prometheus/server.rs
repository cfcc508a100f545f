//! Asks one server again and again, and gives each of its targets its readings.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::metric;
use headwater_engine::reading::{Event, Fault, Reading, Value};
use headwater_engine::{RemoteText, Subject};
use tokio::time::{Instant, MissedTickBehavior};

use super::answer::{BuildInfo, Families, Queried, Series, Told};
use super::asker::Asker;
use super::history::Memory;
use super::instance::{Clock, Instance, InstanceKey, Named};
use super::looking_back::{LooksBack, Server};
use super::page::{NAME, Types};
use super::{MOST_INSTANCES, PrometheusSpec};
use crate::config::prometheus::server_subject;
use crate::sources::metrics::MetricsSpecError;
use crate::sources::{Outlet, backoff, now};

/// How far the first question looks back.
const FIRST_WINDOW: Duration = Duration::from_secs(60);

/// How much further back a question looks than the last one did: a scrape is stored when it has ended, under the moment
/// at which it began.
const STORED_LATE: Duration = Duration::from_secs(10);

/// The longest span that one question covers, after a server was away.
const LONGEST_WINDOW: Duration = Duration::from_secs(300);

/// How often the clock and the types of families are asked for.
const RENEWED_EVERY: Duration = Duration::from_secs(300);

/// A target that was not scraped for this long has left.
const GONE_AFTER_S: f64 = 300.0;

/// A server's clock is believed to be ours when it is this near.
const SAME_CLOCK_MS: i64 = 1_000;

/// One Prometheus server that is asked again and again.
#[derive(Debug)]
pub struct PrometheusSource {
    subject: Subject,
    asker: Asker,
    spec: PrometheusSpec,
    instances: BTreeMap<InstanceKey, Instance>,
    types: Types,
    /// The name of the program that the server is, where it says so.
    product: String,
    clock: Clock,
    renewed: Option<Instant>,
    answered: Option<Instant>,
    /// Which of the things that an answer may lack the last one lacked.
    lacked: [bool; 3],
}

impl PrometheusSource {
    /// Prepares a server; nothing is sent yet.
    pub fn new(spec: &PrometheusSpec) -> Result<Self, MetricsSpecError> {
        let asker = Asker::new(spec)?;
        Ok(Self {
            subject: server_subject(asker.address().host_and_port()),
            asker,
            spec: spec.clone(),
            instances: BTreeMap::new(),
            types: Types::new(),
            product: "the server".to_owned(),
            clock: Clock::default(),
            renewed: None,
            answered: None,
            lacked: [false; 3],
        })
    }

    /// What the readings about the server itself are about.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Asks again and again; while the server gives nothing, less often. What it remembers of healthy times is asked for
    /// as its targets become known, beside the rest.
    pub(super) async fn run(&mut self, memory: Option<Memory>, outlet: &Outlet) {
        let (interval, mut looks_back) = (self.spec.interval, memory.map(LooksBack::new));
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut failures = 0;
        loop {
            ticks.tick().await;
            let readings = self.ask().await;
            let failed = readings.first().is_some_and(|own| !own.faults.is_empty());
            failures = if failed { failures + 1 } else { 0 };
            if let Some(looks_back) = looks_back.as_mut().filter(|_| !failed) {
                let targets = self.instances.iter().map(|(key, instance)| instance.remembered(key)).collect();
                let server = Server { spec: &self.spec, types: &self.types, clock: self.clock, outlet };
                looks_back.go_on(targets, server).await;
            }
            for reading in readings {
                if outlet.readings.send(reading).await.is_err() {
                    return;
                }
            }
            if failed {
                ticks.reset_after(backoff(interval, failures));
            }
        }
    }

    /// Asks once: the first reading is about the server, the others about its targets, a target's oldest first. When the
    /// server fails, each target that was known hears of it.
    pub async fn ask(&mut self) -> Vec<Reading> {
        let begun = Instant::now();
        let answer = self.samples().await;
        let mut own = Reading::new(self.subject.clone(), now());
        own.sample(&self.subject, metric::SCRAPE_TIME, Value::Gauge(begun.elapsed().as_secs_f64()));
        own.sample(&self.subject, metric::SCRAPE_BYTES, Value::Counter(self.asker.bytes() as f64));
        match answer {
            Err(fault) => {
                own.faults.push(fault.clone());
                let mut readings = vec![own];
                readings.extend(self.instances.values().map(|instance| {
                    let mut reading = Reading::new(instance.subject().clone(), now());
                    reading.faults.push(fault.clone());
                    reading
                }));
                readings
            }
            Ok(told) => {
                self.answered = Some(begun);
                let (targets, left_out) = self.told(told.data);
                own.events = self.news_of_lacks(told.doubts, left_out);
                [vec![own], targets].concat()
            }
        }
    }

    /// The samples since the last answer, with the server's clock and types where they are not known or old.
    async fn samples(&mut self) -> Result<Told<Vec<Series>>, Fault> {
        if self.renewed.is_none_or(|renewed| renewed.elapsed() >= RENEWED_EVERY) {
            self.renew().await?;
        }
        let window = match self.answered {
            None => FIRST_WINDOW,
            Some(answered) => (answered.elapsed() + STORED_LATE).min(LONGEST_WINDOW),
        };
        let query = format!("{}[{}ms]", self.spec.select, window.as_millis());
        let told = self.asker.query::<Queried>("api/v1/query", &[("query", &query)]).await?;
        match told.data {
            Queried::Matrix(series) => Ok(Told { data: series, doubts: told.doubts }),
            _ => Err(self
                .asker
                .malformed("gives no samples for it: 'select' must be a selector such as {job=\"ranker\"}")),
        }
    }

    /// Asks for the server's clock and for the types of all families. A server without types is read by names.
    async fn renew(&mut self) -> Result<(), Fault> {
        let before = now();
        let told = self.asker.query::<Queried>("api/v1/query", &[("query", "time()")]).await?;
        if let Queried::Scalar((at, _)) = told.data {
            let here = i64::midpoint(before.0, now().0);
            let ahead_ms = (at * 1_000.0) as i64 - here;
            self.clock = Clock { ahead_ms: if ahead_ms.abs() > SAME_CLOCK_MS { ahead_ms } else { 0 } };
        }
        if let Ok(told) = self.asker.query::<BuildInfo>("api/v1/status/buildinfo", &[]).await {
            self.product = told.data.product();
        }
        if let Ok(told) = self.asker.query::<Families>("api/v1/metadata", &[]).await {
            let types = told.data.into_iter();
            self.types = types.filter_map(|(name, all)| Some((name, all.into_iter().next()?.kind))).collect();
        }
        self.renewed = Some(Instant::now());
        Ok(())
    }

    /// The readings of all targets, and how many series and targets were left out.
    fn told(&mut self, series: Vec<Series>) -> (Vec<Reading>, LeftOut) {
        let mut left_out = LeftOut::default();
        let mut by_instance: BTreeMap<InstanceKey, Vec<Series>> = BTreeMap::new();
        for one in series {
            match InstanceKey::of(&one) {
                Some(key) => by_instance.entry(key).or_default().push(one),
                None => left_out.computed += 1,
            }
        }
        let (mut readings, at) = (vec![], now());
        for (key, series) in &by_instance {
            if !self.instances.contains_key(key) {
                if self.instances.len() >= MOST_INSTANCES {
                    left_out.instances += 1;
                    continue;
                }
                let instance =
                    Instance::new(key, target_labels(series), &self.spec.components, self.asker.address());
                self.instances.insert(key.clone(), instance);
            }
            if let Some(instance) = self.instances.get_mut(key) {
                let server = Named { types: &self.types, product: &self.product, clock: self.clock };
                readings.extend(instance.read(series, server, at));
            }
        }
        let oldest = (at.0 + self.clock.ahead_ms) as f64 / 1_000.0 - GONE_AFTER_S;
        self.instances.retain(|_, instance| instance.newest() >= oldest);
        (readings, left_out)
    }

    /// What the answer lacks, where that is not what the last one lacked.
    fn news_of_lacks(&mut self, doubts: Option<String>, left_out: LeftOut) -> Vec<Event> {
        let LeftOut { instances, computed } = left_out;
        let too_many = (instances > 0).then(|| {
            format!(
                "{instances} targets were left out: one [[prometheus]] table may bring {MOST_INSTANCES}; split it with \
                 'select'"
            )
        });
        let of_none = (computed > 0).then(|| {
            format!(
                "{computed} series lack 'job' or 'instance', as what rules compute does, and are not read"
            )
        });
        let lacks = [
            ("the whole of its answers", doubts),
            ("all of its targets", too_many),
            ("series of no target", of_none),
        ];
        let mut events = vec![];
        for ((what, why), had) in lacks.into_iter().zip(&mut self.lacked) {
            let what = RemoteText::new(what);
            match (std::mem::replace(had, why.is_some()), why) {
                (false, Some(why)) => events.push(Event::Unavailable { what, why: RemoteText::new(&why) }),
                (true, None) => events.push(Event::Available { what }),
                _ => {}
            }
        }
        events
    }
}

/// What was not taken of an answer.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    /// Targets beyond the limit.
    instances: usize,
    /// Series of no target, which rules of the server computed.
    computed: usize,
}

/// The labels that the server gave a target: those of its `up`, else only the two that each has.
fn target_labels(series: &[Series]) -> BTreeMap<String, String> {
    let is_up = |one: &&Series| one.labels.get(NAME).is_some_and(|name| name == "up");
    let given = |labels: &BTreeMap<String, String>, all: bool| {
        let kept = labels.iter().filter(|(name, _)| match all {
            true => name.as_str() != NAME,
            false => matches!(name.as_str(), "job" | "instance"),
        });
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    match series.iter().find(is_up) {
        Some(up) => given(&up.labels, true),
        None => series.first().map_or_else(BTreeMap::new, |one| given(&one.labels, false)),
    }
}
