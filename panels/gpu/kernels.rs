//! What our own benchmark timed on a GPU, against what was saved for its model and driver.

use headwater_engine::metric::{KERNEL_BASELINE, KERNEL_TIME, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::store::Seen;
use headwater_engine::{Kind, Snapshot, Subject};

use super::row::parts_of;

/// A multiple of its saved time from which a kernel is told as slow.
const SLOW: f64 = 1.2;

/// One kernel.
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) now: Seen,
    pub(super) usual: Option<f64>,
}

impl Kernel {
    /// Its time over the saved one.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.usual.filter(|usual| *usual > 0.0).map(|usual| self.now.value / usual)
    }

    /// Whether it takes much longer than it did.
    pub(super) fn is_slow(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio >= SLOW)
    }

    /// `1.9 ms, 1.9x its saved 1 ms, 40 s ago`.
    pub(super) fn words(&self, snapshot: &Snapshot) -> String {
        let now = show(self.now.value, Unit::Seconds);
        let ago = show(snapshot.at.seconds_after(self.now.at).max(0.0), Unit::Seconds);
        let against = match (self.ratio(), self.usual) {
            (Some(ratio), Some(usual)) => {
                format!("{} its saved {}", times(ratio), show(usual, Unit::Seconds))
            }
            _ => "nothing saved to hold it against".to_owned(),
        };
        format!("{now}, {against}, {ago} ago")
    }
}

/// The kernels that were timed on a GPU, the slowest against its saved time first; the last times hold until others come.
pub(super) fn of(snapshot: &Snapshot, subject: &Subject) -> Vec<Kernel> {
    let newest = |metric, part| snapshot.history.trace(subject, metric, Some(part))?.latest_at(snapshot.at);
    let names = parts_of(snapshot, subject, KERNEL_TIME).flatten();
    let timed = names.filter_map(|part| {
        let usual = newest(KERNEL_BASELINE, part).map(|seen| seen.value);
        Some(Kernel { name: part.to_string(), now: newest(KERNEL_TIME, part)?, usual })
    });
    let mut kernels: Vec<Kernel> = timed.collect();
    kernels.sort_by(|one, other| {
        let ratio = |kernel: &Kernel| kernel.ratio().unwrap_or(0.0);
        ratio(other).total_cmp(&ratio(one)).then_with(|| one.name.cmp(&other.name))
    });
    kernels
}

/// The machines on whose processors kernels were timed, for want of a GPU.
pub(super) fn machines(snapshot: &Snapshot) -> Vec<&Subject> {
    let timed = |subject: &&Subject| {
        subject.kind() == Kind::Host && parts_of(snapshot, subject, KERNEL_TIME).next().is_some()
    };
    snapshot.history.subjects().filter(timed).collect()
}

/// All of them in one line: how many are slow, and which most.
pub(super) fn summary(kernels: &[Kernel], snapshot: &Snapshot) -> Option<String> {
    let first = kernels.first()?;
    let slow = kernels.iter().filter(|kernel| kernel.is_slow()).count();
    let known = kernels.iter().filter(|kernel| kernel.ratio().is_some()).count();
    let all = match (slow, known) {
        (_, 0) => format!("{} timed, nothing saved to hold them against", kernels.len()),
        (0, known) => format!("all {known} near their saved times"),
        (slow, known) => format!("{slow} of {known} slower than saved"),
    };
    Some(format!("{all}; {} {}", first.name, first.words(snapshot)))
}
