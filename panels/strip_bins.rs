//! Which cells a strip or a trend of the last minutes has, and how high it is.

use std::time::Duration;

use headwater_engine::metric::{Bad, Unit};
use headwater_engine::quantity::show;
use headwater_engine::store::Trace;
use headwater_engine::{Moment, Snapshot};

use crate::time_bins::TimeBins;

/// Lengths of a cell, in seconds.
const LENGTHS: &[u64] = &[2, 5, 10, 30, 60, 300];

/// A row of cells shows at least this much, when there is as much and it is wide enough.
const LEAST_SPAN: Duration = Duration::from_secs(180);

/// Cells shorter than five seconds move too often: they are for the first looks.
const FIRST_LOOKS: Duration = Duration::from_secs(30);

/// Milliseconds of the store's finer bins.
const FINE_MS: i64 = 10_000;

/// Cells of one length up to a moment. The one that is still being filled is not among them, so that nothing on the
/// screen moves until a whole cell is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bins(TimeBins);

impl Bins {
    /// Cells for this many places: as short as they can be and still show the last minutes. A cell has at least two
    /// polling intervals, else an answer that came a little late would look like a gap.
    pub(crate) fn fitting(places: u16, snapshot: &Snapshot) -> Self {
        let seen_for = snapshot.at.since(snapshot.began);
        let wanted = seen_for.min(LEAST_SPAN);
        let fits = |seconds: &u64| {
            let length = Duration::from_secs(*seconds);
            let is_long_enough = length >= snapshot.settings.interval * 2
                && (*seconds >= 5 || seen_for <= FIRST_LOOKS)
                && length.saturating_mul(u32::from(places)) >= wanted;
            is_long_enough.then_some(*seconds)
        };
        let seconds = LENGTHS.iter().find_map(fits).or(LENGTHS.last().copied()).unwrap_or(1);
        let length_ms = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let end = snapshot.at.0.div_euclid(length_ms).saturating_mul(length_ms);
        let first = Moment(end.saturating_sub(length_ms.saturating_mul(i64::from(places))));
        Self(TimeBins { first, length_ms, count: usize::from(places) })
    }

    /// The first moment of the first cell.
    pub(crate) fn start(&self) -> Moment {
        self.0.first
    }

    /// How long all cells are together, in milliseconds.
    fn span_ms(&self) -> i64 {
        self.0.length_ms.saturating_mul(i64::try_from(self.0.count).unwrap_or(i64::MAX))
    }

    /// The cell of a moment; `None` outside of all cells.
    pub(crate) fn place(&self, at: Moment) -> Option<usize> {
        self.0.place(at)
    }

    /// `5 s a cell, 5 min`; nothing where there is no room for a cell.
    pub(crate) fn words(&self) -> String {
        if self.0.count == 0 {
            return String::new();
        }
        let span = self.span_ms() as f64 / 1_000.0;
        // From two minutes on tenths of a minute are exact enough.
        let span = if span < 120.0 { span } else { (span / 6.0).round() * 6.0 };
        let length = self.0.length_ms as f64 / 1_000.0;
        format!("{} a cell, {}", show(length, Unit::Seconds), show(span, Unit::Seconds))
    }

    /// The greatest value in each cell; a cell in which nothing was seen is `None`.
    pub(crate) fn greatest(&self, trace: &Trace) -> Vec<Option<f64>> {
        let last = Moment(self.start().0.saturating_add(self.span_ms()).saturating_sub(1));
        self.0.worst(trace, last, Bad::High)
    }

    /// The greatest value in all cells together and since; found from the store's bins, without looking at every
    /// point.
    pub(crate) fn peak(&self, trace: &Trace, at: Moment) -> Option<f64> {
        let start = self.start();
        let mut binned_until = Moment(i64::MIN);
        let mut peak: Option<f64> = None;
        let mut take = |value: f64| peak = Some(peak.map_or(value, |known| known.max(value)));
        // What a bin that ends later holds may be later too.
        let is_later = |start: Moment| start.0.saturating_add(FINE_MS - 1) > at.0;
        for bin in trace.fine_bins().rev().skip_while(|bin| is_later(bin.start)) {
            if bin.start < start {
                break;
            }
            binned_until = binned_until.max(Moment(bin.start.0.saturating_add(FINE_MS)));
            take(f64::from(bin.max));
        }
        let newest = trace.newest_first().skip_while(|seen| seen.at > at);
        for seen in newest.take_while(|seen| seen.at >= start && seen.at >= binned_until) {
            take(seen.value);
        }
        peak
    }
}

/// The next of 1, 2, 5, 10, 20, ... that is not below a value: a scale that seldom changes.
pub(crate) fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let decade = 10_f64.powf(value.log10().floor());
    // A value that is a step itself must not be lifted to the next by the last bit.
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|step| value <= step * (1.0 + 1e-6)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric::REDIS_ANSWER_TIME;
    use headwater_engine::reading::{Input, Reading, Value};
    use headwater_engine::{Baselines, Engine, Settings, Subject};

    use super::*;

    /// A node that answers in as many milliseconds as its second has, but not in second 20 to 29.
    fn watched(seconds: i64) -> std::sync::Arc<Snapshot> {
        watched_with(Settings::default(), seconds)
    }

    fn watched_with(settings: Settings, seconds: i64) -> std::sync::Arc<Snapshot> {
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let mut engine = Engine::new(settings, Baselines::default());
        for second in 0..seconds {
            let at = Moment(second * 1_000);
            let mut reading = Reading::new(node.clone(), at);
            if !(20..30).contains(&second) {
                reading.sample(&node, REDIS_ANSWER_TIME, Value::Gauge(second as f64 / 1_000.0));
            }
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
        }
        engine.snapshot().unwrap()
    }

    fn cells(snapshot: &Snapshot, places: u16) -> (Bins, Vec<Option<i64>>) {
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let trace = snapshot.history.trace(&node, REDIS_ANSWER_TIME, None).unwrap();
        let bins = Bins::fitting(places, snapshot);
        let whole = |value: f64| (value * 1_000.0).round() as i64;
        (bins, bins.greatest(trace).into_iter().map(|cell| cell.map(whole)).collect())
    }

    #[test]
    fn cells_begin_at_multiples_of_their_length_and_a_gap_stays_open() {
        let (bins, seen) = cells(&watched(63), 14);
        assert_eq!(bins.words(), "5 s a cell, 70 s");
        assert_eq!(
            seen,
            [
                None,
                None,
                Some(4),
                Some(9),
                Some(14),
                Some(19),
                None,
                None,
                Some(34),
                Some(39),
                Some(44),
                Some(49),
                Some(54),
                Some(59)
            ]
        );
        // Two seconds later no cell is over, and nothing has moved.
        assert_eq!(cells(&watched(65), 14).1, seen);
        assert_ne!(cells(&watched(66), 14).1, seen);
    }

    #[test]
    fn the_first_looks_are_finer_and_long_ones_coarser() {
        assert_eq!(cells(&watched(12), 20).0.words(), "2 s a cell, 40 s");
        assert_eq!(cells(&watched(400), 20).0.words(), "10 s a cell, 3.3 min");
        assert_eq!(cells(&watched(400), 60).0.words(), "5 s a cell, 5 min");
        assert_eq!(cells(&watched(400), 1).0.words(), "5 min a cell, 5 min");
        assert_eq!(cells(&watched(400), 0).0.words(), "", "no cell is drawn");
    }

    #[test]
    fn going_back_shows_nothing_that_came_later() {
        let then = watched(100).back_to(Moment(50_000)).unwrap();
        let (_, seen) = cells(&then, 10);
        assert_eq!(seen.last(), Some(&Some(49)));
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let trace = then.history.trace(&node, REDIS_ANSWER_TIME, None).unwrap();
        let peak = Bins::fitting(10, &then).peak(trace, then.at).unwrap();
        // The bin that holds this moment goes on to second 59.
        assert!((0.0499..0.0501).contains(&peak), "{peak}");
    }

    #[test]
    fn what_is_older_than_every_point_comes_from_bins() {
        // With so little memory not even two minutes of points are kept.
        let poor = Settings { store_budget: 4_096, ..Settings::default() };
        let (bins, seen) = cells(&watched_with(poor, 1_000), 30);
        assert_eq!(bins.words(), "10 s a cell, 5 min");
        assert!(seen.iter().all(Option::is_some), "{seen:?}");
        assert_eq!(cells(&watched(12), 0).1, []);
    }

    #[test]
    fn a_scale_is_a_round_number_that_is_not_below() {
        for (value, scale) in
            [(0.041, 0.05), (0.05, 0.05), (3.0, 5.0), (9.1, 10.0), (0.0, 1.0), (f64::NAN, 1.0)]
        {
            assert!((round_up(value) - scale).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
