//! The canary: our own kernels, timed every now and then on this machine, and once more when somebody asks for it.
//!
//! What it measures is what a small process of ours meets. It may accuse a GPU or its host, and clears neither: a service
//! has other streams, other sizes and other neighbours.

mod told;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::{PROBE_OK, SCRAPE_TIME, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, RemoteText, Subject};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::told::{Untimed, told};
use super::{Outlet, Source, now, spawn};
use crate::bench::meter::LEAST_FOR_A_MEDIAN;
use crate::bench::plan::USUAL_BUDGET;
use crate::bench::{BackendChoice, BenchError, Plan, baseline, run};
use crate::sources::nvml::slice_of;

/// The part under which the time of a launch stands: a service's own page may tell another one.
const CANARY: &str = "canary";

/// What is missing while a device is better left alone.
const TIMINGS: &str = "kernel timings";

/// What is missing while the budget is too short for some kernels.
const MEDIANS: &str = "medians of some kernels";

/// What is missing while a device cannot take some kernels.
const KERNELS: &str = "some kernels";

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

    /// The canary of this machine, by its name, where nobody configured another; it asks this management library where one is configured.
    pub fn usual(host: &str, nvml_library: Option<PathBuf>) -> Self {
        let mut usual = Self::new(host, USUAL_BUDGET);
        usual.plan.nvml_library = nvml_library;
        usual
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
        // Whoever asked is told, and may look away meanwhile. Until somebody asks again kernels are missing for this reason,
        // but nothing that goes on by itself is in trouble.
        if let Some(fault) = reading.faults.drain(..).next() {
            let what = RemoteText::new(TIMINGS);
            reading
                .events
                .retain(|event| !matches!(event, Event::Available { what: known } if *known == what));
            reading.events.push(Event::Unavailable { what, why: fault.message });
        }
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
        let mut untimed = Untimed::default();
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
                    said.push(told(&report, &self.spec.host, &mut reading, &mut untimed));
                }
                Err(BenchError::Refused(why)) => {
                    let why = of_device(*device, why);
                    said.push(format!("not timed: {why}"));
                    refused.push(why);
                }
                Err(error) => {
                    let message = of_device(*device, error.to_string());
                    reading.faults.push(Fault { kind: kind_of(&error), message: RemoteText::new(&message) });
                    said.push(message);
                }
            }
        }
        // That a device is better left alone is no failure of it.
        let hurried = (!untimed.hurried.is_empty()).then(|| {
            format!(
                "a median needs {LEAST_FOR_A_MEDIAN} batches, and the budget of {} was too short for them: {}; give [canary] more, \
                 or fewer kernels",
                show(self.spec.plan.budget.as_secs_f64(), Unit::Seconds),
                untimed.hurried.join(", ")
            )
        });
        let left_out = untimed.left_out_words();
        let missing = [(TIMINGS, refused.first()), (MEDIANS, hurried.as_ref()), (KERNELS, left_out.as_ref())];
        for (what, why) in missing {
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

/// What went wrong with a device, by its number where one was asked for.
fn of_device(device: Option<u32>, text: String) -> String {
    let named = device.map(|number| format!("GPU {number}"));
    match named.filter(|name| !text.starts_with(name.as_str())) {
        Some(name) => format!("{name}: {text}"),
        None => text,
    }
}

fn kind_of(error: &BenchError) -> FaultKind {
    match error {
        BenchError::Absent(_) | BenchError::Unusable(_) | BenchError::NoChild(_) => FaultKind::Unreachable,
        BenchError::Refused(_) => FaultKind::Busy,
        BenchError::Hung { .. } | BenchError::Held(_) => FaultKind::Silent,
        BenchError::Failed { .. } | BenchError::Died { .. } => FaultKind::Malformed,
    }
}
