//! Cells of equal length on the time axis.

use std::time::Duration;

use headwater_engine::Moment;
use headwater_engine::metric::Bad;
use headwater_engine::store::Trace;

/// The lengths that a cell may stand for, in milliseconds. None is short: a strip moves by whole cells, and each move
/// is sent to the terminal.
const LENGTHS: &[i64] = &[5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000];

/// Milliseconds of the bins in which older points are kept.
const FINE_MS: i64 = 10_000;
const COARSE_MS: i64 = 60_000;

/// Cells of equal length, each beginning at a multiple of it, so that a strip stands still while its newest cell fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeBins {
    /// Where the first cell begins.
    pub(crate) first: Moment,
    /// What each stands for, in milliseconds.
    pub(crate) length_ms: i64,
    /// How many there are.
    pub(crate) count: usize,
}

impl TimeBins {
    /// So many cells, the last of which holds `until`, of the shortest length that reaches back to `from` (the longest
    /// reaches as far as it does).
    pub(crate) fn covering(from: Moment, until: Moment, count: usize) -> Self {
        let bins = |length_ms: &i64| {
            let last = until.0.div_euclid(*length_ms).saturating_mul(*length_ms);
            let before = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
            let first = Moment(last.saturating_sub(before.saturating_mul(*length_ms)));
            Self { first, length_ms: *length_ms, count }
        };
        let reaching = LENGTHS.iter().map(bins).find(|bins| bins.first <= from);
        reaching.or(LENGTHS.last().map(bins)).unwrap_or(Self { first: until, length_ms: 1, count })
    }

    /// So many cells, all of which are over at `until`, none shorter than `least`, of the shortest length that reaches back
    /// to `from`.
    pub(crate) fn finished(from: Moment, until: Moment, count: usize, least: Duration) -> Self {
        let least_ms = i64::try_from(least.as_millis()).unwrap_or(i64::MAX);
        let bins = |length_ms: &i64| {
            let end = until.0.div_euclid(*length_ms).saturating_mul(*length_ms);
            let span = i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(*length_ms);
            Self { first: Moment(end.saturating_sub(span)), length_ms: *length_ms, count }
        };
        let mut long = LENGTHS.iter().filter(|length_ms| **length_ms >= least_ms).map(bins);
        let longest = LENGTHS.last().map(bins);
        long.find(|bins| bins.first <= from).or(longest).unwrap_or(Self { first: until, length_ms: 1, count })
    }

    /// The first moments of all cells and the end of the last.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Moment> + '_ {
        let edge = |place: usize| {
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            Moment(self.first.0.saturating_add(place.saturating_mul(self.length_ms)))
        };
        (0..=self.count).map(edge)
    }

    /// The cell that holds a moment.
    pub(crate) fn place(&self, at: Moment) -> Option<usize> {
        let place = at.0.saturating_sub(self.first.0).div_euclid(self.length_ms);
        usize::try_from(place).ok().filter(|place| *place < self.count)
    }

    /// The worst value of a series in each cell, of points up to `until`; a cell without a point is a gap. Cells that
    /// are older than the points that are kept are filled from what is kept of them.
    pub(crate) fn worst(&self, trace: &Trace, until: Moment, bad: Bad) -> Vec<Option<f64>> {
        let mut cells: Vec<Option<f64>> = vec![None; self.count];
        let worse = |one: f64, other: f64| match bad {
            Bad::Low => one.min(other),
            Bad::High | Bad::Neither => one.max(other),
        };
        let mut put = |place: Option<usize>, value: f64| {
            if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
                *cell = Some(cell.map_or(value, |known| worse(known, value)));
            }
        };
        // Points come in order, so that a cell is found by going on from the one before, without a division each.
        let (mut place, mut end) = (0, self.first.0.saturating_add(self.length_ms));
        trace.since(self.first).take_while(|seen| seen.at <= until).for_each(|seen| {
            while seen.at.0 >= end && place < self.count {
                (place, end) = (place + 1, end.saturating_add(self.length_ms));
            }
            put(Some(place), seen.value);
        });
        let whole_from = trace.oldest().map_or(until, |seen| seen.at).min(until);
        let fine_from = trace.fine_bins().next().map_or(whole_from, |bin| bin.start).min(whole_from);
        let fine = trace.fine_bins().map(|bin| (bin, FINE_MS, whole_from));
        let coarse = trace.coarse_bins().map(|bin| (bin, COARSE_MS, fine_from));
        let began = [trace.fine_bins().next(), trace.coarse_bins().next()];
        for (bin, long_ms, before) in fine.chain(coarse) {
            let value = f64::from(if bad == Bad::Low { bin.min } else { bin.max });
            let mut at = bin.start.0.max(self.first.0);
            let end = bin.start.0.saturating_add(long_ms);
            // The series began within this bin: what lies before the points in it was not seen by anybody.
            if end > before.0 && began.contains(&Some(bin)) {
                continue;
            }
            // Its worst may be later than the moment shown; whole points, where there are any, do without it.
            if end.saturating_sub(1) > until.0 {
                continue;
            }
            let end = end.min(before.0);
            while at < end {
                put(self.place(Moment(at)), value);
                at = at.saturating_add(self.length_ms);
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::Subject;
    use headwater_engine::metric::REDIS_MEMORY;
    use headwater_engine::reading::{Reading, Value};
    use headwater_engine::store::Store;

    use super::*;
    use crate::example::World;

    #[test]
    fn cells_begin_at_multiples_of_their_length_and_reach_back_as_far_as_asked() {
        let bins = TimeBins::covering(Moment(100_000), Moment(202_345), 30);
        assert_eq!(bins, TimeBins { first: Moment(55_000), length_ms: 5_000, count: 30 });
        assert_eq!((bins.place(Moment(202_345)), bins.place(Moment(54_999))), (Some(29), None));
        assert_eq!(bins.place(Moment(205_000)), None);
        assert_eq!(TimeBins::covering(Moment(0), Moment(202_345), 30).length_ms, 10_000);
        assert_eq!(TimeBins::covering(Moment(0), Moment(i64::MAX), 30).length_ms, 600_000);
        assert_eq!(TimeBins::covering(Moment(0), Moment(9), 0).place(Moment(0)), None);
    }

    #[test]
    fn finished_cells_end_before_the_moment_and_are_as_long_as_asked() {
        let bins = |least, count| {
            TimeBins::finished(Moment(100_000), Moment(202_345), count, Duration::from_secs(least))
        };
        assert_eq!(bins(1, 30), TimeBins { first: Moment(50_000), length_ms: 5_000, count: 30 });
        assert_eq!(bins(10, 30), TimeBins { first: Moment(-100_000), length_ms: 10_000, count: 30 });
        assert_eq!(bins(1, 4).length_ms, 30_000);
        let edges: Vec<i64> = bins(10, 2).edges().map(|edge| edge.0).collect();
        assert_eq!(edges, [60_000, 120_000, 180_000]);
        assert_eq!(bins(9_999, 2).length_ms, 600_000);
    }

    #[test]
    fn nothing_is_drawn_before_the_first_point() {
        let node: Subject = "redis/a#0@h:1".parse().unwrap();
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        // It begins late in a minute, whose bin is closed when the next one begins.
        let first = Moment(45_000);
        for second in 0..100 {
            let mut reading = Reading::new(node.clone(), first + Duration::from_secs(second));
            reading.sample(&node, REDIS_MEMORY, Value::Gauge(1.0));
            store.take(&reading, false, None);
        }
        let history = store.history();
        let trace = history.trace(&node, REDIS_MEMORY, None).unwrap();
        let bins = TimeBins { first: Moment(0), length_ms: 5_000, count: 40 };
        let cells = bins.worst(trace, Moment(200_000), Bad::High);
        assert_eq!(cells.iter().position(Option::is_some), Some(9), "{cells:?}");
        assert_eq!(cells.iter().flatten().count(), 20);
    }

    #[test]
    fn a_bin_that_ends_after_the_moment_shown_does_not_tell_what_came_later() {
        let node: Subject = "redis/a#0@h:1".parse().unwrap();
        // So little memory that no point is left of the moment that is gone back to.
        let mut store = Store::new(Duration::from_secs(1), 4_096);
        for second in 0..1_000 {
            let at = Moment(second * 1_000);
            let mut reading = Reading::new(node.clone(), at);
            let value = if at < Moment(605_000) { 1.0 } else { 9.0 };
            reading.sample(&node, REDIS_MEMORY, Value::Gauge(value));
            store.take(&reading, false, None);
        }
        let history = store.history();
        let trace = history.trace(&node, REDIS_MEMORY, None).unwrap();
        assert!(trace.oldest().unwrap().at > Moment(610_000));
        let until = Moment(603_000);
        let bins = TimeBins::covering(Moment(400_000), until, 60);
        let cells = bins.worst(trace, until, Bad::High);
        assert!(cells.iter().flatten().count() > 10, "{cells:?}");
        assert!(cells.iter().flatten().all(|value| *value < 2.0), "{cells:?}");
    }

    #[test]
    fn a_cell_holds_its_worst_value_and_nothing_later_than_the_moment_shown() {
        let mut world = World::new();
        world.run(30);
        let snapshot = world.snapshot();
        let signal = snapshot.signals.iter().find(|signal| signal.row.name == "requests").unwrap();
        let bins = TimeBins::covering(snapshot.began, snapshot.at, 10);
        let all = bins.worst(&signal.trace, snapshot.at, Bad::High);
        let then = bins.worst(&signal.trace, snapshot.at - Duration::from_secs(12), Bad::High);
        let known = |cells: &[Option<f64>]| cells.iter().flatten().count();
        assert!(known(&all) >= 5, "{all:?}");
        assert!(known(&then) >= 2 && known(&then) <= known(&all) - 2, "{then:?} of {all:?}");
    }
}
