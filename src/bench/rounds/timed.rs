//! What was seen of one kernel, and what more of it would cost.

use std::time::Duration;

use super::{MOST, PLANNED};
use crate::bench::kernel::Kernel;
use crate::bench::meter::Series;
use crate::bench::report::KernelResult;

/// A kernel that was timed for a round at least.
pub(super) struct Timed {
    pub(super) kernel: &'static Kernel,
    pub(super) series: Series,
    /// The longest that preparing it took.
    pub(super) preparing: Duration,
    /// The longest that giving its memory back took.
    pub(super) giving_back: Duration,
    /// What checking its result takes.
    pub(super) checking: Duration,
    pub(super) work: f64,
    pub(super) table_bytes: Option<u64>,
    pub(super) wrong: Option<String>,
    /// Whether the device was looked at while it worked, or need not be.
    pub(super) is_watched: bool,
    /// Whether it can have no more rounds.
    pub(super) is_over: bool,
}

impl Timed {
    /// Whether another round would tell more.
    pub(super) fn is_wanting(&self) -> bool {
        let rounds = self.series.rounds();
        let is_known = rounds >= PLANNED && self.series.timing().is_steady;
        !self.is_over && self.wrong.is_none() && !is_known && rounds < MOST
    }

    /// What another round takes at least.
    pub(super) fn cost(&self) -> Duration {
        self.preparing + self.checking + self.giving_back + self.series.round_cost()
    }

    /// The noise over the median; what is unknown is the most.
    pub(super) fn noise(&self) -> f64 {
        let timing = self.series.timing();
        timing.noise.map_or(f64::MAX, |noise| noise / timing.median)
    }

    pub(super) fn result(self) -> KernelResult {
        let timing = self.series.timing();
        let rate_unit = self.kernel.work.rate_unit();
        KernelResult {
            name: self.kernel.name.to_owned(),
            unit: "s".to_owned(),
            median: timing.median,
            iqr: timing.iqr,
            noise: timing.noise,
            min: timing.min,
            batches: timing.batches,
            rounds: timing.rounds,
            runs: timing.runs,
            baseline: None,
            baseline_at: None,
            baseline_noise: None,
            ratio: None,
            change: None,
            cold: timing.cold,
            is_steady: timing.is_steady,
            work: self.work,
            table_bytes: self.table_bytes,
            rate: rate_unit.filter(|_| timing.median > 0.0).map(|_| self.work / timing.median),
            rate_unit: rate_unit.map(str::to_owned),
            wrong: self.wrong,
            at: None,
        }
    }
}
