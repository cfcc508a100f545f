//! Bounded history of every series.
//!
//! Counters become rates here and only here, over the source's own clock where it has one. A reset or a gap is
//! the absence of a point, never a zero. Recent points are kept whole in runs that snapshots share,
//! older ones as bins of ten seconds and of one minute; how much is kept follows from the budget and the number
//! of series.

mod budget;
mod cumulative;
mod forgetting;
mod history;
mod names;
mod points;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use budget::Budget;
pub(crate) use budget::{BESIDE_HISTORY, Caps};
use cumulative::Cumulative;
pub use cumulative::Scrapes;
pub use history::{History, Traces};
pub use points::{Bin, Points, Trace};

use crate::histogram::Histogram;
use crate::metric::{Metric, MetricName};
use crate::reading::{Reading, Sample, Value};
use crate::snapshot::Kept;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;

/// After this many intervals without an answer a counter's difference is a gap and not a rate.
pub const GAP_INTERVALS: u32 = 15;

/// A target that has lived for fewer intervals than this has no lifetime worth comparing with: a process counts
/// nothing while it warms up.
pub const SHORTEST_LIFE_INTERVALS: u32 = 30;

/// A metric and the stage, command or other part: what tells a subject's series apart.
type SeriesName = (MetricName, Option<RemoteText>);

/// Per subject, its series: subjects are many and their names long.
type Index = BTreeMap<Subject, Group>;

/// The series of one subject.
#[derive(Clone, Debug)]
struct Group {
    /// Their names in order of metric and part, with their places.
    series: Vec<(SeriesName, usize)>,
    /// The place of their handles.
    handles: usize,
}

/// The handles to the series of one subject in their order, as the last reading left them, and their bytes. They are
/// made when a reading has come, while what they lead to is at hand; a snapshot only takes them over.
#[derive(Debug, Default)]
struct Handles {
    traces: Box<[Trace]>,
    /// Of histograms, with their places among the series.
    scrapes: Box<[(usize, Scrapes)]>,
    bytes: usize,
}

/// One value with its moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The value, in the metric's unit.
    pub value: f64,
    /// When it was seen.
    pub at: Moment,
}

impl Seen {
    /// All of these together, as of the last of them; `None` of none.
    pub(crate) fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, one| Self { value: sum.value + one.value, at: sum.at.max(one.at) })
    }
}

/// All series.
#[derive(Debug)]
pub struct Store {
    interval: Duration,
    budget: Budget,
    index: Arc<Index>,
    count: usize,
    series: Vec<Series>,
    /// Places in `series` whose subject was forgotten.
    free: Vec<usize>,
    handles: Vec<Arc<Handles>>,
    /// Places in `handles` whose subject was forgotten.
    free_handles: Vec<usize>,
    bytes: usize,
    /// Per source, the series of its last reading's samples in order: the next reading usually has the same.
    layouts: BTreeMap<Subject, Vec<usize>>,
}

#[derive(Debug)]
struct Series {
    subject: Subject,
    name: SeriesName,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Level(Points),
    Rate { points: Points, total: Option<Total>, lifetime: Option<f64> },
    Buckets(Cumulative),
}

/// Spans that decide what a difference of totals is worth.
struct Spans {
    shortest_life: Duration,
    longest_gap: Duration,
}

/// A counter's last total, on both clocks.
#[derive(Clone, Copy, Debug)]
struct Total {
    value: f64,
    at: Moment,
    clock_us: Option<u64>,
}

impl Store {
    /// An empty store for sources that are polled at `interval`, holding at most `budget_bytes` of history.
    pub fn new(interval: Duration, budget_bytes: usize) -> Self {
        Self {
            interval,
            budget: Budget::new(budget_bytes),
            index: Arc::default(),
            count: 0,
            series: vec![],
            free: vec![],
            handles: vec![],
            free_handles: vec![],
            bytes: 0,
            layouts: BTreeMap::new(),
        }
    }

    /// Takes a reading's samples. `uptime` is how long the target's process had been running at that moment,
    /// where the reading says so; at first contact it turns totals into lifetime rates.
    pub fn take(&mut self, reading: &Reading, restarted: bool, uptime: Option<Duration>) {
        let mut layout = self.layouts.remove(&reading.source).unwrap_or_default();
        layout.resize(reading.samples.len(), usize::MAX);
        let spans = Spans {
            shortest_life: self.interval * SHORTEST_LIFE_INTERVALS,
            longest_gap: self.interval.max(reading.every.unwrap_or_default()) * GAP_INTERVALS,
        };
        let mut told: Vec<&Subject> = vec![];
        for (sample, slot) in reading.samples.iter().zip(&mut layout) {
            if told.last() != Some(&&sample.subject) {
                told.push(&sample.subject);
            }
            let known = self.series.get(*slot).is_some_and(|series| {
                series.name.0 == sample.metric
                    && series.subject == sample.subject
                    && series.name.1 == sample.part
            });
            if !known {
                *slot = self.find_or_add(sample);
            }
            let caps = self.budget.caps();
            // What an exporter tells of has lived longer than the exporter.
            let lived = uptime.filter(|_| !outlives_who_tells(&sample.subject));
            self.series[*slot].push(reading, &sample.value, restarted, lived, &spans, caps);
        }
        self.layouts.insert(reading.source.clone(), layout);
        told.sort();
        told.dedup();
        for subject in told {
            self.renew_handles(subject);
        }
    }

    /// Makes the handles of a subject anew, after its series have changed.
    fn renew_handles(&mut self, subject: &Subject) {
        let Some(group) = self.index.get(subject) else { return };
        let series = || group.series.iter().map(|(_, place)| &self.series[*place]);
        let scrapes =
            series().enumerate().filter_map(|(place, series)| Some((place, series.scrapes()?.clone())));
        let renewed = Handles {
            traces: series().map(Series::trace).collect(),
            scrapes: scrapes.collect(),
            bytes: series().map(Series::bytes).sum(),
        };
        let before = std::mem::replace(&mut self.handles[group.handles], Arc::new(renewed));
        self.bytes += self.handles[group.handles].bytes;
        self.bytes -= before.bytes;
    }

    fn find_or_add(&mut self, sample: &Sample) -> usize {
        let name: SeriesName = (sample.metric.clone(), sample.part.clone());
        let known = self.index.get(&sample.subject).map_or(&[][..], |group| &group.series);
        let place = match known.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(found) => return known[found].1,
            Err(place) => place,
        };
        let data = Data::of(&sample.value);
        let series = Series { subject: sample.subject.clone(), name: name.clone(), data };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.series[slot] = series;
                slot
            }
            None => {
                self.series.push(series);
                self.series.len() - 1
            }
        };
        // A snapshot that still holds the index makes us copy it; series appear seldom once a target is known.
        let index = Arc::make_mut(&mut self.index);
        let group = index.entry(sample.subject.clone()).or_insert_with(|| {
            let handles = self.free_handles.pop().unwrap_or_else(|| {
                self.handles.push(Arc::default());
                self.handles.len() - 1
            });
            Group { series: vec![], handles }
        });
        group.series.insert(place, (name, slot));
        self.count += 1;
        self.budget.resize(self.count);
        slot
    }

    fn find(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<&Series> {
        let (group, place) = history::find(&self.index, subject, &metric.into(), part)?;
        Some(&self.series[group.series[place].1])
    }

    /// The points of a level or a rate.
    pub fn points(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<&Points> {
        match &self.find(subject, metric, part)?.data {
            Data::Level(points) | Data::Rate { points, .. } => Some(points),
            Data::Buckets(_) => None,
        }
    }

    /// The newest value of a level or a rate, however old.
    pub fn latest(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<Seen> {
        self.points(subject, metric, part)?.latest()
    }

    /// A counter's mean rate over the target's whole life up to first contact; `None` without a known uptime
    /// or after a reset.
    pub fn lifetime_rate(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<f64> {
        match &self.find(subject, metric, part)?.data {
            Data::Rate { lifetime, .. } => *lifetime,
            _ => None,
        }
    }

    /// What a histogram gained between two moments, as [`Scrapes::gained`] says.
    pub fn gained(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
        from: Moment,
        to: Moment,
    ) -> Option<Histogram> {
        match &self.find(subject, metric, part)?.data {
            Data::Buckets(cumulative) => cumulative.gained(from, to),
            _ => None,
        }
    }

    /// A histogram as it stood at first contact: the target's whole life before. `None` after a reset.
    pub fn lifetime_histogram(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<&Arc<Histogram>> {
        match &self.find(subject, metric, part)?.data {
            Data::Buckets(cumulative) => cumulative.lifetime(),
            _ => None,
        }
    }

    /// When a histogram was last scraped.
    pub fn last_scrape(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<Moment> {
        match &self.find(subject, metric, part)?.data {
            Data::Buckets(cumulative) => cumulative.last_at(),
            _ => None,
        }
    }

    /// Every subject that has a series and is `root` or a part of it, in order.
    pub fn subjects_within(&self, root: &Subject) -> Vec<Subject> {
        root.within(&*self.index).map(|(subject, _)| subject.clone()).collect()
    }

    /// Handles to everything that is kept now, for a snapshot.
    pub fn history(&self) -> History {
        History::new(Arc::clone(&self.index), self.handles.as_slice().into())
    }

    /// How much history is kept, of what and for how long.
    pub fn kept(&self) -> Kept {
        let caps = self.budget.caps();
        let bins = |count: usize, length_ms: i64| {
            Duration::from_millis(length_ms.unsigned_abs()) * u32::try_from(count).unwrap_or(u32::MAX)
        };
        Kept {
            bytes: self.bytes(),
            budget: self.budget.bytes(),
            series: self.count,
            points_for: self.interval * u32::try_from(caps.points).unwrap_or(u32::MAX),
            fine_for: bins(caps.fine_bins, points::FINE_BIN_MS),
            coarse_for: bins(caps.coarse_bins, points::COARSE_BIN_MS),
        }
    }

    /// Number of series.
    pub fn series_count(&self) -> usize {
        self.count
    }

    /// Bytes of history held now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The budget and what it allows each series.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

/// Whether a subject is a thing that runs by itself, and not the process of whoever tells of it or a part of that.
fn outlives_who_tells(subject: &Subject) -> bool {
    !subject.as_str().contains('@')
        && matches!(subject.kind(), Kind::Host | Kind::Gpu | Kind::Kafka | Kind::Pipeline)
}

impl Series {
    /// A handle to the scrapes of a histogram.
    fn scrapes(&self) -> Option<&Scrapes> {
        match &self.data {
            Data::Buckets(cumulative) => Some(cumulative.scrapes()),
            Data::Level(_) | Data::Rate { .. } => None,
        }
    }

    /// A handle to its past; that of a histogram is empty.
    fn trace(&self) -> Trace {
        match &self.data {
            Data::Level(points) | Data::Rate { points, .. } => points.trace().clone(),
            Data::Buckets(_) => Trace::default(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.data {
            Data::Level(points) | Data::Rate { points, .. } => points.bytes(),
            Data::Buckets(cumulative) => cumulative.bytes(),
        }
    }

    /// When anything was last told of it.
    fn last_told(&self) -> Option<Moment> {
        match &self.data {
            Data::Level(points) => points.latest().map(|seen| seen.at),
            Data::Rate { total, .. } => total.map(|total| total.at),
            Data::Buckets(cumulative) => cumulative.last_at(),
        }
    }

    fn push(
        &mut self,
        reading: &Reading,
        value: &Value,
        restarted: bool,
        uptime: Option<Duration>,
        spans: &Spans,
        caps: Caps,
    ) {
        match (&mut self.data, value) {
            (Data::Level(points), Value::Gauge(level)) => points.push(reading.at, *level, caps),
            (Data::Rate { points, total, lifetime }, Value::Counter(value)) => {
                let now = Total { value: *value, at: reading.at, clock_us: reading.source_clock_us };
                match total {
                    None => {
                        let lived = uptime.filter(|up| *up >= spans.shortest_life);
                        *lifetime = lived.map(|up| value / up.as_secs_f64());
                    }
                    Some(before) if restarted || *value < before.value => *lifetime = None,
                    Some(before) => {
                        if let Some(rate) = now.rate_since(*before, spans.longest_gap) {
                            points.push(reading.at, rate, caps);
                        }
                    }
                }
                *total = Some(now);
            }
            (Data::Buckets(cumulative), Value::Histogram(histogram)) => {
                cumulative.push(reading.at, Arc::clone(histogram), restarted, caps);
            }
            // A target that changes a metric's form under the same name: the first form stays.
            _ => {}
        }
    }
}

impl Total {
    /// The rate per second since an earlier total; `None` over a gap or without time in between.
    fn rate_since(self, before: Self, longest_gap: Duration) -> Option<f64> {
        if self.at.since(before.at) > longest_gap {
            return None;
        }
        let seconds = match (self.clock_us, before.clock_us) {
            (Some(now), Some(then)) => now.checked_sub(then)? as f64 / 1e6,
            _ => self.at.seconds_after(before.at),
        };
        (seconds > 0.0).then(|| (self.value - before.value) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;

    fn node() -> Subject {
        "redis/features#0@10.0.0.1:6379".parse().unwrap()
    }

    fn counter(at_s: i64, clock_s: f64, total: f64) -> Reading {
        let mut reading = Reading::new(node(), Moment(at_s * 1_000));
        reading.source_clock_us = Some((clock_s * 1e6) as u64);
        reading.sample(&node(), metric::REDIS_COMMANDS, Value::Counter(total));
        reading
    }

    fn rates(readings: &[(Reading, bool)]) -> Vec<f64> {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        for (reading, restarted) in readings {
            store.take(reading, *restarted, None);
        }
        store
            .points(&node(), metric::REDIS_COMMANDS, None)
            .unwrap()
            .since(Moment(0))
            .map(|seen| seen.value)
            .collect()
    }

    #[test]
    fn a_late_answer_is_exact_over_the_targets_own_clock() {
        // The second answer is 3 s late by our clock, but the target stamped it 1 s after the first.
        assert_eq!(rates(&[(counter(0, 10.0, 100.0), false), (counter(4, 11.0, 150.0), false)]), [50.0]);
    }

    #[test]
    fn a_reset_and_a_restart_leave_no_point() {
        let falls = [(counter(0, 10.0, 900.0), false), (counter(1, 11.0, 5.0), false)];
        assert!(rates(&falls).is_empty());
        let restarts = [(counter(0, 10.0, 900.0), false), (counter(1, 11.0, 950.0), true)];
        assert!(rates(&restarts).is_empty());
    }

    #[test]
    fn an_outage_is_a_gap_and_not_an_average() {
        let outage = [(counter(0, 10.0, 0.0), false), (counter(60, 70.0, 600.0), false)];
        assert!(rates(&outage).is_empty());
    }

    #[test]
    fn the_first_total_over_uptime_is_the_lifetime_rate_until_a_reset() {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        store.take(&counter(0, 10.0, 500.0), false, Some(Duration::from_secs(100)));
        assert_eq!(store.lifetime_rate(&node(), metric::REDIS_COMMANDS, None), Some(5.0));
        store.take(&counter(1, 11.0, 3.0), false, Some(Duration::from_secs(1)));
        assert_eq!(store.lifetime_rate(&node(), metric::REDIS_COMMANDS, None), None);
    }

    #[test]
    fn a_target_that_has_just_started_has_no_lifetime() {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        store.take(&counter(0, 10.0, 500.0), false, Some(Duration::from_secs(29)));
        assert_eq!(store.lifetime_rate(&node(), metric::REDIS_COMMANDS, None), None);
    }

    #[test]
    fn a_series_that_nobody_tells_of_any_more_is_forgotten() {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        store.take(&counter(0, 10.0, 500.0), false, None);
        let mut other = Reading::new(node(), Moment(5_000));
        other.sample(&node(), metric::REDIS_MEMORY, Value::Gauge(1.0));
        store.take(&other, false, None);
        store.forget_unseen(Moment(3_000));
        assert_eq!(store.series_count(), 1);
        assert_eq!(store.latest(&node(), metric::REDIS_MEMORY, None).map(|seen| seen.value), Some(1.0));
        store.take(&counter(6, 16.0, 510.0), false, None);
        assert_eq!(store.series_count(), 2);
    }

    #[test]
    fn a_forgotten_subject_has_no_series() {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        store.take(&counter(0, 10.0, 500.0), false, None);
        assert_eq!(store.subjects_within(&"redis/features".parse().unwrap()), [node()]);
        store.forget(&node());
        assert_eq!(store.series_count(), 0);
        store.take(&counter(1, 11.0, 510.0), false, None);
        assert_eq!(store.latest(&node(), metric::REDIS_COMMANDS, None), None);
    }
}
