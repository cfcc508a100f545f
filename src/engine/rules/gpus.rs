//! What rules about GPUs ask: who is on them, how busy they are, and in which machine they sit.

use std::rc::Rc;
use std::time::Duration;

use crate::gpu_memory::Growth;
use crate::gpu_requests::{self, gpus_below, served};
use crate::metric::{GPU_PROCESS_MEMORY, GPU_UTILIZATION, LOG_MATCHES, Metric, REQUESTS};
use crate::scene::{OnMachines, Scene};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;
use crate::world::machine_of;

use super::rising::{LATELY, Rise, rise};

/// Utilisation below which a GPU has so little to do that its clocks and links rest.
pub(super) const RESTING: f64 = 0.1;

/// The span over which what comes and goes from second to second is averaged.
pub(super) const BRIEFLY: Duration = Duration::from_secs(10);

/// The name by which every log counts lines that tell of device memory that ran out.
const MEMORY_FULL_LINES: &str = "gpu_memory_full";

/// A GPU itself and its parts: one a machine, or one of each instance of a service.
pub(super) fn parts<'a>(scene: &'a Scene<'_>, gpu: &Subject) -> Vec<&'a Subject> {
    scene.world.parts(gpu).map(|(part, _)| part).collect()
}

/// The GPUs of every machine with their parts, put in order once per evaluation: a fleet has as many machines as GPUs.
pub(super) fn on_machines(scene: &Scene<'_>) -> Rc<OnMachines> {
    let mut known = scene.looked.on_machines.borrow_mut();
    let all = known.get_or_insert_with(|| {
        let mut all = OnMachines::new();
        let gpus = scene.graph.components().filter(|component| component.kind() == Kind::Gpu);
        for (part, _) in gpus.flat_map(|gpu| scene.world.parts(gpu)) {
            if let Some(machine) = machine_of(part) {
                all.entry(machine).or_default().push(part.clone());
            }
        }
        Rc::new(all)
    });
    Rc::clone(all)
}

/// ` at 10.0.0.5:8000` of a part, nothing of a GPU as a whole.
pub(super) fn at(part: &Subject) -> String {
    part.address().map_or(String::new(), |address| format!(" at {address}"))
}

/// How busy a GPU was over the last ten seconds.
pub(super) fn busy(scene: &Scene<'_>, part: &Subject) -> Option<Seen> {
    scene.mean_over(part, GPU_UTILIZATION, None, BRIEFLY)
}

/// Requests a second of all services on a GPU, over a span.
pub(super) fn requests(scene: &Scene<'_>, gpu: &Subject, span: Duration) -> Option<Seen> {
    let each = served(scene.graph, gpu).filter_map(|service| scene.total_over(&service, REQUESTS, span));
    Seen::sum(each)
}

/// Requests a second that a part of a GPU was asked between two moments: those of its own instance, else its even share of
/// all that its services were asked.
pub(super) fn asked(
    scene: &Scene<'_>,
    gpu: &Subject,
    part: &Subject,
    (from, to): (Moment, Moment),
) -> Option<f64> {
    let mean = |by: &Subject| Some(Seen { value: mean_requests(scene, by, (from, to))?, at: to });
    let each = served(scene.graph, gpu).filter_map(|service| {
        let instances = scene.world.parts(&service).map(|(instance, _)| instance);
        let mut own = instances.filter(|by| by.address().is_some() && by.address() == part.address());
        if let Some(own) = own.find_map(mean) {
            return Some(own.value);
        }
        let all = scene.total_by(&service, REQUESTS, mean)?.value;
        Some(all / gpus_below(scene.graph, &service, |of| known_parts(scene, of)).max(1) as f64)
    });
    each.reduce(|sum, one| sum + one)
}

/// Requests a second of whoever it is between two moments.
fn mean_requests(scene: &Scene<'_>, by: &Subject, (from, to): (Moment, Moment)) -> Option<f64> {
    scene.store.points(by, REQUESTS, None)?.trace().mean_between(from, to)
}

fn known_parts(scene: &Scene<'_>, of: &Subject) -> Vec<Subject> {
    parts(scene, of).into_iter().cloned().collect()
}

/// Whether the growth of the memory of a part may be a server that loads.
pub(super) fn may_load(scene: &Scene<'_>, part: &Subject, growth: &Growth) -> bool {
    let rate = |by: &Subject, from, to| mean_requests(scene, by, (from, to));
    let names = scene.store.parts(part, GPU_PROCESS_MEMORY);
    let each = names.iter().filter_map(|name| {
        let name = name.as_ref();
        Some((name, scene.store.points(part, GPU_PROCESS_MEMORY, name)?.trace()))
    });
    gpu_requests::may_load(scene.graph, part, growth, |of| known_parts(scene, of), rate, each)
}

/// What a total of a part gained lately, with the part where it gained most.
pub(super) fn risen(
    scene: &Scene<'_>,
    gpu: &Subject,
    metric: Metric,
    part: Option<&RemoteText>,
) -> Option<(Subject, Rise)> {
    let each = parts(scene, gpu).into_iter();
    each.filter_map(|of| Some((of.clone(), rise(scene, of, (metric, part), LATELY)?)))
        .max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained))
}

/// Lines of the logs of services on a GPU that tell of device memory that ran out, where there were any lately.
pub(super) fn lines_of_full_memory(scene: &Scene<'_>, gpu: &Subject) -> Option<(Subject, Rise)> {
    let pattern = RemoteText::new(MEMORY_FULL_LINES);
    let told = served(scene.graph, gpu).flat_map(|service| scene.told(&service, LOG_MATCHES));
    told.filter(|told| told.part.as_ref() == Some(&pattern))
        .filter_map(|told| {
            let risen = rise(scene, &told.by, (LOG_MATCHES, told.part.as_ref()), LATELY)?;
            Some((told.by.component_of(), risen))
        })
        .max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained))
}
