//! The points of one series: runs of them, the last one still growing, and bins of what is older.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Seen;
use super::budget::Caps;
use super::run::{RUN_POINTS, Run};
use crate::time::Moment;

pub(super) use super::run::POINT_BYTES;

/// Bytes that one bin takes.
pub(super) const BIN_BYTES: usize = size_of::<Bin>();

/// Milliseconds of a fine and of a coarse bin.
pub(super) const FINE_BIN_MS: i64 = 10_000;
pub(super) const COARSE_BIN_MS: i64 = 60_000;

/// Older points drawn together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Its first moment, a multiple of the bin's length.
    pub start: Moment,
    /// The mean of its points.
    pub mean: f32,
    /// The least of its points.
    pub min: f32,
    /// The greatest of its points.
    pub max: f32,
    /// How many points it stands for.
    pub count: u32,
}

/// The history of one series, as a snapshot holds it: two shared handles.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    past: Arc<Past>,
    tail: Option<Run>,
}

/// What no longer changes, but for new pieces at its end and old ones that are let go.
#[derive(Clone, Debug, Default)]
struct Past {
    sealed: VecDeque<Run>,
    fine: VecDeque<Bin>,
    coarse: VecDeque<Bin>,
}

/// The history of one series, as the store keeps it: a trace and the bins that are still being filled.
#[derive(Debug, Default)]
pub struct Points {
    trace: Trace,
    open_fine: Option<Bin>,
    open_coarse: Option<Bin>,
}

impl Trace {
    /// The newest point.
    pub fn latest(&self) -> Option<Seen> {
        self.tail.as_ref().and_then(|tail| tail.last())
    }

    /// The newest point at or before a moment.
    pub fn latest_at(&self, moment: Moment) -> Option<Seen> {
        // It is nearly always the last or the one before, and is asked for thousands of times in a frame.
        let in_tail = self.tail.as_ref().and_then(|tail| tail.seen().rev().find(|seen| seen.at <= moment));
        in_tail.or_else(|| {
            self.past.sealed.iter().rev().find_map(|run| run.seen().rev().find(|seen| seen.at <= moment))
        })
    }

    /// The mean of the newest points up to a moment, as many as fall in `span`, with the time of the newest.
    pub fn mean_until(&self, until: Moment, span: Duration) -> Option<Seen> {
        let mut newest = self.newest_first().skip_while(|seen| seen.at > until).peekable();
        let at = newest.peek()?.at;
        let (mut sum, mut count) = (0.0, 0.0);
        for seen in newest.take_while(|seen| seen.at > at - span) {
            sum += seen.value;
            count += 1.0;
        }
        Some(Seen { value: sum / count, at })
    }

    /// Points at full resolution from `from` on, oldest first.
    pub fn since(&self, from: Moment) -> impl DoubleEndedIterator<Item = Seen> + '_ {
        self.past
            .sealed
            .iter()
            .chain(&self.tail)
            .filter(move |run| run.last().is_some_and(|last| last.at >= from))
            .flat_map(|run| run.seen())
            .filter(move |seen| seen.at >= from)
    }

    /// The mean of the points at full resolution between two moments, both included; `None` where there is none.
    pub fn mean_between(&self, from: Moment, to: Moment) -> Option<f64> {
        let within = self.since(from).take_while(|seen| seen.at <= to);
        let (sum, count) = within.fold((0.0, 0.0), |(sum, count), seen| (sum + seen.value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    }

    /// Points at full resolution, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = Seen> + '_ {
        self.tail.iter().chain(self.past.sealed.iter().rev()).flat_map(|run| run.seen().rev())
    }

    /// What it was up to a moment, newest first, with the least and the most of each time: points at full resolution, then bins
    /// of ten seconds, which reach further back.
    pub fn backwards(&self, until: Moment) -> impl Iterator<Item = (Moment, f64, f64)> + '_ {
        let points = self.newest_first().skip_while(move |seen| seen.at > until);
        let oldest = self.oldest().map_or(until, |oldest| oldest.at.min(until));
        let bins = self.fine_bins().rev().filter(move |bin| bin.start < oldest);
        let bins = bins.map(|bin| (bin.start, f64::from(bin.min), f64::from(bin.max)));
        points.map(|seen| (seen.at, seen.value, seen.value)).chain(bins)
    }

    /// Since when it has been so without a pause, by its least; `None` where it is not, and where nobody saw it otherwise.
    pub fn held_since(&self, until: Moment, is_so: impl Fn(f64) -> bool) -> Option<Moment> {
        let mut first = None;
        for (at, least, _) in self.backwards(until) {
            if !is_so(least) {
                return first;
            }
            first = Some(at);
        }
        None
    }

    /// The oldest point at full resolution.
    pub fn oldest(&self) -> Option<Seen> {
        self.past.sealed.front().or(self.tail.as_ref()).and_then(|run| run.seen().next())
    }

    /// Closed bins of ten seconds, oldest first; a gap is a missing bin.
    pub fn fine_bins(&self) -> impl DoubleEndedIterator<Item = Bin> + '_ {
        self.past.fine.iter().copied()
    }

    /// Closed bins of one minute, oldest first; a gap is a missing bin.
    pub fn coarse_bins(&self) -> impl DoubleEndedIterator<Item = Bin> + '_ {
        self.past.coarse.iter().copied()
    }
}

impl Points {
    /// Appends a value; one that is no number that a point can hold, or not newer than the last, leaves no point.
    pub(crate) fn push(&mut self, at: Moment, value: f64, caps: Caps) {
        let value = value as f32;
        if !value.is_finite() || self.latest().is_some_and(|last| at <= last.at) {
            return;
        }
        if let Some(closed) = put_in_bin(&mut self.open_fine, FINE_BIN_MS, at, value) {
            keep(&mut Arc::make_mut(&mut self.trace.past).fine, closed, caps.fine_bins);
        }
        if let Some(closed) = put_in_bin(&mut self.open_coarse, COARSE_BIN_MS, at, value) {
            keep(&mut Arc::make_mut(&mut self.trace.past).coarse, closed, caps.coarse_bins);
        }
        let Trace { past, tail } = &mut self.trace;
        if tail.as_mut().is_some_and(|tail| tail.append(at, value)) {
            return;
        }
        let sealed = &mut Arc::make_mut(past).sealed;
        sealed.extend(tail.take());
        // The tail will fill up too, and what a rule looks at may lie just behind its start.
        while sealed.len() > 1 && (sealed.len() + 1) * RUN_POINTS > caps.points {
            sealed.pop_front();
        }
        *tail = Some(Run::beginning(at, value));
    }

    /// A handle to all of it but the bins that are still being filled.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The newest point.
    pub fn latest(&self) -> Option<Seen> {
        self.trace.latest()
    }

    /// Points at full resolution from `from` on, oldest first.
    pub fn since(&self, from: Moment) -> impl DoubleEndedIterator<Item = Seen> + '_ {
        self.trace.since(from)
    }

    /// Points at full resolution, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = Seen> + '_ {
        self.trace.newest_first()
    }

    /// Bins of ten seconds, oldest first, the one that is still being filled included; a gap is a missing bin.
    pub fn fine_bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.trace.fine_bins().chain(self.open_fine)
    }

    /// Bins of one minute, oldest first, the one that is still being filled included; a gap is a missing bin.
    pub fn coarse_bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.trace.coarse_bins().chain(self.open_coarse)
    }

    pub(super) fn bytes(&self) -> usize {
        let Trace { past, tail } = &self.trace;
        // Each has room for as many points from the start.
        let runs = past.sealed.len() + usize::from(tail.is_some());
        runs * RUN_POINTS * POINT_BYTES + (past.fine.capacity() + past.coarse.capacity()) * BIN_BYTES
    }
}

/// Puts a value in the bin of its moment; returns the bin before it, when a new one begins.
fn put_in_bin(open: &mut Option<Bin>, length_ms: i64, at: Moment, value: f32) -> Option<Bin> {
    let start = Moment(at.0.div_euclid(length_ms).saturating_mul(length_ms));
    if let Some(bin) = open.as_mut().filter(|bin| bin.start == start) {
        bin.count += 1;
        bin.mean += (value - bin.mean) / bin.count as f32;
        bin.min = bin.min.min(value);
        bin.max = bin.max.max(value);
        return None;
    }
    open.replace(Bin { start, mean: value, min: value, max: value, count: 1 })
}

/// Appends a closed bin and lets go of the oldest: with the open one there are at most `most`.
fn keep(bins: &mut VecDeque<Bin>, closed: Bin, most: usize) {
    while bins.len() + 1 >= most.max(2) {
        bins.pop_front();
    }
    if bins.len() == bins.capacity() {
        bins.reserve_exact(most.min(bins.len() * 2).max(4).saturating_sub(bins.len()).max(1));
    }
    bins.push_back(closed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { points: 128, fine_bins: 3, coarse_bins: 2, scrape_bytes: 0 };

    fn filled(count: i64) -> Points {
        let mut points = Points::default();
        for second in 0..count {
            points.push(Moment(second * 1_000), second as f64, CAPS);
        }
        points
    }

    #[test]
    fn old_points_go_and_their_bins_stay_longer() {
        let points = filled(1_000);
        let kept: Vec<_> = points.since(Moment(0)).collect();
        assert_eq!(kept.last().map(|seen| seen.value), Some(999.0));
        assert!(kept.len() <= 128 + 64, "{} points", kept.len());
        let coarse: Vec<_> = points.coarse_bins().collect();
        assert_eq!(coarse.len(), 2);
        assert_eq!((coarse[0].start, coarse[0].min, coarse[0].max), (Moment(900_000), 900.0, 959.0));
        assert_eq!(points.fine_bins().count(), 3);
    }

    #[test]
    fn a_held_snapshot_does_not_change_when_points_arrive() {
        let mut points = filled(10);
        let frozen = points.trace().clone();
        points.push(Moment(10_000), 10.0, CAPS);
        assert_eq!(frozen.latest().map(|seen| seen.value), Some(9.0));
        assert_eq!(points.since(Moment(0)).count(), 11);
    }

    #[test]
    fn what_is_not_a_number_or_not_newer_leaves_no_point() {
        let mut points = filled(3);
        points.push(Moment(9_000), f64::NAN, CAPS);
        points.push(Moment(1_000), 7.0, CAPS);
        assert_eq!(points.since(Moment(0)).count(), 3);
    }

    #[test]
    fn a_gap_is_a_missing_bin() {
        let mut points = filled(5);
        points.push(Moment(45_000), 1.0, CAPS);
        let starts: Vec<_> = points.fine_bins().map(|bin| bin.start.0).collect();
        assert_eq!(starts, [0, 40_000]);
    }
}
