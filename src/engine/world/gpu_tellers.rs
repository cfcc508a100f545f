//! Who tells of each GPU. Two tools may tell of one: of each number the first is taken, because two totals in one series
//! would be no rate, and what the other says is held against it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::World;
use super::gpu_names::GpuNames;
use super::gpu_said::{self, SaidOfGpus};
use super::machine::{is_slice, whole_of};
use crate::metric::{GPU_XID, GPU_XIDS, MetricName};
use crate::reading::{FaultKind, Reading, Sample, Value};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// What the written form of every GPU begins with.
const GPUS: &str = "gpu/";

/// So long a tool keeps its place after it last told a number, beside three of its own intervals.
const KEEPS_ITS_PLACE: Duration = Duration::from_secs(10);

/// What tools tell of GPUs.
#[derive(Debug, Default)]
pub(super) struct GpuTellers {
    /// When each tool last told of a GPU.
    by: BTreeMap<Subject, BTreeMap<Subject, Moment>>,
    /// Whose word counts, number by number.
    pub(super) places: BTreeMap<(Subject, MetricName, Option<RemoteText>), (Subject, Moment)>,
    /// When processes were looked for last that have ended.
    pub(super) processes_looked_for: Option<Moment>,
    /// What they are called.
    pub(super) names: GpuNames,
    /// What each tool said of a number of a GPU that is compared.
    pub(super) said: SaidOfGpus,
}

/// Whether a number is about a GPU. Asked of every number that comes in: by its first letters, and not by looking its kind up.
pub(super) fn is_of_gpu(sample: &Sample) -> bool {
    sample.subject.as_str().starts_with(GPUS)
}

impl GpuTellers {
    /// Every GPU that was ever told of, with when each tool last did.
    pub(super) fn tellers(&self) -> impl Iterator<Item = (&Subject, &BTreeMap<Subject, Moment>)> {
        self.by.iter()
    }

    /// Forgets GPUs that have left.
    pub(super) fn forget(&mut self, gone: &BTreeSet<Subject>) {
        self.by.retain(|gpu, _| !gone.contains(gpu));
        self.places.retain(|(gpu, ..), _| !gone.contains(gpu));
        self.said.retain(|(gpu, _), _| !gone.contains(gpu));
        self.names.forget(gone);
    }
}

/// Whether a number is one of the driver's log.
fn is_logged(sample: &Sample) -> bool {
    matches!(sample.metric, MetricName::Known(GPU_XID | GPU_XIDS))
}

/// What counts of a reading once it is known who tells of each GPU.
pub(crate) struct Heard<'a> {
    /// The reading without the numbers of GPUs that another tool tells already.
    pub once: Cow<'a, Reading>,
    /// Numbers in it that another tool told until now.
    pub handed_over: Vec<&'a Sample>,
}

impl World {
    /// What counts of a reading; notes who tells of which GPU, and its errors.
    pub(crate) fn heard_of_gpus<'a>(&mut self, reading: &'a Reading) -> Heard<'a> {
        let mut handed_over = vec![];
        if !reading.samples.iter().any(is_of_gpu) {
            return Heard { once: Cow::Borrowed(reading), handed_over };
        }
        let keeps = KEEPS_ITS_PLACE.max(reading.every.unwrap_or_default() * 3);
        let is_lost = reading.faults.iter().any(|fault| fault.kind == FaultKind::Unreachable);
        let (mut twice, mut is_new) = (vec![], false);
        for (index, sample) in reading.samples.iter().enumerate().filter(|(_, sample)| is_of_gpu(sample)) {
            let gpus = &mut self.gpus;
            // What the driver has logged of a GPU that it has lost is no word of that GPU.
            if !(is_lost && is_logged(sample)) {
                let by = gpus.by.entry(sample.subject.clone()).or_default();
                if by.insert(reading.source.clone(), reading.at).is_none() {
                    is_new = true;
                    // Who has left made room for this one.
                    let sources = &self.sources;
                    by.retain(|source, _| *source == reading.source || sources.contains_key(source));
                }
            }
            if let (MetricName::Known(metric), Value::Gauge(value)) = (&sample.metric, &sample.value) {
                let of = (&sample.subject, *metric);
                gpu_said::note(&mut gpus.said, of, &reading.source, reading.at, *value);
            }
            let key = (sample.subject.clone(), sample.metric.clone(), sample.part.clone());
            let place = gpus.places.entry(key).or_insert_with(|| (reading.source.clone(), reading.at));
            if place.0 == reading.source {
                place.1 = reading.at;
            } else if reading.at.since(place.1) > keeps {
                *place = (reading.source.clone(), reading.at);
                handed_over.push(sample);
            } else {
                twice.push(index);
            }
        }
        if is_new {
            reading.samples.iter().for_each(|sample| self.note_back(&sample.subject));
        }
        let mut once = Cow::Borrowed(reading);
        if !twice.is_empty() {
            let mut index = 0;
            once.to_mut().samples.retain(|_| {
                index += 1;
                twice.binary_search(&(index - 1)).is_err()
            });
        }
        self.gpu_errors.note(reading, &once);
        Heard { once, handed_over }
    }

    /// The tools that ever told of a GPU or a part of it, each with when it last did.
    pub(crate) fn tellers_of(&self, gpu: &Subject) -> impl Iterator<Item = (&Subject, Moment)> {
        gpu.within(&self.gpus.by).flat_map(|(_, by)| by.iter().map(|(source, at)| (source, *at)))
    }

    /// When a slice (MIG) of a GPU was told of last.
    pub(crate) fn slices_told_of(&self, gpu: &Subject) -> Option<Moment> {
        let slices =
            self.gpus.by.range(gpu.clone()..).take_while(|(one, _)| one.as_str().starts_with(gpu.as_str()));
        let of_it = slices.filter(|(one, _)| is_slice(one) && whole_of(one).0 == *gpu);
        of_it.flat_map(|(_, by)| by.values().copied()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{GPU_THROTTLED, GPU_UTILIZATION};
    use crate::reading::{Event, GpuName};

    fn told(source: &str, second: i64, utilization: f64, throttled: f64) -> Reading {
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut reading = Reading::new(source.parse().unwrap(), Moment(second * 1_000));
        reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(utilization));
        reading.part(&gpu, GPU_THROTTLED, "thermal", Value::Counter(throttled));
        reading
    }

    /// How many numbers of a reading count, and how many of them were another's.
    fn heard(world: &mut World, reading: &Reading) -> (usize, usize) {
        world.take(reading);
        let heard = world.heard_of_gpus(reading);
        (heard.once.samples.len(), heard.handed_over.len())
    }

    #[test]
    fn of_two_tools_the_first_is_taken_and_the_other_held_against_it() {
        let mut world = World::default();
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        assert_eq!(heard(&mut world, &told("host/host-a", 0, 0.95, 3.0)), (2, 0));
        assert_eq!(heard(&mut world, &told("service/dcgm@a:9400", 0, 0.0, 900.0)), (0, 0));
        assert_eq!(world.tellers_of(&gpu).count(), 2);
        // Once the first is silent, the other takes its place.
        assert_eq!(heard(&mut world, &told("service/dcgm@a:9400", 20, 0.9, 900.0)), (2, 2));
        assert_eq!(heard(&mut world, &told("host/host-a", 21, 0.9, 4.0)), (0, 0));
        // One that has left is forgotten when a new one tells.
        world.sources.remove(&"service/dcgm@a:9400".parse().unwrap());
        heard(&mut world, &told("service/dcgm@b:9400", 22, 0.9, 900.0));
        let tellers: Vec<&str> = world.tellers_of(&gpu).map(|(source, _)| source.as_str()).collect();
        assert_eq!(tellers, ["host/host-a", "service/dcgm@b:9400"]);
    }

    #[test]
    fn a_gpu_that_one_tool_knows_by_its_uuid_alone_is_the_same_gpu() {
        let mut world = World::default();
        let mut by_uuid = Reading::new("service/triton@h:8002".parse().unwrap(), Moment(0));
        by_uuid.sample(&"gpu/h:GPU-1".parse().unwrap(), GPU_UTILIZATION, Value::Gauge(0.5));
        let name = |world: &mut World| world.named(&by_uuid).samples[0].subject.to_string();
        assert_eq!(name(&mut world), "gpu/h:GPU-1");
        let mut dcgm = told("service/dcgm@a:9400", 0, 0.9, 1.0);
        let gpu = "gpu/host-a:0".parse().unwrap();
        dcgm.events.push(Event::Gpu(GpuName { uuid: "GPU-1".into(), gpu }));
        world.named(&dcgm);
        assert_eq!(name(&mut world), "gpu/host-a:0");
    }

    #[test]
    fn a_gpu_whose_machine_names_it_later_is_forgotten_by_its_uuid_and_not_accused_of_silence() {
        use crate::engine::Engine;
        use crate::reading::Input;

        let mut engine =
            Engine::new(crate::settings::Settings::default(), crate::settings::Baselines::default());
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        for second in 0..30 {
            let mut page = Reading::new("service/triton@h:8002".parse().unwrap(), Moment(second * 1_000));
            page.sample(&"gpu/h:GPU-1".parse().unwrap(), GPU_UTILIZATION, Value::Gauge(0.5));
            engine.take(&Input::Reading(page));
            let mut list = Reading::new("discovery/nvml".parse().unwrap(), Moment(second * 1_000 + 100));
            list.events.extend(
                (second == 5).then(|| Event::Gpu(GpuName { uuid: "GPU-1".into(), gpu: gpu.clone() })),
            );
            engine.take(&Input::Reading(list));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        let snapshot = engine.snapshot().unwrap();
        let gpus = snapshot.graph.components().filter(|one| one.kind() == crate::subject::Kind::Gpu);
        assert_eq!(gpus.collect::<Vec<_>>(), [&gpu]);
        assert!(!snapshot.report.suspects.iter().any(|suspect| suspect.rule == "gpu-silent"));
        assert!(snapshot.gpus_left.is_empty());
    }

    #[test]
    fn a_lost_gpu_fell_silent_when_it_last_told_anything_whatever_its_driver_logs_of_it() {
        use crate::engine::Engine;
        use crate::reading::{Fault, FaultKind, Input};

        let mut engine =
            Engine::new(crate::settings::Settings::default(), crate::settings::Baselines::default());
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        for second in 0..40 {
            let mut reading = Reading::new(gpu.clone(), Moment(second * 1_000));
            reading.sample(&gpu, GPU_XID, Value::Gauge(if second < 7 { 0.0 } else { 79.0 }));
            if second < 5 {
                reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.5));
            } else {
                let message = "the GPU is lost".into();
                reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
            }
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        let snapshot = engine.snapshot().unwrap();
        let suspects = &snapshot.report.suspects;
        let silent = suspects.iter().find(|suspect| suspect.rule == "gpu-silent").unwrap();
        assert_eq!(silent.since.at, Moment(4_000));
        assert!(silent.sentence.contains("last heard of at 00:00:04"), "{}", silent.sentence);
        let error = suspects.iter().find(|suspect| suspect.rule == "gpu-error").unwrap();
        assert_eq!(error.since.at, Moment(7_000));
    }

    #[test]
    fn a_total_of_one_tool_does_not_follow_that_of_another() {
        use crate::engine::Engine;
        use crate::reading::Input;

        let mut engine =
            Engine::new(crate::settings::Settings::default(), crate::settings::Baselines::default());
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let part: RemoteText = "thermal".into();
        for second in 0..4 {
            engine.take(&Input::Reading(told("host/host-a", second, 0.9, 3.0)));
        }
        for second in [20, 21, 22] {
            let throttled = 900.0 + 0.25 * (second - 20) as f64;
            engine.take(&Input::Reading(told("service/dcgm@a:9400", second, 0.9, throttled)));
        }
        let points = engine.store().points(&gpu, GPU_THROTTLED, Some(&part)).unwrap();
        let rates: Vec<f64> = points.since(Moment(0)).map(|seen| seen.value).collect();
        assert_eq!(rates, [0.0, 0.0, 0.0, 0.25, 0.25]);

        // One that tells a level where the other told a total begins a series of levels.
        let mut level = Reading::new("service/smi@a:9835".parse().unwrap(), Moment(60_000));
        level.part(&gpu, GPU_THROTTLED, "thermal", Value::Gauge(0.5));
        engine.take(&Input::Reading(level));
        let points = engine.store().points(&gpu, GPU_THROTTLED, Some(&part)).unwrap();
        assert_eq!(points.latest().map(|seen| seen.value), Some(0.5));
    }
}
