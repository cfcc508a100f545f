//! What rules about GPUs ask: who is on them, how busy they are, and in which machine they sit.

use std::rc::Rc;
use std::time::Duration;

use crate::metric::{GPU_UTILIZATION, LOG_MATCHES, Metric, REQUESTS};
use crate::scene::{OnMachines, Scene};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
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

/// The services that a GPU works for.
pub(super) fn served(scene: &Scene<'_>, gpu: &Subject) -> Vec<Subject> {
    let above = scene.graph.above(gpu);
    above.into_keys().filter(|caller| caller.kind() == Kind::Service).collect()
}

/// Requests a second of all services on a GPU, over a span.
pub(super) fn requests(scene: &Scene<'_>, gpu: &Subject, span: Duration) -> Option<Seen> {
    let each =
        served(scene, gpu).into_iter().filter_map(|service| scene.total_over(&service, REQUESTS, span));
    each.reduce(|sum, one| Seen { value: sum.value + one.value, at: sum.at.max(one.at) })
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
    let told = served(scene, gpu).into_iter().flat_map(|service| scene.told(&service, LOG_MATCHES));
    told.filter(|told| told.part.as_ref() == Some(&pattern))
        .filter_map(|told| {
            let risen = rise(scene, &told.by, (LOG_MATCHES, told.part.as_ref()), LATELY)?;
            Some((told.by.component_of(), risen))
        })
        .max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained))
}
