//! What a device must be able to do to be measured.

use std::time::Duration;

use super::kernel::KernelId;
use super::report::{Conditions, DeviceState};

/// A device that kernels can be prepared on.
pub(super) trait Backend {
    /// Why this kind of device has no such kernel, if it has none; asked before anything is timed.
    fn lacks(&self, _kernel: KernelId) -> Option<String> {
        None
    }

    /// Takes less memory to work on where filling all of it would take longer than this, as far as filling a part of it tells:
    /// how many bytes of how many. `None` where it keeps to what it has.
    fn fit(&self, _within: Duration, _elapsed: &dyn Fn() -> Duration) -> Option<(u64, u64)> {
        None
    }

    /// Takes the memory that a kernel needs and fills it, piece by piece as long as there is time.
    fn prepare(&self, kernel: KernelId, go_on: GoOn<'_>) -> Result<Box<dyn Runnable + '_>, Trouble>;

    /// Has the next run of this kernel read the device's state while it works; `false` where no run is needed for that. Reading
    /// takes the host longer than many a kernel takes the device, so that run is not timed.
    fn watch_next(&self, _kernel: KernelId) -> bool {
        false
    }

    /// What was read while kernels worked, at its worst.
    fn at_work(&self) -> DeviceState;
}

/// One kernel, ready to run.
pub(super) trait Runnable {
    /// What one run works through, in the unit of the kernel's [`super::kernel::Work`].
    fn work(&self) -> f64 {
        0.0
    }

    /// The table that it reads from in no order, in bytes: the larger it is, the slower, whatever the work.
    fn table_bytes(&self) -> Option<u64> {
        None
    }

    /// How long a run will take, as far as a small part of one tells; nothing where no part of one can be run alone.
    fn foretold(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Runs it so many times and waits for the end; how long that took, by the device's own clock where it has one.
    fn run(&mut self, times: u32) -> Result<Duration, Trouble>;

    /// Compares what the last run left with what the CPU computes, piece by piece as long as there is time.
    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble>;
}

/// Asked between pieces of what nobody times: [`Trouble::Late`] where there is no time for another.
pub(super) type GoOn<'a> = &'a dyn Fn() -> Result<(), Trouble>;

/// Why a kernel has no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// This device does not have it; the others can still be timed.
    NotHere(String),
    /// What was left of the budget was too little for it; the others may still be short enough.
    Late(String),
    /// Its result is not what it must be.
    Wrong(String),
    /// The device does no more.
    Failed(String),
}

/// What is known of a device once it is open.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) device: String,
    pub(super) index: u32,
    /// The GPU instance, where it is a slice (MIG).
    pub(super) slice: Option<u32>,
    pub(super) driver: Option<String>,
    /// All but the time spent and the state at work.
    pub(super) conditions: Conditions,
    pub(super) notes: Vec<String>,
}

/// With less memory than this to work on, times are those of starting.
const LEAST_SET: u64 = 4 * 1024 * 1024;

/// Of a set of so many bytes what can be filled within a time, if filling so many of them took so long: all of it, or a half as
/// often as it must be, down to [`LEAST_SET`]. Halves, so that runs that had a little more or less time did the same work.
pub(super) fn fitting(set: u64, (filled, took): (u64, Duration), within: Duration) -> u64 {
    let takes = |set: u64| took.as_secs_f64() * set as f64 / filled.max(1) as f64;
    let halves = std::iter::successors(Some(set), |set| Some(set / 2).filter(|half| *half >= LEAST_SET));
    let fitting = halves.clone().find(|set| takes(*set) <= within.as_secs_f64());
    fitting.or(halves.last()).unwrap_or(set)
}

/// The memory to work on unless told otherwise: 64 MiB, or four times the cache where that is more, because what fits into
/// a cache measures the cache; at most `largest`, which is less where memory is short.
pub(super) fn set_bytes(cache: Option<u64>, largest: u64) -> u64 {
    const USUAL: u64 = 64 * 1024 * 1024;
    // A power of two, so that runs that found a little more or less memory free did the same work.
    let largest = 1 << largest.max(LEAST_SET).ilog2();
    let four_times = cache.map_or(USUAL, |cache| cache.saturating_mul(4));
    four_times.checked_next_power_of_two().unwrap_or(largest).max(USUAL).min(largest)
}

/// The host's load average over a minute, where there is a `/proc`.
pub(super) fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The first value that differs from what it must be, in words; `from` is the place of the first.
pub(super) fn compare(
    from: usize,
    found: impl Iterator<Item = f32>,
    expected: impl Iterator<Item = f32>,
    tolerance: f32,
) -> Result<(), Trouble> {
    for (place, (found, expected)) in (from..).zip(found.zip(expected)) {
        // Not a number is no value within any tolerance.
        let is_right = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        if !is_right {
            return Err(Trouble::Wrong(format!("value {place} is {found} instead of {expected}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_larger_than_the_cache_and_bounded() {
        const MIB: u64 = 1024 * 1024;
        assert_eq!(set_bytes(None, 1024 * MIB), 64 * MIB);
        assert_eq!(set_bytes(Some(4 * MIB), 1024 * MIB), 64 * MIB);
        assert_eq!(set_bytes(Some(50 * MIB), 1024 * MIB), 256 * MIB);
        assert_eq!(set_bytes(Some(126 * MIB), 256 * MIB), 256 * MIB);
        // Where memory is short less is taken, also than usual.
        assert_eq!(set_bytes(None, 40 * MIB), 32 * MIB);
        assert_eq!(set_bytes(Some(50 * MIB), 130 * MIB), 128 * MIB);
        assert_eq!(set_bytes(Some(u64::MAX), 1), 4 * MIB);
    }

    #[test]
    fn a_set_that_cannot_be_filled_in_time_is_halved_until_it_can() {
        const MIB: u64 = 1024 * 1024;
        let of = |set: u64, milliseconds| {
            // A mebibyte in a millisecond.
            fitting(set * MIB, (8 * MIB, Duration::from_millis(8)), Duration::from_millis(milliseconds)) / MIB
        };
        assert_eq!([of(128, 128), of(128, 127), of(128, 33), of(100, 40)], [128, 64, 32, 25]);
        // Of too little nothing could be told, and a smaller set that somebody asked for is not made larger.
        assert_eq!([of(128, 1), of(128, 0), of(1, 0)], [4, 4, 1]);
    }

    #[test]
    fn a_wrong_value_and_one_that_is_no_number_are_told() {
        let compared = |found: &[f32]| compare(7, found.iter().copied(), [1.0, 2.0].into_iter(), 1e-6);
        assert_eq!(compared(&[1.0, 2.0]), Ok(()));
        assert_eq!(compared(&[1.0, 3.0]), Err(Trouble::Wrong("value 8 is 3 instead of 2".to_owned())));
        assert!(compared(&[f32::NAN, 2.0]).is_err());
    }
}
