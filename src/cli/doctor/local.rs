//! The checks of the machine that Headwater runs on: what its kernel and its GPUs tell.

use headwater_engine::metric::HOST_CPUS;
use headwater_engine::reading::{Event, Reading, Value};
use headwater_engine::{Kind, RemoteText};

use crate::config::LocalSpec;
use crate::sources::Source as _;
use crate::sources::host::{HostSource, HostSpec};
use crate::sources::nvml::{NvmlSpec, look_once};
use crate::sources::redis::ProbeStep;

/// Looks once at the machine and at each of its GPUs; gives what they told.
pub(super) async fn machine(spec: &LocalSpec) -> (Vec<ProbeStep>, Vec<Reading>) {
    let (mut steps, mut readings) = (vec![], vec![]);
    if let Some(host) = &spec.host {
        let reading = HostSource::new(host).ask().await;
        steps.extend(of_host(host, &reading));
        readings.push(reading);
    }
    if let Some(gpu) = &spec.gpu {
        let told = look_once(gpu).await;
        steps.extend(told.iter().flat_map(|reading| of_gpus(gpu, reading)));
        readings.extend(told);
    }
    (steps, readings)
}

fn step(reading: &Reading, what: &str, outcome: Result<&str, &str>) -> ProbeStep {
    ProbeStep {
        subject: reading.source.clone(),
        what: what.into(),
        outcome: outcome.map(RemoteText::new).map_err(RemoteText::new),
        fix: None,
    }
}

fn of_host(spec: &HostSpec, reading: &Reading) -> Vec<ProbeStep> {
    let cores = reading.samples.iter().find(|sample| sample.metric == HOST_CPUS.into());
    let cores = cores.and_then(|sample| match sample.value {
        Value::Gauge(cores) => Some(format!(" of {cores:.0} cores")),
        _ => None,
    });
    let told = format!("{} numbers{}{}", reading.samples.len(), cores.unwrap_or_default(), without(reading));
    let seen = (!reading.samples.is_empty() && reading.source == spec.subject())
        .then(|| step(reading, "kernel", Ok(&told)));
    seen.into_iter().chain(faults(reading, "kernel")).collect()
}

fn of_gpus(spec: &NvmlSpec, reading: &Reading) -> Vec<ProbeStep> {
    if reading.source.kind() == Kind::Gpu {
        let told = format!("{} numbers{}", reading.samples.len(), without(reading));
        let seen = (!reading.samples.is_empty()).then(|| step(reading, "gpu", Ok(&told)));
        return seen.into_iter().chain(faults(reading, "gpu")).collect();
    }
    let listed = reading.events.iter().filter_map(|event| match event {
        Event::Targets(list) => {
            let gpus: Vec<String> =
                list.targets.iter().map(|gpu| format!("{} is {}", gpu.subject, gpu.place)).collect();
            Some(step(reading, "gpus", Ok(&format!("{}: {}", list.found, gpus.join("; ")))))
        }
        // Nobody asked for any.
        Event::Unavailable { why, .. } if !spec.is_expected => {
            Some(step(reading, "gpus", Ok(&format!("none to look at: {why}"))))
        }
        _ => None,
    });
    listed.chain(faults(reading, "gpus")).collect()
}

/// What is missing, as the end of a sentence.
fn without(reading: &Reading) -> String {
    let lacks: Vec<String> = reading
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Unavailable { what, why } => Some(format!("{what}: {why}")),
            _ => None,
        })
        .collect();
    if lacks.is_empty() { String::new() } else { format!(", without {}", lacks.join("; ")) }
}

fn faults(reading: &Reading, what: &str) -> Vec<ProbeStep> {
    reading.faults.iter().map(|fault| step(reading, what, Err(fault.message.as_str()))).collect()
}
