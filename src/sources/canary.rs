//! The canary: our own kernels, timed every now and then on this machine, and once more when somebody asks for it.
//!
//! What it measures is what a small process of ours meets. It may accuse a GPU or its host, and clears neither: a service
//! has other streams, other sizes and other neighbours.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::{
    GPU_LAUNCH, KERNEL_BASELINE, KERNEL_NOISE, KERNEL_TIME, PROBE_OK, SCRAPE_TIME, Unit,
};
use headwater_engine::quantity::{show, times};
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, RemoteText, Subject};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::nvml::slice_of;
use super::{Outlet, Source, now, spawn};
use crate::bench::meter::LEAST_FOR_A_MEDIAN;
use crate::bench::plan::USUAL_BUDGET;
use crate::bench::report::KernelResult;
use crate::bench::{BackendChoice, BenchError, BenchReport, Plan, baseline, run};

/// The part under which the time of a launch stands: a service's own page may tell another one.
const CANARY: &str = "canary";

/// What is missing while a device is better left alone.
const TIMINGS: &str = "kernel timings";

/// What is missing while the budget is too short for some kernels.
const MEDIANS: &str = "medians of some kernels";

/// The kernels that a canary times: those that need no large copies.
pub const USUAL_KERNELS: &[&str] = &["launch", "launch_sync", "launch_queue", "gemm", "triad", "gather"];

/// The canary of this machine.
#[derive(Clone, Debug)]
pub struct CanarySpec {
    /// `probe/NAME`.
    pub subject: Subject,
    /// The name of this machine, by which its GPUs and itself are called.
    pub host: String,
    /// How often kernels are timed.
    pub every: Duration,
    /// The GPUs, by their place on this machine; when empty the first that CUDA shows.
    pub devices: Vec<u32>,
    /// What is measured on each of them, within which limits.
    pub plan: Plan,
}

impl CanarySpec {
    /// The canary of a machine of this name, which times the usual kernels on its first GPU within this budget.
    pub fn new(host: &str, budget: Duration) -> Self {
        let mut plan = Plan::new(BackendChoice::Auto, budget);
        plan.kernels = USUAL_KERNELS.iter().map(|name| (*name).to_owned()).collect();
        Self {
            subject: Subject::component(Kind::Probe, CANARY),
            host: host.to_owned(),
            every: Duration::from_secs(60),
            devices: vec![],
            plan,
        }
    }

    /// The canary of this machine, by its name, where nobody configured another.
    pub fn usual(host: &str) -> Self {
        Self::new(host, USUAL_BUDGET)
    }

    /// The place of a GPU on this machine; `None` when it is another machine's.
    pub fn place_of(&self, gpu: &Subject) -> Option<u32> {
        let (host, place) = gpu.name().rsplit_once(':')?;
        (gpu.kind() == Kind::Gpu && host == self.host).then(|| place.parse().ok()).flatten()
    }

    /// The place of a GPU on this machine to time kernels on it, or why that cannot be done from here.
    pub fn place_to_time(&self, gpu: &Subject) -> Result<u32, String> {
        if let Some(place) = self.place_of(gpu) {
            return Ok(place);
        }
        let of_slice = gpu_of(gpu).and_then(|whole| self.place_of(&whole));
        Err(match of_slice {
            Some(place) => format!(
                "{gpu} is a slice (MIG) of GPU {place} of this machine, and CUDA shows a slice only to a process that is started \
                 for it: run 'CUDA_VISIBLE_DEVICES=MIG-... headwater bench' here, with its id from 'nvidia-smi -L'"
            ),
            None => format!("{gpu} is not a GPU of this machine: run 'headwater bench' there"),
        })
    }
}

/// The GPU of a slice (MIG), by the name that [`slice_of`] gives one; `None` of any other.
fn gpu_of(slice: &Subject) -> Option<Subject> {
    let (gpu, instance) = slice.name().rsplit_once("-mig-")?;
    let gpu = Subject::component(slice.kind(), gpu);
    (instance.parse().is_ok_and(|instance| slice_of(&gpu, instance) == *slice)).then_some(gpu)
}

/// Lets one benchmark run at a time: two would measure each other.
#[derive(Clone, Debug, Default)]
pub struct Turn(Arc<Mutex<()>>);

/// Times kernels at an interval until the outlet says stop. Must be called within a tokio runtime.
pub fn spawn_canary(spec: &CanarySpec, turn: &Turn, outlet: Outlet) -> JoinHandle<()> {
    spawn(Canary::new(spec, turn), spec.every, outlet)
}

/// Times kernels once and sends the reading; what it came to, in one line, and whether that is bad. `None` while another run
/// is under way. Must be called within a tokio runtime.
pub fn time_once(spec: CanarySpec, turn: &Turn, outlet: Outlet) -> Option<JoinHandle<(String, bool)>> {
    let held = Arc::clone(&turn.0).try_lock_owned().ok()?;
    Some(tokio::spawn(async move {
        let mut canary = Canary { spec, turn: Turn::default() };
        let stop = outlet.stop.clone();
        let (mut reading, said) = tokio::select! {
            // Dropping the run ends its process.
            () = stop.cancelled() => return ("the timing of kernels was ended".to_owned(), false),
            told = canary.look() => told,
        };
        drop(held);
        let is_bad = !reading.faults.is_empty();
        // Whoever asked is told; a fault would stand until somebody asks again.
        reading.faults.clear();
        let _ = outlet.readings.send(reading).await;
        (said, is_bad)
    }))
}

/// Our own kernels as a source.
#[derive(Debug)]
pub struct Canary {
    spec: CanarySpec,
    turn: Turn,
}

impl Canary {
    /// Prepares a canary; nothing is measured yet.
    pub fn new(spec: &CanarySpec, turn: &Turn) -> Self {
        Self { spec: spec.clone(), turn: turn.clone() }
    }

    /// Measures each device in turn; the reading, and what it came to in one line.
    pub async fn look(&mut self) -> (Reading, String) {
        let begun = Instant::now();
        let mut reading = Reading::new(self.spec.subject.clone(), now());
        let mut said = vec![];
        let mut refused = vec![];
        let mut hurried = vec![];
        let first = [None];
        let named: Vec<Option<u32>> = self.spec.devices.iter().copied().map(Some).collect();
        for device in if named.is_empty() { &first[..] } else { &named } {
            let plan = Plan { device: *device, ..self.spec.plan.clone() };
            match run(&plan).await {
                Ok(mut report) => {
                    // A baseline that cannot be read is none: 'headwater bench' says what is wrong with it.
                    if let Ok(Some(earlier)) = baseline::saved(&report) {
                        report.compare_with(&earlier);
                    }
                    said.push(told(&report, &self.spec.host, &mut reading, &mut hurried));
                }
                Err(BenchError::Refused(why)) => {
                    said.push(format!("not timed: {why}"));
                    refused.push(why);
                }
                Err(error) => {
                    said.push(error.to_string());
                    reading.faults.push(fault(&error));
                }
            }
        }
        // That a device is better left alone is no failure of it.
        let hurried = (!hurried.is_empty()).then(|| {
            format!(
                "a median needs {LEAST_FOR_A_MEDIAN} batches, and the budget of {} was too short for them: {}; give [canary] more, \
                 or fewer kernels",
                show(self.spec.plan.budget.as_secs_f64(), Unit::Seconds),
                hurried.join(", ")
            )
        });
        for (what, why) in [(TIMINGS, refused.first()), (MEDIANS, hurried.as_ref())] {
            let what = RemoteText::new(what);
            reading.events.push(match why {
                Some(why) => Event::Unavailable { what, why: RemoteText::new(why) },
                None => Event::Available { what },
            });
        }
        reading.at = now();
        // Also one that left a device alone has looked.
        let is_ok = f64::from(u8::from(reading.faults.is_empty()));
        reading.sample(&self.spec.subject, PROBE_OK, Value::Gauge(is_ok));
        reading.sample(&self.spec.subject, SCRAPE_TIME, Value::Gauge(begun.elapsed().as_secs_f64()));
        (reading, said.join("; "))
    }
}

impl Source for Canary {
    fn subject(&self) -> &Subject {
        &self.spec.subject
    }

    async fn ask(&mut self) -> Reading {
        let turn = self.turn.clone();
        let _held = turn.0.lock().await;
        self.look().await.0
    }

    fn backs_off(&self) -> bool {
        false
    }
}

/// Adds the times of a report to a reading; what it came to, in one line. Kernels that had too little time for a median, or for a
/// single run, go to `hurried`, with how many batches each had: what was seen of them is told to nobody as their time.
fn told(report: &BenchReport, host: &str, reading: &mut Reading, hurried: &mut Vec<String>) -> String {
    let is_cpu = report.backend == "cpu";
    let about = if is_cpu {
        Subject::component(Kind::Host, host)
    } else {
        let gpu = Subject::component(Kind::Gpu, &format!("{host}:{}", report.index));
        report.slice.map_or_else(|| gpu.clone(), |slice| slice_of(&gpu, slice))
    };
    let named = |name: &str| if is_cpu { format!("cpu {name}") } else { name.to_owned() };
    let mut words = vec![];
    for kernel in &report.kernels {
        if let Some(why) = &kernel.wrong {
            let message = format!("{about} computes wrongly: {}: {why}", kernel.name);
            reading.faults.push(Fault { kind: FaultKind::Malformed, message: RemoteText::new(&message) });
            words.push(format!("{} is WRONG", kernel.name));
            continue;
        }
        let part = named(&kernel.name);
        if !kernel.has_median() {
            words.push(format!("{part} unknown"));
            hurried.push(format!("{part} of {about} had {}", kernel.batches));
            continue;
        }
        reading.part(&about, KERNEL_TIME, &part, Value::Gauge(kernel.median));
        if let Some(baseline) = kernel.baseline {
            reading.part(&about, KERNEL_BASELINE, &part, Value::Gauge(baseline));
        }
        if let Some(noise) = kernel.noise_of_both() {
            reading.part(&about, KERNEL_NOISE, &part, Value::Gauge(noise));
        }
        // To hand a task to a pool of threads is no launch.
        if kernel.name == "launch" && !is_cpu {
            reading.part(&about, GPU_LAUNCH, CANARY, Value::Gauge(kernel.median));
        }
        let against = kernel.ratio.zip(kernel.change);
        let against = against.map(|(ratio, change)| format!(" ({}, {})", times(ratio), change.word()));
        words.push(format!("{part} {}{}", show(kernel.median, Unit::Seconds), against.unwrap_or_default()));
    }
    for skipped in report.skipped.iter().filter(|skipped| skipped.for_lack_of_time) {
        let part = named(&skipped.name);
        hurried.push(format!("{part} of {about} had none"));
        words.push(format!("{part} unknown"));
    }
    let is_known = report.kernels.iter().any(|kernel| kernel.ratio.is_some());
    let known = if is_known || !report.kernels.iter().any(KernelResult::has_median) {
        ""
    } else {
        ", no baseline: 'headwater bench --save' keeps one"
    };
    format!("{about}: {}{known}", words.join(", "))
}

fn fault(error: &BenchError) -> Fault {
    let kind = match error {
        BenchError::Absent(_) | BenchError::Unusable(_) | BenchError::NoChild(_) => FaultKind::Unreachable,
        BenchError::Refused(_) => FaultKind::Busy,
        BenchError::Hung { .. } | BenchError::Held(_) => FaultKind::Silent,
        BenchError::Failed { .. } | BenchError::Died { .. } => FaultKind::Malformed,
    };
    Fault { kind, message: RemoteText::new(&error.to_string()) }
}

#[cfg(test)]
mod tests {
    use headwater_engine::kernel_change::KernelChange;
    use headwater_engine::metric::MetricName;

    use super::*;
    use crate::bench::report::{Conditions, SCHEMA, Skipped};

    fn kernel(name: &str, median: f64, ratio: Option<f64>, wrong: Option<&str>) -> KernelResult {
        KernelResult {
            name: name.to_owned(),
            unit: "s".to_owned(),
            median,
            iqr: None,
            noise: Some(median / 10.0),
            min: median,
            batches: 3,
            rounds: 1,
            runs: 10,
            baseline: ratio.map(|ratio| median / ratio),
            baseline_at: None,
            baseline_noise: ratio.map(|_| median / 10.0),
            ratio,
            change: ratio.map(|_| KernelChange::Slower),
            cold: median,
            is_steady: true,
            work: 0.0,
            table_bytes: None,
            rate: None,
            rate_unit: None,
            wrong: wrong.map(str::to_owned),
            at: None,
        }
    }

    /// Subjects, metrics and parts.
    type Rows = Vec<(String, String, String)>;

    /// Four kernels; of one the result is wrong, and the last had too little time for a median.
    fn report(backend: &str) -> BenchReport {
        let mut report = BenchReport {
            schema: SCHEMA,
            backend: backend.to_owned(),
            device: "a model".to_owned(),
            index: 3,
            slice: None,
            driver: None,
            at: String::new(),
            kernels: vec![
                kernel("launch", 48e-6, Some(40.0), None),
                kernel("gemm", 1e-3, None, Some("3 instead of 4")),
                kernel("triad", 2e-3, None, None),
                kernel("gather", 3e-3, Some(9.0), None),
            ],
            skipped: [("copy", true), ("h2d_pinned", false)]
                .map(|(name, for_lack_of_time)| Skipped {
                    name: name.to_owned(),
                    why: String::new(),
                    for_lack_of_time,
                })
                .into(),
            conditions: Conditions::default(),
            notes: vec![],
        };
        report.kernels[3].batches = 2;
        report
    }

    /// What a reading of such a report tells, and what is said of it.
    fn read(backend: &str) -> (Rows, Reading, String, Vec<String>) {
        let report = report(backend);
        let mut reading = Reading::new("probe/canary".parse().unwrap(), now());
        let mut hurried = vec![];
        let said = told(&report, "box", &mut reading, &mut hurried);
        let name = |metric: &MetricName| metric.as_str().to_owned();
        let part = |part: &Option<RemoteText>| part.as_ref().map(ToString::to_string).unwrap_or_default();
        let rows = reading
            .samples
            .iter()
            .map(|sample| (sample.subject.to_string(), name(&sample.metric), part(&sample.part)))
            .collect();
        (rows, reading, said, hurried)
    }

    #[test]
    fn times_are_of_the_gpu_and_of_the_cpu_backend_of_the_host_and_labelled() {
        let (rows, reading, said, hurried) = read("cuda");
        let expected = [
            ("gpu/box:3", "gpu.kernel.time", "launch"),
            ("gpu/box:3", "gpu.kernel.baseline", "launch"),
            ("gpu/box:3", "gpu.kernel.noise", "launch"),
            ("gpu/box:3", "gpu.launch.latency", "canary"),
            ("gpu/box:3", "gpu.kernel.time", "triad"),
        ];
        let expected =
            expected.map(|(subject, metric, part)| (subject.to_owned(), metric.to_owned(), part.to_owned()));
        assert_eq!(rows, expected);
        assert_eq!(reading.faults[0].message.as_str(), "gpu/box:3 computes wrongly: gemm: 3 instead of 4");
        assert_eq!(
            said,
            "gpu/box:3: launch 48 µs (40x, slower), gemm is WRONG, triad 2 ms, gather unknown, copy unknown"
        );
        // What the device lacks is no matter of time.
        assert_eq!(hurried, ["gather of gpu/box:3 had 2", "copy of gpu/box:3 had none"]);

        let canary = CanarySpec::new("box", Duration::from_millis(200));
        let place = |gpu: &str| canary.place_of(&gpu.parse().unwrap());
        assert_eq!([place("gpu/box:3"), place("gpu/other:3"), place("host/box:3")], [Some(3), None, None]);

        // A slice of a GPU here is one of this machine, and it is said how it is timed.
        let refused = |gpu: &str| canary.place_to_time(&gpu.parse().unwrap()).unwrap_err();
        assert_eq!(canary.place_to_time(&"gpu/box:3".parse().unwrap()), Ok(3));
        let slice = refused("gpu/box:3-mig-9");
        assert!(slice.contains("is a slice (MIG) of GPU 3 of this machine"), "{slice}");
        assert!(slice.contains("'CUDA_VISIBLE_DEVICES=MIG-... headwater bench' here"), "{slice}");
        for elsewhere in ["gpu/other:3", "gpu/other:3-mig-9", "gpu/box:3-mig-", "gpu/box:x-mig-9"] {
            assert!(refused(elsewhere).contains("is not a GPU of this machine"), "{elsewhere}");
        }

        let slice = BenchReport { slice: Some(9), ..report("cuda") };
        let mut reading = Reading::new("probe/canary".parse().unwrap(), now());
        told(&slice, "box", &mut reading, &mut vec![]);
        assert!(reading.samples.iter().all(|sample| sample.subject.as_str() == "gpu/box:3-mig-9"));

        let (rows, ..) = read("cpu");
        assert!(rows.iter().all(|(subject, metric, part)| {
            subject == "host/box" && part.starts_with("cpu ") && metric != "gpu.launch.latency"
        }));
    }
}
