//! A run of points that its owner appends to while others read what was there when they took hold of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Seen;
use crate::time::Moment;

/// Points in a full run.
pub(super) const RUN_POINTS: usize = 64;

/// Bytes that one point takes.
pub(super) const POINT_BYTES: usize = size_of::<AtomicU64>();

/// A handle to a run: as many points as there were when it was taken, whatever is appended later. Nothing is copied
/// when a snapshot holds it, and nothing has to be allocated for a new point.
#[derive(Clone, Debug)]
pub(super) struct Run {
    chunk: Arc<Chunk>,
    length: usize,
}

/// Room for points: milliseconds since the start in the upper half, the bits of the value in the lower one.
#[derive(Debug)]
struct Chunk {
    start: Moment,
    points: [AtomicU64; RUN_POINTS],
}

impl Run {
    /// A run of one point.
    pub(super) fn beginning(at: Moment, value: f32) -> Self {
        let chunk = Chunk { start: at, points: [const { AtomicU64::new(0) }; RUN_POINTS] };
        let mut run = Self { chunk: Arc::new(chunk), length: 0 };
        run.append(at, value);
        run
    }

    /// Appends a point; `false` when the run is full, or too old for it. Only the store appends, and only to the one
    /// handle that it keeps, so that no two points want the same place.
    pub(super) fn append(&mut self, at: Moment, value: f32) -> bool {
        let Ok(offset_ms) = u32::try_from(at.0.saturating_sub(self.chunk.start.0)) else { return false };
        let Some(place) = self.chunk.points.get(self.length) else { return false };
        // Whoever reads it got a longer handle after this, by a channel that orders memory.
        place.store(u64::from(offset_ms) << 32 | u64::from(value.to_bits()), Ordering::Relaxed);
        self.length += 1;
        true
    }

    /// Its points, oldest first.
    pub(super) fn seen(&self) -> impl DoubleEndedIterator<Item = Seen> + '_ {
        self.chunk.points[..self.length].iter().map(|point| {
            let bits = point.load(Ordering::Relaxed);
            let (offset_ms, value) = (bits >> 32, f32::from_bits(bits as u32));
            Seen {
                value: f64::from(value),
                at: Moment(self.chunk.start.0.saturating_add_unsigned(offset_ms)),
            }
        })
    }

    /// Its newest point.
    pub(super) fn last(&self) -> Option<Seen> {
        self.seen().next_back()
    }
}
