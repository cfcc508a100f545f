//! One target of a server, over all the scrapes that were seen of it.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::metric::{self, MetricName, OWN_COST};
use headwater_engine::reading::{Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, Moment, RemoteText, Subject};

use super::ComponentSelector;
use super::answer::Series;
use super::page::{ADDED, NAME, Types, written};
use crate::sources::label::plain;
use crate::sources::metrics::PageReader;
use crate::sources::metrics::dialect::{Dialects, SubjectRole};
use crate::sources::metrics::fetch::{Address, Page};
use crate::sources::metrics::mapping::{Mapper, Target};

/// The most scrapes of one target that one answer may bring; of more the newest.
const MOST_SCRAPES: usize = 64;

/// A series that misses this many scrapes is no longer on the page.
const SCRAPES_KEPT: f64 = 1.5;

/// What tells the targets of a server apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InstanceKey {
    job: String,
    instance: String,
}

impl InstanceKey {
    #[cfg(test)]
    pub(super) fn named(job: &str, instance: &str) -> Self {
        Self { job: job.to_owned(), instance: instance.to_owned() }
    }

    /// The target that a series was scraped from; `None` for one that is computed from others.
    pub(super) fn of(series: &Series) -> Option<Self> {
        let own = |label: &str| series.labels.get(label).filter(|value| !value.is_empty()).cloned();
        Some(Self { job: own("job")?, instance: own("instance")? })
    }
}

/// What is known of one target.
#[derive(Debug)]
pub(super) struct Instance {
    subject: Subject,
    reader: PageReader,
    /// The labels that the server gave the target.
    labels: BTreeMap<String, String>,
    /// The moment of the newest scrape that was told, in seconds since the Unix epoch.
    newest: f64,
    every: Option<Duration>,
}

/// A target whose past is asked for.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) key: InstanceKey,
    /// What it belongs to.
    pub(super) component: Subject,
    /// The labels that the server gave it.
    pub(super) labels: BTreeMap<String, String>,
    /// How often it is scraped, when that was seen.
    pub(super) every: Option<Duration>,
}

impl Remembered {
    /// What selects its series among those that `select` names.
    pub(super) fn select(&self, select: &str) -> String {
        let inside = select.trim_end().trim_end_matches('}').trim_end().trim_end_matches(',');
        let separator = if inside.ends_with('{') { "" } else { "," };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!(
            "{inside}{separator}job=\"{}\",instance=\"{}\"}}",
            quoted(&self.key.job),
            quoted(&self.key.instance)
        )
    }
}

/// What is known of a server whose answers are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    /// The types of families.
    pub(super) types: &'a Types,
    /// The name of the program.
    pub(super) product: &'a str,
    /// Its clock.
    pub(super) clock: Clock,
}

/// The server's clock, and what its own moments are here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// How far it is ahead of the observer's, in milliseconds.
    pub(super) ahead_ms: i64,
}

impl Clock {
    fn here(self, at: f64, now: Moment) -> Moment {
        Moment(((at * 1_000.0).round() as i64 - self.ahead_ms).min(now.0))
    }

    /// A moment of ours in seconds of the server's clock.
    pub(super) fn there(self, at: Moment) -> f64 {
        at.0.saturating_add(self.ahead_ms) as f64 / 1_000.0
    }
}

impl Instance {
    /// A target of which nothing was told yet.
    pub(super) fn new(
        key: &InstanceKey,
        labels: BTreeMap<String, String>,
        selectors: &[ComponentSelector],
        server: &Address,
    ) -> Self {
        let component = component(key, &labels, selectors);
        let target = Target::new(&component, &plain(&key.instance));
        let subject = target.subject(SubjectRole::Itself);
        let reader = PageReader::new(server.clone(), Mapper::new(Dialects::built_in(), target, None));
        Self { subject, reader, labels, newest: f64::NEG_INFINITY, every: None }
    }

    /// What is needed to ask for its past.
    pub(super) fn remembered(&self, key: &InstanceKey) -> Remembered {
        Remembered {
            key: key.clone(),
            component: self.subject.component_of(),
            labels: self.labels.clone(),
            every: self.every,
        }
    }

    /// What it is called.
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The moment of the newest scrape that was told, in seconds since the Unix epoch.
    pub(super) fn newest(&self) -> f64 {
        self.newest
    }

    /// One reading for each scrape that was not told yet, oldest first.
    pub(super) fn read(&mut self, series: &[Series], server: Named<'_>, now: Moment) -> Vec<Reading> {
        let Named { types, product, clock } = server;
        let of_server =
            |name: &str| series.iter().find(|one| one.labels.get(NAME).is_some_and(|own| own == name));
        let up = of_server("up");
        let mut moments: Vec<f64> = match up {
            Some(up) => up.values.iter().map(|(at, _)| *at).collect(),
            None => series.iter().flat_map(|one| &one.values).map(|(at, _)| *at).collect(),
        };
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        self.learn_interval(&moments);
        moments.retain(|at| *at > self.newest);
        let too_many = moments.len().saturating_sub(MOST_SCRAPES);
        let mut readings = vec![];
        for at in moments.split_off(too_many) {
            let mut reading = Reading::new(self.subject.clone(), clock.here(at, now));
            reading.source_clock_us = Some((at * 1e6) as u64);
            reading.every = self.every;
            let value_at = |one: &Series| {
                let seen = one.values.iter().rev().find(|(moment, _)| *moment <= at)?;
                seen.1.parse::<f64>().ok()
            };
            if up.and_then(value_at) == Some(0.0) {
                let message = format!(
                    "{product} cannot scrape {} (up is 0): look at its page of targets for the reason",
                    self.subject
                );
                let message = RemoteText::new(&message);
                reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
            } else {
                let kept = self.every.map_or(0.0, |every| every.as_secs_f64() * SCRAPES_KEPT);
                let page = written(series, &self.labels, types, at, at - kept);
                let page = Page { bytes: page.into_bytes(), format: None, claim: None, led_to: None };
                self.reader.read(&mut reading, Duration::ZERO, &page);
                // What it costs is the server's to say, who asked.
                let is_own =
                    |name: &MetricName| matches!(name, MetricName::Known(own) if OWN_COST.contains(own));
                reading.samples.retain(|sample| !is_own(&sample.metric));
                if let Some(took) = of_server(ADDED[1]).and_then(value_at) {
                    reading.sample(&self.subject, metric::SCRAPE_TIME, Value::Gauge(took));
                }
            }
            self.newest = at;
            readings.push(reading);
        }
        readings
    }

    /// Learns how often the server scrapes it, from the shortest time between two scrapes.
    fn learn_interval(&mut self, moments: &[f64]) {
        let known = self.newest.is_finite().then_some(self.newest);
        let apart = moments.iter().copied().filter(|at| Some(*at) > known).chain(known);
        let mut all: Vec<f64> = apart.collect();
        all.sort_by(f64::total_cmp);
        let mut gaps: Vec<f64> =
            all.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.05).collect();
        gaps.sort_by(f64::total_cmp);
        if let Some(gap) = gaps.get(gaps.len() / 2) {
            let gap = Duration::try_from_secs_f64(*gap).unwrap_or_default();
            self.every = Some(match self.every {
                // A scrape that failed makes one gap longer, not the interval.
                Some(known) if gap > known && gaps.len() < 3 => known,
                _ => gap,
            });
        }
    }
}

/// The component of a target: the first selector that fits, else the service of its job.
fn component(
    key: &InstanceKey,
    labels: &BTreeMap<String, String>,
    selectors: &[ComponentSelector],
) -> Subject {
    let fits = |selector: &&ComponentSelector| {
        selector.labels.iter().all(|(name, value)| match name.as_str() {
            "job" => key.job == *value,
            "instance" => key.instance == *value,
            _ => labels.get(name) == Some(value),
        })
    };
    selectors.iter().find(fits).map_or_else(
        || Subject::component(Kind::Service, &plain(&key.job)),
        |selector| selector.component.clone(),
    )
}
