//! The states in which screens are looked at, each made from a recording of the lab.

use std::sync::Arc;
use std::time::Duration;

use headwater::recording::Recording;
use headwater_engine::metric::{
    GPU_CLOCK, GPU_CLOCK_MAX, GPU_LAUNCH, GPU_MEMORY, GPU_MEMORY_BUSY, GPU_MEMORY_MAX, GPU_PCIE_GENERATION,
    GPU_PCIE_GENERATION_MAX, GPU_POWER, GPU_POWER_MAX, GPU_PROCESS_MEMORY, GPU_TEMPERATURE, GPU_THROTTLED,
    GPU_UTILIZATION, GPU_XID, Metric,
};
use headwater_engine::reading::{Event, Fault, FaultKind, Input, Reading, Value};
use headwater_engine::{Engine, Kind, Moment, Snapshot, Subject};

const HEALTHY: &[u8] = include_bytes!("../../assets/recordings/healthy.hwr");
const HOT_SHARD: &[u8] = include_bytes!("../../assets/recordings/hot-shard.hwr");
const FAILOVER_STORM: &[u8] = include_bytes!("../../assets/recordings/failover-storm.hwr");
const LAUNCH_STALL: &[u8] = include_bytes!("../../assets/recordings/launch-stall.hwr");
const GPU_LEAK: &[u8] = include_bytes!("../../assets/recordings/gpu-leak.hwr");

/// When something begins to go wrong with the sources.
const TROUBLE_AFTER: Duration = Duration::from_secs(12);

/// How long it has gone on when the screen is looked at: long enough to be late, not long enough to be silent.
const TROUBLED_FOR: Duration = Duration::from_secs(6);

/// One state: its name and what the engine says in it.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) snapshot: Arc<Snapshot>,
}

/// Every state.
pub(super) fn all() -> Vec<State> {
    vec![
        State { name: "healthy", snapshot: played(HEALTHY, |input| vec![input]) },
        incident(),
        State { name: "late", snapshot: late() },
        State { name: "unreachable", snapshot: unreachable() },
        State { name: "empty", snapshot: empty() },
        State { name: "gpus", snapshot: gpus() },
    ]
}

/// The demo's incident, at the end of its recording.
pub(super) fn incident() -> State {
    State { name: "incident", snapshot: played(HOT_SHARD, |input| vec![input]) }
}

/// The incident of the demo in which a GPU's memory leaks, at the end of its recording.
pub(super) fn leak() -> State {
    State { name: "leak", snapshot: played(GPU_LEAK, |input| vec![input]) }
}

/// The incident of the demo in which a gateway takes the slow out and overloads the rest, at the end of its recording.
pub(super) fn storm() -> State {
    State { name: "storm", snapshot: played(FAILOVER_STORM, |input| vec![input]) }
}

/// The incident of the demo in which a host is late with launching kernels, at the end of its recording.
pub(super) fn stall() -> State {
    State { name: "stall", snapshot: played(LAUNCH_STALL, |input| vec![input]) }
}

/// What the engine says at the end of a recording of which each input was changed.
fn played(recording: &'static [u8], mut change: impl FnMut(Input) -> Vec<Input>) -> Arc<Snapshot> {
    let recording = Recording::from_reader(Box::new(recording), "bundled".as_ref()).expect("a recording");
    let header = recording.header();
    let mut engine = Engine::new(header.settings_in_force(), header.baselines.clone());
    for input in recording {
        for input in change(input.expect("an input")) {
            engine.take(&input);
        }
    }
    engine.snapshot().expect("an evaluation")
}

fn at(input: &Input) -> Moment {
    match input {
        Input::Reading(reading) => reading.at,
        Input::Act(act) => act.at,
        Input::Tick(at) => *at,
    }
}

/// The first of the recording's nodes stops answering, and is waited for.
fn late() -> Arc<Snapshot> {
    let (mut began, mut quiet, mut is_told) = (None, None::<Subject>, false);
    played(HEALTHY, |input| {
        let since = *began.get_or_insert(at(&input)) + TROUBLE_AFTER;
        if at(&input) > since + TROUBLED_FOR {
            return vec![];
        }
        let Input::Reading(reading) = &input else { return vec![input] };
        let is_node = reading.source.kind() == Kind::Redis && reading.source.address().is_some();
        if at(&input) <= since || !is_node {
            return vec![input];
        }
        let quiet = quiet.get_or_insert_with(|| reading.source.clone());
        if reading.source != *quiet {
            return vec![input];
        }
        let mut late = Reading::new(reading.source.clone(), reading.at);
        late.events.push(Event::Late(since));
        let told = std::mem::replace(&mut is_told, true);
        if told { vec![] } else { vec![Input::Reading(late)] }
    })
}

/// Every target begins to refuse.
fn unreachable() -> Arc<Snapshot> {
    let mut began = None;
    played(HEALTHY, |input| {
        let since = *began.get_or_insert(at(&input)) + TROUBLE_AFTER;
        match input {
            Input::Reading(reading) if reading.at > since && reading.source.kind() != Kind::Observer => {
                let mut refused = Reading::new(reading.source, reading.at);
                let message = "connection refused: start it, or correct its address".into();
                refused.faults.push(Fault { kind: FaultKind::Unreachable, message });
                vec![Input::Reading(refused)]
            }
            other => vec![other],
        }
    })
}

/// Beside the GPU whose memory leaks a machine with two others: one is held down by heat, the other falls off the bus.
fn gpus() -> Arc<Snapshot> {
    let mut began = None;
    played(GPU_LEAK, |input| {
        let since = *began.get_or_insert(at(&input));
        let Input::Tick(at) = input else { return vec![input] };
        let second = at.since(since).as_secs_f64();
        let is_lost = at > since + TROUBLE_AFTER;
        vec![Input::Reading(hot_gpu(at, second)), Input::Reading(lost_gpu(at, is_lost)), input]
    })
}

/// What NVIDIA's driver tells of a GPU of this machine.
fn gpu(index: u32, at: Moment, xid: f64) -> Reading {
    let gpu: Subject = format!("gpu/host-a:{index}").parse().expect("a subject");
    let mut reading = Reading::new(gpu.clone(), at);
    reading.sample(&gpu, GPU_XID, Value::Gauge(xid));
    reading
}

fn levels(reading: &mut Reading, levels: &[(Metric, f64)]) {
    let gpu = reading.source.clone();
    for (metric, value) in levels {
        reading.sample(&gpu, *metric, Value::Gauge(*value));
    }
}

/// One that gives its full load, hot, for which it is slowed down half of the time.
fn hot_gpu(at: Moment, second: f64) -> Reading {
    let mut reading = gpu(0, at, 0.0);
    let numbers = [
        (GPU_UTILIZATION, 0.97),
        (GPU_MEMORY, 71e9),
        (GPU_MEMORY_MAX, 85.9e9),
        (GPU_MEMORY_BUSY, 0.62),
        (GPU_TEMPERATURE, 91.0),
        (GPU_POWER, 655.0),
        (GPU_POWER_MAX, 700.0),
        (GPU_CLOCK, 1.2e9),
        (GPU_CLOCK_MAX, 1.98e9),
        (GPU_PCIE_GENERATION, 5.0),
        (GPU_PCIE_GENERATION_MAX, 5.0),
        (GPU_LAUNCH, 2.1e-6),
    ];
    levels(&mut reading, &numbers);
    let gpu = reading.source.clone();
    reading.part(&gpu, GPU_THROTTLED, "hw_thermal_slowdown", Value::Counter(0.5 * second));
    reading.part(&gpu, GPU_PROCESS_MEMORY, "4711 /opt/bin/server", Value::Gauge(70.2e9));
    reading
}

/// One that answers until it is gone; then the driver has nothing of it but what it logged.
fn lost_gpu(at: Moment, is_lost: bool) -> Reading {
    let mut reading = gpu(1, at, if is_lost { 79.0 } else { 0.0 });
    if is_lost {
        let message = "this GPU is lost: it has fallen off the bus, or cannot be reached any more".into();
        reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
    } else {
        let numbers = [(GPU_UTILIZATION, 0.41), (GPU_MEMORY, 40e9), (GPU_MEMORY_MAX, 85.9e9)];
        levels(&mut reading, &numbers);
    }
    reading
}

/// Targets are configured and nothing has come from any.
fn empty() -> Arc<Snapshot> {
    let mut ticks = 0;
    played(HEALTHY, |input| {
        let is_kept = matches!(input, Input::Tick(_)) && ticks < 3;
        ticks += usize::from(is_kept);
        if is_kept { vec![input] } else { vec![] }
    })
}
