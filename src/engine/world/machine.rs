//! In which machine a GPU sits, as far as its name says so.

use super::World;
use crate::metric::{GPU_LAUNCH, MetricName};
use crate::reading::Reading;
use crate::subject::{Kind, Subject};

/// What the name of a slice of a GPU has between that of its GPU and its own number.
const SLICE: &str = "-mig-";

/// Whether a subject is a slice of a GPU (MIG): they come and go as people set them up.
pub(crate) fn is_slice(gpu: &Subject) -> bool {
    gpu.name().contains(SLICE)
}

/// The GPU that a subject is a slice of, or is itself, with what the slice's name has beyond that.
pub(super) fn whole_of(gpu: &Subject) -> (Subject, &str) {
    let text = gpu.name();
    match text.find(SLICE).map(|place| text.split_at(place)) {
        Some((whole, slice)) => (Subject::component(Kind::Gpu, whole), slice),
        None => (gpu.clone(), ""),
    }
}

/// The machine of a GPU: `host/a` of `gpu/a:0`, and that of the address of an instance's GPU; `None` of a pool.
pub fn machine_of(gpu: &Subject) -> Option<Subject> {
    if gpu.kind() != Kind::Gpu {
        return None;
    }
    machine_at(gpu.address().unwrap_or(gpu.name()))
}

/// The machine of `HOST:PORT` or of a GPU's `HOST:INDEX`.
pub(crate) fn machine_at(place: &str) -> Option<Subject> {
    let (host, _) = place.rsplit_once(':').filter(|(host, _)| !host.is_empty())?;
    Some(Subject::component(Kind::Host, host))
}

impl World {
    /// Every GPU that is known with its machine, where that is known too.
    pub(crate) fn machines(&self) -> Vec<(Subject, Subject)> {
        let gpus = self.data.keys().filter(|subject| subject.kind() == Kind::Gpu);
        gpus.filter_map(|gpu| Some((gpu.component_of(), machine_of(gpu)?)))
            .filter(|(_, machine)| self.data.contains_key(machine))
            .collect()
    }

    /// Notes that a machine is told of: how long it takes to start a kernel is its own time, whoever tells it.
    pub(super) fn note_machines(&mut self, reading: &Reading) {
        let launches = reading.samples.iter().filter(|sample| sample.metric == MetricName::Known(GPU_LAUNCH));
        for machine in launches.filter_map(|sample| machine_of(&sample.subject)) {
            self.rhythms.note(&machine, reading.every);
            self.data.insert(machine, reading.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Value;
    use crate::time::Moment;

    #[test]
    fn a_gpu_names_its_machine_and_a_pool_none() {
        let of = |gpu: &str| machine_of(&gpu.parse().unwrap()).map(|machine| machine.to_string());
        assert_eq!(of("gpu/host-a:0").as_deref(), Some("host/host-a"));
        assert_eq!(of("gpu/host-a:7-mig-9").as_deref(), Some("host/host-a"));
        assert_eq!(of("gpu/ranker@10.0.0.5:8000").as_deref(), Some("host/10.0.0.5"));
        assert_eq!((of("gpu/ranker"), of("host/host-a:0")), (None, None));
    }

    #[test]
    fn who_times_launches_tells_of_the_machine() {
        let mut world = World::default();
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut reading = Reading::new(gpu.clone(), Moment(1_000));
        reading.sample(&gpu, crate::metric::GPU_UTILIZATION, Value::Gauge(0.7));
        world.take(&reading);
        assert_eq!(world.machines(), []);
        reading.sample(&gpu, GPU_LAUNCH, Value::Gauge(1.2e-6));
        world.take(&reading);
        assert_eq!(world.machines(), [(gpu, "host/host-a".parse().unwrap())]);
    }
}
