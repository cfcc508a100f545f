//! The points of one series: a short tail, sealed chunks, and bins of what is older.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Seen;
use super::budget::Caps;
use crate::time::Moment;

/// Points in a sealed chunk.
const CHUNK_POINTS: usize = 64;

/// Bytes that one point takes.
pub(super) const POINT_BYTES: usize = size_of::<Point>();

/// Bytes that one bin takes.
pub(super) const BIN_BYTES: usize = size_of::<Bin>();

/// Milliseconds of a fine and of a coarse bin.
const FINE_BIN_MS: i64 = 10_000;
const COARSE_BIN_MS: i64 = 60_000;

/// One point, relative to its chunk's start: 8 bytes.
#[derive(Clone, Copy, Debug)]
struct Point {
    offset_ms: u32,
    value: f32,
}

/// A run of points that no longer changes; snapshots hold it without copying.
#[derive(Debug)]
pub struct Chunk {
    start: Moment,
    points: Vec<Point>,
}

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

/// The history of one series.
#[derive(Clone, Debug, Default)]
pub struct Points {
    sealed: VecDeque<Arc<Chunk>>,
    tail: Option<Arc<Chunk>>,
    fine: VecDeque<Bin>,
    coarse: VecDeque<Bin>,
}

impl Chunk {
    fn seen(&self) -> impl DoubleEndedIterator<Item = Seen> + '_ {
        self.points.iter().map(|point| Seen {
            value: f64::from(point.value),
            at: Moment(self.start.0.saturating_add(i64::from(point.offset_ms))),
        })
    }

    fn last(&self) -> Option<Seen> {
        self.seen().next_back()
    }
}

impl Points {
    /// Appends a value; one that is no number that a point can hold, or not newer than the last, leaves no point.
    pub(super) fn push(&mut self, at: Moment, value: f64, caps: Caps) {
        let value = value as f32;
        if !value.is_finite() || self.latest().is_some_and(|last| at <= last.at) {
            return;
        }
        put_in_bin(&mut self.fine, FINE_BIN_MS, at, value, caps.fine_bins);
        put_in_bin(&mut self.coarse, COARSE_BIN_MS, at, value, caps.coarse_bins);
        let fits = self.tail.as_ref().is_some_and(|tail| {
            tail.points.len() < CHUNK_POINTS && u32::try_from(at.0.saturating_sub(tail.start.0)).is_ok()
        });
        if !fits {
            self.sealed.extend(self.tail.take());
            // The tail will fill up too, and what a rule looks at may lie just behind its start.
            while self.sealed.len() > 1 && (self.sealed.len() + 1) * CHUNK_POINTS > caps.points {
                self.sealed.pop_front();
            }
            self.tail = Some(Arc::new(Chunk { start: at, points: Vec::with_capacity(CHUNK_POINTS) }));
        }
        if let Some(tail) = &mut self.tail {
            let offset_ms = u32::try_from(at.0.saturating_sub(tail.start.0)).unwrap_or(u32::MAX);
            // A snapshot that still holds this tail makes the store copy it, at most 64 points.
            match Arc::get_mut(tail) {
                Some(chunk) => chunk.points.push(Point { offset_ms, value }),
                None => {
                    let mut points = tail.points.clone();
                    points.push(Point { offset_ms, value });
                    *tail = Arc::new(Chunk { start: tail.start, points });
                }
            }
        }
    }

    /// The newest point.
    pub fn latest(&self) -> Option<Seen> {
        self.tail.as_ref().and_then(|tail| tail.last())
    }

    /// Points at full resolution from `from` on, oldest first.
    pub fn since(&self, from: Moment) -> impl DoubleEndedIterator<Item = Seen> + '_ {
        self.sealed
            .iter()
            .chain(&self.tail)
            .filter(move |chunk| chunk.last().is_some_and(|last| last.at >= from))
            .flat_map(|chunk| chunk.seen())
            .filter(move |seen| seen.at >= from)
    }

    /// Points at full resolution, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = Seen> + '_ {
        self.tail.iter().chain(self.sealed.iter().rev()).flat_map(|chunk| chunk.seen().rev())
    }

    /// Bins of ten seconds, oldest first; a gap is a missing bin.
    pub fn fine_bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.fine.iter().copied()
    }

    /// Bins of one minute, oldest first; a gap is a missing bin.
    pub fn coarse_bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.coarse.iter().copied()
    }

    pub(super) fn bytes(&self) -> usize {
        let points: usize = self.sealed.iter().chain(&self.tail).map(|chunk| chunk.points.capacity()).sum();
        points * POINT_BYTES + (self.fine.capacity() + self.coarse.capacity()) * BIN_BYTES
    }
}

fn put_in_bin(bins: &mut VecDeque<Bin>, length_ms: i64, at: Moment, value: f32, most: usize) {
    let start = Moment(at.0.div_euclid(length_ms).saturating_mul(length_ms));
    if let Some(bin) = bins.back_mut().filter(|bin| bin.start == start) {
        bin.count += 1;
        bin.mean += (value - bin.mean) / bin.count as f32;
        bin.min = bin.min.min(value);
        bin.max = bin.max.max(value);
        return;
    }
    while bins.len() >= most {
        bins.pop_front();
    }
    if bins.len() == bins.capacity() {
        bins.reserve_exact(most.min(bins.len() * 2).max(4) - bins.len());
    }
    bins.push_back(Bin { start, mean: value, min: value, max: value, count: 1 });
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
        let frozen = points.clone();
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
