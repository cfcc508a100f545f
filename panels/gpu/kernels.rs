//! What our own benchmark timed on a GPU, against what was saved for its model and driver.

use headwater_engine::kernel_change::KernelChange;
use headwater_engine::metric::{KERNEL_BASELINE, KERNEL_NOISE, KERNEL_TIME, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::store::Seen;
use headwater_engine::{Kind, Snapshot, Subject};

use super::row::parts_of;

/// A multiple of its saved time from which a kernel that is slower is worth a colour.
const SLOW: f64 = 1.2;

/// What is said of how many kernels, beside what was saved of them.
const COUNTED: &[(KernelChange, &str)] = &[
    (KernelChange::Slower, "slower than saved"),
    (KernelChange::Faster, "faster than saved"),
    (KernelChange::WithinNoise, "within noise of what was saved"),
    (KernelChange::Unknown, "whose noise is unknown"),
];

/// One kernel.
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) now: Seen,
    /// Its saved time, in seconds, with the change since then.
    usual: Option<(f64, KernelChange)>,
}

impl Kernel {
    /// Its time over the saved one.
    fn ratio(&self) -> Option<f64> {
        self.usual.filter(|(usual, _)| *usual > 0.0).map(|(usual, _)| self.now.value / usual)
    }

    /// What its time says beside the saved one.
    fn change(&self) -> Option<KernelChange> {
        self.usual.map(|(_, change)| change)
    }

    /// Whether it takes much longer than it did, by more than what is noise.
    pub(super) fn is_slow(&self) -> bool {
        self.change() == Some(KernelChange::Slower) && self.ratio().is_some_and(|ratio| ratio >= SLOW)
    }

    /// `1.9 ms, 1.9x its saved 1 ms (slower), 40 s ago`.
    pub(super) fn words(&self, snapshot: &Snapshot) -> String {
        let now = show(self.now.value, Unit::Seconds);
        let ago = show(snapshot.at.seconds_after(self.now.at).max(0.0), Unit::Seconds);
        let against = match (self.ratio(), self.usual) {
            (Some(ratio), Some((usual, change))) => {
                format!("{} its saved {} ({})", times(ratio), show(usual, Unit::Seconds), change.word())
            }
            _ => "nothing saved to hold it against".to_owned(),
        };
        format!("{now}, {against}, {ago} ago")
    }
}

/// The kernels that were timed on a GPU, those first that are slower than they were, and the slowest of them; the last times hold
/// until others come.
pub(super) fn of(snapshot: &Snapshot, subject: &Subject) -> Vec<Kernel> {
    let newest = |metric, part| snapshot.history.trace(subject, metric, Some(part))?.latest_at(snapshot.at);
    let names = parts_of(snapshot, subject, KERNEL_TIME).flatten();
    let timed = names.filter_map(|part| {
        let now = newest(KERNEL_TIME, part)?;
        // What was told of an earlier time is not of this one: it may have been other work.
        let beside = |metric| newest(metric, part).filter(|seen| seen.at == now.at).map(|seen| seen.value);
        let usual = beside(KERNEL_BASELINE);
        let usual = usual.map(|usual| (usual, KernelChange::of(now.value, usual, beside(KERNEL_NOISE))));
        Some(Kernel { name: part.to_string(), now, usual })
    });
    let mut kernels: Vec<Kernel> = timed.collect();
    kernels.sort_by(|one, other| {
        let is_slower = |kernel: &Kernel| kernel.change() == Some(KernelChange::Slower);
        let ratio = |kernel: &Kernel| kernel.ratio().unwrap_or(0.0);
        let by_change = is_slower(other).cmp(&is_slower(one));
        by_change.then_with(|| ratio(other).total_cmp(&ratio(one))).then_with(|| one.name.cmp(&other.name))
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

/// All of them in one line: how many are slower than saved, and which most.
pub(super) fn summary(kernels: &[Kernel], snapshot: &Snapshot) -> Option<String> {
    let first = kernels.first()?;
    let counted = COUNTED.iter().filter_map(|(change, words)| {
        let count = kernels.iter().filter(|kernel| kernel.change() == Some(*change)).count();
        (count > 0).then(|| format!("{count} {words}"))
    });
    let all = match counted.collect::<Vec<_>>().join(", ") {
        nothing if nothing.is_empty() => {
            format!("{} timed, nothing saved to hold them against", kernels.len())
        }
        counted => counted,
    };
    Some(format!("{all}; {} {}", first.name, first.words(snapshot)))
}
