//! What a benchmark came to, as JSON and as text.

#[cfg(test)]
pub(super) mod examples;
mod text;

use headwater_engine::kernel_change::KernelChange;
use serde::{Deserialize, Serialize};

use super::meter::LEAST_FOR_A_MEDIAN;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// The result of one run; what `--format json` prints, and what is saved as a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `cuda` or `cpu`.
    pub backend: String,
    /// The model of the device.
    pub device: String,
    /// The place of the device among those of this host.
    pub index: u32,
    /// The GPU instance that was measured, where the device is a slice (MIG) of a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<u32>,
    /// The driver's release; that of CUDA where the driver does not tell its own. `None` for a CPU.
    pub driver: Option<String>,
    /// When it ended, as RFC 3339 in UTC.
    pub at: String,
    /// The kernels that were timed, in the order of the table.
    pub kernels: Vec<KernelResult>,
    /// Kernels that were not, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Under what they were timed.
    pub conditions: Conditions,
    /// What a reader should know before comparing these numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The times of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelResult {
    /// Its name in the table of kernels.
    pub name: String,
    /// The unit of the times: `s`.
    pub unit: String,
    /// The median of batches, for one run.
    pub median: f64,
    /// The interquartile range of batches; `None` of fewer than nine, which cannot tell it.
    pub iqr: Option<f64>,
    /// How far the median may be off: the interquartile range, or how far the medians of rounds lie apart where that is more.
    /// `None` where there was too little of either to tell.
    #[serde(default)]
    pub noise: Option<f64>,
    /// The fastest that was seen: a batch, or a run before them.
    pub min: f64,
    /// How many batches there were; 0 where the time is that of one warm run.
    #[serde(default)]
    pub batches: u32,
    /// How many rounds those were in, with other kernels between them.
    #[serde(default)]
    pub rounds: u32,
    /// How many runs all batches had.
    pub runs: u64,
    /// The saved median on this model and driver, where there is one of the same work.
    pub baseline: Option<f64>,
    /// When the baseline was timed, as RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_at: Option<String>,
    /// How far the baseline may be off, in seconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_noise: Option<f64>,
    /// The median over the baseline: above 1 it is slower now.
    pub ratio: Option<f64>,
    /// What the ratio says; `None` without a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<KernelChange>,
    /// The first run, timed as all others are.
    pub cold: f64,
    /// Whether the noise is known to be below 2 % of the median.
    pub is_steady: bool,
    /// What one run works through, in bytes or operations; 0 where only the time tells.
    pub work: f64,
    /// The table that it reads from in no order, in bytes; `None` for a kernel that reads from one end to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_bytes: Option<u64>,
    /// The work over the median, where there is work.
    pub rate: Option<f64>,
    /// The unit of the rate: `B/s` or `FLOP/s`.
    pub rate_unit: Option<String>,
    /// What was wrong with the result when it was checked on the CPU; `None` when it was right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// When it was timed, as RFC 3339 in UTC, where that was not with the rest: a saved result keeps what later ones leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl KernelResult {
    /// Whether its median is one: of less than [`LEAST_FOR_A_MEDIAN`] batches it is what happened to be seen.
    pub fn has_median(&self) -> bool {
        self.batches >= LEAST_FOR_A_MEDIAN
    }

    /// What its time says beside an earlier one of the same.
    pub fn change_since(&self, earlier: &Self) -> KernelChange {
        KernelChange::of(
            self.median,
            earlier.median,
            self.noise.zip(earlier.noise).map(|(now, then)| now + then),
        )
    }

    /// How far it and its baseline may be off, both together, in seconds; `None` where either is unknown.
    pub fn noise_of_both(&self) -> Option<f64> {
        self.noise.zip(self.baseline_noise).map(|(now, then)| now + then)
    }

    /// Whether both are times of the same: the same kernel, with the same work, over a table of the same size.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        (&self.name, self.table_bytes) == (&other.name, other.table_bytes) && self.work == other.work
    }
}

/// A kernel that was not timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: String,
    /// Whether it might have been timed with a larger budget.
    #[serde(default)]
    pub for_lack_of_time: bool,
}

/// Under what kernels were timed. What could not be read is `None` and named in `missing`, and never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The time that was allowed, in seconds.
    pub budget_s: f64,
    /// The time from the open device to the last result, in seconds.
    pub spent_s: f64,
    /// Memory that the bandwidth kernels work on, in bytes.
    pub working_set_bytes: u64,
    /// The last caches before memory that it reaches, all together, in bytes.
    pub cache_bytes: Option<u64>,
    /// Free memory before it began, in bytes.
    pub memory_free_bytes: Option<u64>,
    /// All memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The compute capability of a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// The threads of a CPU backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Before the first kernel.
    pub before: DeviceState,
    /// While kernels worked, at its worst: the lowest clocks, the highest of all else, and every reason that held the clocks
    /// down. After the last kernel a device rests at once, and its clocks say nothing of what was timed.
    #[serde(default)]
    pub during: DeviceState,
    /// What could not be read, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The state of a device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceState {
    /// The clock of the multiprocessors, in hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_hz: Option<f64>,
    /// The clock of the memory, in hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_clock_hz: Option<f64>,
    /// In degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// In watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Reasons for which the clocks are held down, as the driver names them; empty when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Vec<String>>,
    /// The share of time with a kernel running, or of cores in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
    /// The host's load average over a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
}

impl DeviceState {
    /// Takes another moment, and keeps the worst of both.
    pub(super) fn worsen(&mut self, other: Self) {
        let keep = |own: &mut Option<f64>, other: Option<f64>, choose: fn(f64, f64) -> f64| {
            *own = own.zip(other).map(|(own, other)| choose(own, other)).or(*own).or(other);
        };
        keep(&mut self.sm_clock_hz, other.sm_clock_hz, f64::min);
        keep(&mut self.memory_clock_hz, other.memory_clock_hz, f64::min);
        keep(&mut self.temperature_c, other.temperature_c, f64::max);
        keep(&mut self.power_w, other.power_w, f64::max);
        keep(&mut self.utilization, other.utilization, f64::max);
        keep(&mut self.load, other.load, f64::max);
        if let Some(reasons) = other.throttle {
            let own = self.throttle.get_or_insert_default();
            own.extend(reasons);
            own.sort();
            own.dedup();
        }
    }
}

impl BenchReport {
    /// The kernels whose results were wrong.
    pub fn wrong(&self) -> impl Iterator<Item = &KernelResult> {
        self.kernels.iter().filter(|kernel| kernel.wrong.is_some())
    }

    /// Sets each kernel's baseline and ratio from an earlier report; a kernel that did other work then has none.
    pub fn compare_with(&mut self, earlier: &Self) {
        for kernel in &mut self.kernels {
            let is_it = |known: &&KernelResult| {
                known.is_of_the_same(kernel) && known.wrong.is_none() && known.median > 0.0
            };
            let known = earlier.kernels.iter().find(is_it);
            kernel.change = known.map(|known| kernel.change_since(known));
            kernel.baseline = known.map(|known| known.median);
            kernel.baseline_noise = known.and_then(|known| known.noise);
            kernel.baseline_at = known.map(|known| known.at.as_ref().unwrap_or(&earlier.at).clone());
            kernel.ratio = kernel.baseline.map(|baseline| kernel.median / baseline);
        }
    }

    /// The JSON, in one piece with a line end.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("finite numbers and text are plain JSON") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::examples::{kernel, report};
    use super::*;

    #[test]
    fn a_kernel_is_compared_with_the_same_work_only_and_never_with_a_wrong_result() {
        let mut now = report(vec![
            kernel("launch", 2e-6, 0.0),
            kernel("copy", 1e-3, 64e6),
            kernel("gemm", 1e-3, 1e9),
            kernel("gather", 1e-3, 1e6),
        ]);
        let mut wrong = kernel("gather", 1e-3, 1e6);
        wrong.wrong = Some("3 instead of 4".to_owned());
        let earlier = report(vec![kernel("launch", 1e-6, 0.0), kernel("copy", 1e-3, 32e6), wrong]);
        now.compare_with(&earlier);
        assert_eq!(now.kernels[0].baseline_at.as_deref(), Some("2026-01-02T03:04:05Z"));
        let ratios: Vec<_> = now.kernels.iter().map(|kernel| kernel.ratio).collect();
        assert_eq!(ratios, [Some(2.0), None, None, None]);
        let text = now.text();
        assert!(text.starts_with("CPU, not a GPU: a model\n"), "{text}");
        assert!(text.contains("2x"), "{text}");
        let again: BenchReport = serde_json::from_str(&now.json()).unwrap();
        assert_eq!(again, now);
    }

    #[test]
    fn a_change_is_judged_beyond_the_noise_of_both_only() {
        let of = |median: f64, noise: Option<f64>| KernelResult { noise, ..kernel("gather", median, 8e6) };
        let change = |now: KernelResult, then: KernelResult| {
            let mut now = report(vec![now]);
            now.compare_with(&report(vec![then]));
            now.kernels[0].change
        };
        let then = || of(100e-6, Some(6e-6));
        assert_eq!(change(of(114e-6, Some(9e-6)), then()), Some(KernelChange::WithinNoise));
        assert_eq!(change(of(116e-6, Some(9e-6)), then()), Some(KernelChange::Slower));
        assert_eq!(change(of(84e-6, Some(9e-6)), then()), Some(KernelChange::Faster));
        assert_eq!(change(of(900e-6, None), then()), Some(KernelChange::Unknown));
        assert_eq!(change(of(900e-6, Some(0.0)), of(1e-6, None)), Some(KernelChange::Unknown));
        // A baseline of a release that stated no noise can be read, and judges nothing.
        let mut old = serde_json::to_value(then()).unwrap();
        old.as_object_mut().unwrap().retain(|key, _| !["noise", "rounds", "change"].contains(&key.as_str()));
        let old: KernelResult = serde_json::from_value(old).unwrap();
        assert_eq!((old.iqr.is_some(), change(of(1.0, Some(0.0)), old)), (true, Some(KernelChange::Unknown)));
    }

    #[test]
    fn look_ups_in_a_table_are_compared_with_those_in_one_of_its_size() {
        let gather = |median: f64, table: u64| {
            let mut gather = kernel("gather", median, 8e6);
            gather.table_bytes = Some(table);
            gather
        };
        // A run with little memory has a small table, which a cache holds.
        let earlier = report(vec![gather(1e-5, 64 << 20), gather(4e-5, 512 << 20)]);
        let mut now = report(vec![gather(8e-5, 512 << 20), gather(1e-5, 128 << 20)]);
        now.compare_with(&earlier);
        let ratios: Vec<_> = now.kernels.iter().map(|kernel| kernel.ratio).collect();
        assert_eq!(ratios, [Some(2.0), None]);
    }

    #[test]
    fn of_two_moments_the_worst_is_kept() {
        let of = |clock: Option<f64>, heat: Option<f64>, reasons: Option<&[&str]>| DeviceState {
            sm_clock_hz: clock,
            temperature_c: heat,
            throttle: reasons.map(|reasons| reasons.iter().map(|reason| (*reason).to_owned()).collect()),
            ..DeviceState::default()
        };
        let mut worst = DeviceState::default();
        worst.worsen(of(Some(2e9), None, Some(&["sync_boost"])));
        worst.worsen(of(Some(1e9), Some(60.0), Some(&[])));
        worst.worsen(of(None, Some(50.0), Some(&["hw_slowdown", "sync_boost"])));
        assert_eq!(worst, of(Some(1e9), Some(60.0), Some(&["hw_slowdown", "sync_boost"])));
        let mut clear = DeviceState::default();
        clear.worsen(of(None, None, Some(&[])));
        assert_eq!(clear, of(None, None, Some(&[])), "that nothing holds it down is told too");
    }
}
