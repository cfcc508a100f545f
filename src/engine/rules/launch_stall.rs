//! A machine starts kernels slowly, and its GPUs wait for work.

use std::time::Duration;

use super::gpus::{BRIEFLY, on_machines};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches, queue_not_compute};
use crate::baseline::Baseline;
use crate::launches::UsualLaunch;
use crate::metric::{GPU_LAUNCH, GPU_MEMORY, GPU_UTILIZATION, HOST_RUNNABLE, HOST_SWITCHES, Metric, Unit};
use crate::quantity::{show, times};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

/// The part under which our own benchmark tells how long it waits for a launch.
const CANARY: &str = "canary";

pub(super) static RULE: Rule = Rule {
    id: "launch-stall",
    title: "a machine starts kernels slowly, and its GPUs wait for work",
    doc: "The time from asking for a kernel to its start is at least five times its healthy value, while the GPU is less busy \
          than before by three tenths and its memory stays as it is: the work is late and not too much. It accuses the machine or its \
          driver, and not the GPU. Without a healthy value a launch is held against 5 µs, which any driver of the last years \
          is below, and the GPU against half busy. Requests that wait in a queue for such a GPU wait for the machine. Our own canary times launches of its own process: it may accuse, and a fast \
          one clears nobody.",
    next: "see who waits for whom on the machine: calls that wait for the GPU after each kernel (cudaStreamSynchronize), a \
           driver that holds a lock, and what runs there beside the service: run queue, CPU limits",
    watches: Watches::Those {
        kinds: &[Kind::Host],
        which: "on whose GPUs launches are timed",
        are: |scene, host| !launches(scene, host).is_empty(),
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "rise",
            default: 5.0,
            unit: Unit::Ratio,
            help: "multiple of the healthy time of a launch",
        },
        Threshold {
            name: "usual",
            default: 5e-6,
            unit: Unit::Seconds,
            help: "time of a launch that is taken for healthy where none is known",
        },
        Threshold {
            name: "fall",
            default: 0.3,
            unit: Unit::Ratio,
            help: "share by which the GPU is less busy than before",
        },
        Threshold {
            name: "idle",
            default: 0.5,
            unit: Unit::Ratio,
            help: "utilisation below which the GPU waits for work, where nobody knows what it was before",
        },
        Threshold {
            name: "flat",
            default: 0.1,
            unit: Unit::Ratio,
            help: "share by which memory in use may differ from before",
        },
    ],
    rivals: &[
        RivalRow { rule: "gpu-throttled", told_by: "throttle reasons and clocks of the GPU under load" },
        RivalRow { rule: "host-starved", told_by: "the run queue and CPU limits of the machine" },
    ],
    absorbs: &[queue_not_compute::ID],
    judge,
};

/// How long launches took on one GPU of a machine.
struct Launch {
    gpu: Subject,
    now: Seen,
    usual: UsualLaunch,
    is_canary: bool,
}

/// Every GPU of a machine on which launches are timed, with who times them.
fn launches(scene: &Scene<'_>, host: &Subject) -> Vec<(Subject, Option<RemoteText>)> {
    let machines = on_machines(scene);
    let gpus = machines.get(host).into_iter().flatten();
    gpus.flat_map(|gpu| scene.store.parts(gpu, GPU_LAUNCH).into_iter().map(|name| (gpu.clone(), name)))
        .collect()
}

/// Each launch is judged by itself: deep queues on one GPU make its launches late too, and must not hide the others.
fn judge(scene: &Scene<'_>, host: &Subject, limits: &Limits<'_>) -> Judgement {
    let timed = |(gpu, part): (Subject, Option<RemoteText>)| {
        let now = scene.mean_over(&gpu, GPU_LAUNCH, part.as_ref(), BRIEFLY)?;
        let is_canary = part.as_ref().is_some_and(|part| part.as_str() == CANARY);
        let usual = UsualLaunch {
            launch: healthy(scene, &gpu, GPU_LAUNCH, part.as_ref()),
            busy: healthy(scene, &gpu, GPU_UTILIZATION, None),
        };
        scene.looked.launches.borrow_mut().insert((gpu.clone(), part), usual);
        Some(Launch { gpu, now, usual, is_canary })
    };
    let slowness = |launch: &Launch| launch.now.value / launch.usual.typical_s(limits);
    let mut all: Vec<Launch> = launches(scene, host).into_iter().filter_map(timed).collect();
    all.sort_by(|one, other| slowness(other).total_cmp(&slowness(one)));
    let judged = all.iter().map(|launch| judge_one(scene, host, launch, limits));
    // The gravest says, and of those alike the slowest; a machine's well GPUs do not speak for one that is not known.
    let gravity = |judgement: &Judgement| match judgement {
        Judgement::Breach(breach) if breach.at_most == Confidence::High => 0,
        Judgement::Breach(_) => 1,
        Judgement::Unknown(_) => 2,
        _ => 3,
    };
    let worst = judged.min_by_key(gravity);
    worst.unwrap_or_else(|| Judgement::Unknown(format!("how long a launch takes: {}", scene.missing(host))))
}

fn judge_one(scene: &Scene<'_>, host: &Subject, launch: &Launch, limits: &Limits<'_>) -> Judgement {
    let shown = format!("a launch takes {} on {}", show(launch.now.value, Unit::Seconds), launch.gpu);
    let limit = launch.usual.slow_from_s(limits);
    if launch.now.value < limit {
        return Judgement::Clear(shown);
    }
    let Some(busy) = scene.mean_over(&launch.gpu, GPU_UTILIZATION, None, BRIEFLY) else {
        return Judgement::Unknown(format!("{shown}, and nothing tells how busy it is"));
    };
    let usually = launch.usual.busy;
    let is_busy = format!("{} busy", show(busy.value, Unit::Ratio));
    if !launch.usual.is_waiting(busy.value, limits) {
        return Judgement::Clear(format!("{shown}, but the GPU is {is_busy}: it has work enough"));
    }
    let memory = scene.latest(&launch.gpu, GPU_MEMORY);
    let held = memory.zip(healthy(scene, &launch.gpu, GPU_MEMORY, None));
    if let Some((now, before)) = &held
        && (now.value / before.typical - 1.0).abs() > limits.of("flat")
    {
        return Judgement::Clear(format!(
            "{shown}, but memory in use went from {} to {}: other work runs there than before",
            show(before.typical, Unit::Bytes),
            show(now.value, Unit::Bytes)
        ));
    }
    let against = match launch.usual.launch {
        Some(usual) => format!(
            "{} its usual {}",
            times(launch.now.value / usual.typical),
            show(usual.typical, Unit::Seconds)
        ),
        None => format!("and with any driver it takes less than {}", show(limits.of("usual"), Unit::Seconds)),
    };
    let fell = match &usually {
        Some(before) => format!("{is_busy}, before {}", show(before.typical, Unit::Ratio)),
        None => format!("only {is_busy}"),
    };
    let flat = held.as_ref().map_or(String::new(), |(now, before)| {
        format!(
            ", and its memory is as before ({}, {} then)",
            show(now.value, Unit::Bytes),
            show(before.typical, Unit::Bytes)
        )
    });
    let who = if launch.is_canary { ", measured by our own canary" } else { "" };
    let mut numbers = vec![evidence(GPU_LAUNCH, launch.now, Some(limit), launch.usual.launch)];
    numbers.push(named_evidence(GPU_UTILIZATION.name().to_owned(), Unit::Ratio, busy, None, usually));
    numbers.extend(memory.map(|seen| evidence(GPU_MEMORY, seen, None, None)));
    numbers.extend(of_host(scene, host));
    let breach = Breach::new(
        format!(
            "{shown}{who}, {against}, while it is {fell}{flat}: kernels wait for the machine, not for the GPU"
        ),
        format!("launches {}", show(launch.now.value, Unit::Seconds)),
        launch.now.value / limit,
        numbers,
    )
    .flooding(queues(scene, &launch.gpu));
    let breach = match (launch.usual.launch.is_some() && usually.is_some(), launch.is_canary) {
        (true, false) => breach,
        _ => breach.at_most(Confidence::Medium),
    };
    breach.judged()
}

/// The queues in which requests wait for a GPU.
fn queues(scene: &Scene<'_>, gpu: &Subject) -> Vec<Subject> {
    let above = scene.graph.above(&gpu.component_of());
    above.into_keys().filter(|caller| caller.kind() == Kind::Queue).collect()
}

/// The healthy value of a level of a GPU; `None` where none is known.
fn healthy(scene: &Scene<'_>, gpu: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<Baseline> {
    scene.baseline(gpu, metric, part).filter(|usual| usual.typical > 0.0)
}

/// What else is known of the machine.
fn of_host(scene: &Scene<'_>, host: &Subject) -> Vec<Evidence> {
    const SPAN: Duration = Duration::from_secs(10);
    [HOST_RUNNABLE, HOST_SWITCHES]
        .into_iter()
        .filter_map(|metric| Some(evidence(metric, scene.total_over(host, metric, SPAN)?, None, None)))
        .collect()
}
