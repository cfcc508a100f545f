//! How long something took lately: percentiles of what a histogram gained, for as many as there were events enough.

use std::time::Duration;

use crate::baseline::LEAST_EVENTS;
use crate::histogram::{Histogram, Percentile};
use crate::metric::Metric;
use crate::snapshot::Snapshot;
use crate::store::Scrapes;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Spans over which events are gathered until there are enough for a 99th percentile, in seconds.
pub(crate) const WIDENING: &[u64] = &[3, 10, 30, 60, 300];

/// So many events must lie above a percentile: fewer are the luck of its slowest few. Of a 99th percentile that are
/// [`LEAST_EVENTS`] in all.
const LEAST_ABOVE: f64 = LEAST_EVENTS * 0.01;

/// What a histogram gained in a span up to a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// What was gained, in the metric's unit.
    pub gained: Histogram,
    /// The span in which it was gained, from the one scrape to the other.
    pub over: Duration,
    /// Its end: when the histogram was last read.
    pub at: Moment,
}

impl Spread {
    /// What these scrapes gained over the shortest span up to `until` that holds enough events for a 99th percentile, else
    /// over the longest with any. `None` where nothing was gained.
    pub fn of(scrapes: &Scrapes, until: Moment) -> Option<Self> {
        let at = scrapes.last_at(until)?;
        let over = |span: &u64| {
            let (from, gained) = scrapes.gained_since(at - Duration::from_secs(*span), at)?;
            (gained.count > 0.0).then(|| Self { gained, over: at.since(from), at })
        };
        let spans = || WIDENING.iter().filter_map(over);
        spans().find(|spread| spread.gained.count >= LEAST_EVENTS).or_else(|| spans().next_back())
    }

    /// The same of several histograms together, all over the same span: the shortest that holds enough events of all of
    /// them, and no shorter than that between two readings of the one that is read most seldom. Those whose buckets
    /// differ from the first one's are left out.
    pub fn together<'a>(all: impl IntoIterator<Item = &'a Scrapes>, until: Moment) -> Option<Self> {
        let ends = all.into_iter().filter_map(|scrapes| Some((scrapes.last_at(until)?, scrapes)));
        let ends: Vec<(Moment, &Scrapes)> = ends.collect();
        let over = |span: &u64| {
            let span = Duration::from_secs(*span);
            let own =
                ends.iter().filter_map(|(at, scrapes)| Some(at.since(scrapes.gained_from(*at - span, *at)?)));
            let common = own.max()?;
            let gained = ends.iter().filter_map(|(at, scrapes)| {
                let (from, gained) = scrapes.gained_since(*at - common, *at)?;
                Some(Self { gained, over: at.since(from), at: *at })
            });
            let sum = gained.reduce(|mut sum, one| {
                if sum.gained.merge(&one.gained) {
                    (sum.over, sum.at) = (sum.over.max(one.over), sum.at.max(one.at));
                }
                sum
            });
            sum.filter(|sum| sum.gained.count > 0.0)
        };
        let spans = || WIDENING.iter().filter_map(over);
        spans().find(|spread| spread.gained.count >= LEAST_EVENTS).or_else(|| spans().next_back())
    }

    /// A percentile, `0 < q < 1`; `None` where there are too few events above it, and without buckets.
    pub fn percentile(&self, q: f64) -> Option<Percentile> {
        let is_told = self.gained.count * (1.0 - q) >= LEAST_ABOVE * (1.0 - 1e-9);
        self.gained.percentile(q).filter(|_| is_told)
    }

    /// Whether there are buckets, without which nothing but a mean can be told.
    pub fn has_buckets(&self) -> bool {
        !self.gained.bounds.is_empty()
    }

    /// Events a second.
    pub fn rate(&self) -> f64 {
        self.gained.count / self.over.as_secs_f64().max(1e-3)
    }
}

impl Snapshot {
    /// How long something took lately at this snapshot's moment; `None` where nothing fresh is told of it.
    pub fn spread(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<Spread> {
        let scrapes = self.history.scrapes(subject, metric, part)?;
        Spread::of(scrapes, self.at).filter(|spread| spread.at >= self.fresh_from(subject, metric))
    }

    /// The same of several subjects together, over the same span, of those of which anything fresh is told.
    pub fn spread_together<'a>(
        &self,
        subjects: impl IntoIterator<Item = &'a Subject>,
        metric: Metric,
    ) -> Option<Spread> {
        let fresh = subjects.into_iter().filter_map(|subject| {
            let scrapes = self.history.scrapes(subject, metric, None)?;
            (scrapes.last_at(self.at)? >= self.fresh_from(subject, metric)).then_some(scrapes)
        });
        Spread::together(fresh, self.at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::Engine;
    use crate::metric::TTFT;
    use crate::reading::{Input, Reading, Value};
    use crate::settings::{Baselines, Settings};

    fn instance() -> Subject {
        "service/a@h:1".parse().unwrap()
    }

    /// So many events a second, half of them below a tenth of a second and half below a whole one, told for a minute.
    fn told(a_second: f64, bounds: &[f64]) -> Arc<Snapshot> {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..=60 {
            let at = Moment(second * 1_000);
            let count = a_second * second as f64;
            let counts = bounds.iter().map(|bound| if *bound < 1.0 { count / 2.0 } else { count }).collect();
            let whole = Histogram { bounds: bounds.into(), counts, count, sum: Some(count * 0.3) };
            let mut reading = Reading::new(instance(), at);
            reading.sample(&instance(), TTFT, Value::Histogram(Arc::new(whole)));
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
        }
        engine.snapshot().unwrap()
    }

    #[test]
    fn the_shortest_span_with_enough_events_is_taken() {
        let span = |a_second| {
            let spread = told(a_second, &[0.1, 1.0]).spread(&instance(), TTFT, None).unwrap();
            assert!((spread.rate() - a_second).abs() < 1e-9, "{spread:?}");
            (spread.over.as_secs(), spread.percentile(0.99).is_some(), spread.percentile(0.9).is_some())
        };
        assert_eq!(span(500.0), (3, true, true));
        assert_eq!(span(20.0), (10, true, true));
        assert_eq!(span(2.0), (60, false, true));
        assert_eq!(span(0.2), (60, false, false));
    }

    #[test]
    fn the_past_has_its_own_percentiles_and_what_is_stale_has_none() {
        let snapshot = told(100.0, &[0.1, 1.0]);
        let then = snapshot.back_to(Moment(30_000)).unwrap().spread(&instance(), TTFT, None).unwrap();
        assert_eq!(then.at, Moment(30_000));
        assert_eq!(then.percentile(0.75), Some(Percentile::Value(0.1 + 0.9 * 0.5)));
        let later = Snapshot { at: Moment(66_000), ..(*snapshot).clone() };
        assert_eq!(later.spread(&instance(), TTFT, None), None);
    }

    #[test]
    fn without_buckets_there_is_a_mean_alone() {
        let spread = told(100.0, &[]).spread(&instance(), TTFT, None).unwrap();
        assert!(!spread.has_buckets());
        assert_eq!(
            (spread.percentile(0.5), spread.gained.mean().map(|mean| (mean * 10.0).round())),
            (None, Some(3.0))
        );
        assert_eq!(told(0.0, &[0.1, 1.0]).spread(&instance(), TTFT, None), None);
    }

    /// Instances of one service with so many events a second, told every so many seconds for a minute.
    fn told_by_several(instances: &[(&str, f64, i64, &[f64])]) -> Arc<Snapshot> {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..=60 {
            let at = Moment(second * 1_000);
            for (address, a_second, every, bounds) in instances.iter().filter(|told| second % told.2 == 0) {
                let instance = instance().component_of().instance(address);
                let count = a_second * second as f64;
                let counts = bounds.iter().map(|_| count).collect();
                let whole = Histogram { bounds: (*bounds).into(), counts, count, sum: None };
                let mut reading = Reading::new(instance.clone(), at);
                reading.every = Some(Duration::from_secs(every.unsigned_abs()));
                reading.sample(&instance, TTFT, Value::Histogram(Arc::new(whole)));
                engine.take(&Input::Reading(reading));
            }
            engine.take(&Input::Tick(at));
        }
        engine.snapshot().unwrap()
    }

    fn together(instances: &[(&str, f64, i64, &[f64])]) -> Spread {
        let snapshot = told_by_several(instances);
        let service = instance().component_of();
        let all: Vec<Subject> = snapshot.history.parts(&service).cloned().collect();
        snapshot.spread_together(&all, TTFT).unwrap()
    }

    #[test]
    fn a_busy_and_a_quiet_instance_are_put_together_over_the_same_span() {
        // Alone, the first has enough events in 3 s and the second in 30.
        let both = together(&[("h:1", 90.0, 1, &[1.0]), ("h:2", 10.0, 1, &[1.0])]);
        assert_eq!((both.over, both.gained.count), (Duration::from_secs(3), 300.0));
        assert!((both.rate() - 100.0).abs() < 1e-9);
        let seldom = together(&[("h:1", 90.0, 1, &[1.0]), ("h:2", 10.0, 15, &[1.0])]);
        assert_eq!((seldom.over, seldom.gained.count), (Duration::from_secs(15), 1_500.0));
    }

    #[test]
    fn instances_with_other_buckets_are_left_out() {
        let both =
            together(&[("h:1", 100.0, 1, &[1.0]), ("h:2", 100.0, 1, &[1.0]), ("h:3", 100.0, 1, &[2.0])]);
        assert_eq!(both.gained.count, 600.0);
    }
}
