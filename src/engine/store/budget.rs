//! How much history each series may keep.

use super::points::{BIN_BYTES, POINT_BYTES};

/// The memory budget for history, shared evenly by all series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    bytes: usize,
    caps: Caps,
}

/// What one series may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Points at full resolution.
    pub points: usize,
    /// Bins of ten seconds.
    pub fine_bins: usize,
    /// Bins of one minute.
    pub coarse_bins: usize,
    /// Bytes of scrapes of a histogram.
    pub scrape_bytes: usize,
}

impl Caps {
    /// Enough for any rule and screen: half an hour of points at 1 Hz, six hours and a day of bins.
    const MOST: Self = Self { points: 1_800, fine_bins: 2_160, coarse_bins: 1_440, scrape_bytes: 256 * 1024 };

    /// What each of so many series may keep that stand beside a history of so many bytes.
    pub(crate) fn beside(history_bytes: usize, series: usize) -> Self {
        let mut budget = Budget::new(history_bytes / BESIDE_HISTORY);
        budget.resize(series);
        budget.caps
    }
}

/// What is kept beside the series, as the signals and the timeline, may each take this part of what these may.
pub(crate) const BESIDE_HISTORY: usize = 24;

/// Below this the rules would go blind, so the budget yields: a minute of points, five and ten minutes of bins.
const LEAST: Caps = Caps { points: 64, fine_bins: 30, coarse_bins: 10, scrape_bytes: 8 * 1024 };

impl Budget {
    /// A budget of `bytes` with no series yet.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, caps: Caps::MOST }
    }

    /// Shares the budget among this many series: half for points, a quarter for each tier of bins.
    pub(super) fn resize(&mut self, series: usize) {
        let share = self.bytes / series.max(1);
        self.caps = Caps {
            points: (share / 2 / POINT_BYTES).clamp(LEAST.points, Caps::MOST.points),
            fine_bins: (share / 4 / BIN_BYTES).clamp(LEAST.fine_bins, Caps::MOST.fine_bins),
            coarse_bins: (share / 4 / BIN_BYTES).clamp(LEAST.coarse_bins, Caps::MOST.coarse_bins),
            scrape_bytes: share.clamp(LEAST.scrape_bytes, Caps::MOST.scrape_bytes),
        };
    }

    /// What each series may keep now.
    pub fn caps(&self) -> Caps {
        self.caps
    }

    /// The budget in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_series_keep_less_history_each_but_never_too_little() {
        let mut budget = Budget::new(96 << 20);
        budget.resize(200);
        assert_eq!(budget.caps(), Caps::MOST);
        budget.resize(35_000);
        let caps = budget.caps();
        assert!(caps.points < Caps::MOST.points && caps.points > LEAST.points);
        assert!(
            35_000 * (caps.points * POINT_BYTES + (caps.fine_bins + caps.coarse_bins) * BIN_BYTES)
                <= 96 << 20
        );
        budget.resize(10_000_000);
        assert_eq!(budget.caps(), LEAST);
    }
}
