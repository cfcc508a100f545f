//! Who tells of each GPU. Two tools may tell of one: of each number the first is taken, because two totals in one series
//! would be no rate, and what the other says is held against it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::World;
use crate::metric::{GPU_MEMORY, GPU_UTILIZATION, Metric, MetricName, Unit};
use crate::quantity::show;
use crate::reading::{Event, Reading, Sample, Value};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// What the written form of every GPU begins with.
const GPUS: &str = "gpu/";

/// So long a tool keeps its place after it last told a number, beside three of its own intervals.
const KEEPS_ITS_PLACE: Duration = Duration::from_secs(10);

/// Numbers by which two tools are held against each other, with how far apart they may be: they look at different moments.
static COMPARED: &[(Metric, f64)] = &[(GPU_UTILIZATION, 0.5), (GPU_MEMORY, 0.1)];

/// What tools tell of GPUs.
#[derive(Debug, Default)]
pub(super) struct GpuTellers {
    /// When each tool last told of a GPU.
    by: BTreeMap<Subject, BTreeMap<Subject, Moment>>,
    /// Whose word counts, number by number.
    places: BTreeMap<(Subject, MetricName, Option<RemoteText>), (Subject, Moment)>,
    /// The GPUs by their uuids, where a page tells both.
    names: BTreeMap<RemoteText, Subject>,
    /// What each said of a number that is compared.
    said: BTreeMap<(Subject, Metric, Subject), (Moment, f64)>,
}

impl World {
    /// A reading with its GPUs under the names that their machines have for them, where somebody tells these beside the
    /// uuids by which some tools alone know a GPU.
    pub(super) fn named_by_uuid<'a>(&mut self, reading: Cow<'a, Reading>) -> Cow<'a, Reading> {
        for event in &reading.events {
            if let Event::Gpu(name) = event {
                self.gpus.names.insert(name.uuid.clone(), name.gpu.clone());
            }
        }
        if self.gpus.names.is_empty() {
            return reading;
        }
        let mut named = reading;
        for index in 0..named.samples.len() {
            let subject = &named.samples[index].subject;
            let uuid = subject.as_str().strip_prefix(GPUS).and_then(|name| name.rsplit_once(':'));
            let known = uuid.and_then(|(_, uuid)| self.gpus.names.get(&RemoteText::new(uuid)));
            if let Some(gpu) = known.filter(|gpu| *gpu != subject).cloned() {
                named.to_mut().samples[index].subject = gpu;
            }
        }
        named
    }

    /// A reading without the numbers of GPUs that another tool tells already; notes who tells of which.
    pub(crate) fn heard_of_gpus<'a>(&mut self, reading: &'a Reading) -> Cow<'a, Reading> {
        // Asked of every number that comes in: by its first letters, and not by looking its kind up.
        let is_of_gpu = |sample: &Sample| sample.subject.as_str().starts_with(GPUS);
        if !reading.samples.iter().any(is_of_gpu) {
            return Cow::Borrowed(reading);
        }
        let keeps = KEEPS_ITS_PLACE.max(reading.every.unwrap_or_default() * 3);
        let mut twice = vec![];
        for (index, sample) in reading.samples.iter().enumerate().filter(|(_, sample)| is_of_gpu(sample)) {
            let gpus = &mut self.gpus;
            gpus.by.entry(sample.subject.clone()).or_default().insert(reading.source.clone(), reading.at);
            if let (MetricName::Known(metric), Value::Gauge(value)) = (&sample.metric, &sample.value)
                && COMPARED.iter().any(|(compared, _)| compared == metric)
            {
                let key = (sample.subject.clone(), *metric, reading.source.clone());
                gpus.said.insert(key, (reading.at, *value));
            }
            let key = (sample.subject.clone(), sample.metric.clone(), sample.part.clone());
            let place = gpus.places.entry(key).or_insert_with(|| (reading.source.clone(), reading.at));
            if place.0 == reading.source || reading.at.since(place.1) > keeps {
                *place = (reading.source.clone(), reading.at);
            } else {
                twice.push(index);
            }
        }
        if twice.is_empty() {
            return Cow::Borrowed(reading);
        }
        let mut once = reading.clone();
        let mut index = 0;
        once.samples.retain(|_| {
            index += 1;
            twice.binary_search(&(index - 1)).is_err()
        });
        Cow::Owned(once)
    }

    /// The tools that ever told of a GPU or a part of it, each with when it last did.
    pub(crate) fn tellers_of(&self, gpu: &Subject) -> impl Iterator<Item = (&Subject, Moment)> {
        gpu.within(&self.gpus.by).flat_map(|(_, by)| by.iter().map(|(source, at)| (source, *at)))
    }

    /// What two tools say differently of one GPU, in words, of what is not older than this.
    pub(crate) fn disagreements(&self, gpu: &Subject, fresh_from: Moment) -> Vec<String> {
        let mut words = vec![];
        for (metric, apart) in COMPARED {
            let said: Vec<(&Subject, f64)> = self
                .gpus
                .said
                .iter()
                .filter(|((of, about, _), (at, _))| of == gpu && about == metric && *at >= fresh_from)
                .map(|((.., source), (_, value))| (source, *value))
                .collect();
            let of = |one: &&(&Subject, f64), other: &&(&Subject, f64)| one.1.total_cmp(&other.1);
            let Some((least, most)) = said.iter().min_by(of).zip(said.iter().max_by(of)) else { continue };
            let is_apart = match metric.row().unit {
                Unit::Ratio => most.1 - least.1 >= *apart,
                _ => most.1 > 0.0 && (most.1 - least.1) / most.1 >= *apart,
            };
            if is_apart {
                let shown = |value: f64| show(value, metric.row().unit);
                words.push(format!(
                    "{} says {} {}, {} says {}: one of them is wrong",
                    most.0,
                    metric.name(),
                    shown(most.1),
                    least.0,
                    shown(least.1)
                ));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::GPU_THROTTLED;

    fn told(source: &str, second: i64, utilization: f64, throttled: f64) -> Reading {
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut reading = Reading::new(source.parse().unwrap(), Moment(second * 1_000));
        reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(utilization));
        reading.part(&gpu, GPU_THROTTLED, "thermal", Value::Counter(throttled));
        reading
    }

    #[test]
    fn of_two_tools_the_first_is_taken_and_the_other_held_against_it() {
        let mut world = World::default();
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        assert_eq!(world.heard_of_gpus(&told("host/host-a", 0, 0.95, 3.0)).samples.len(), 2);
        assert_eq!(world.heard_of_gpus(&told("service/dcgm@a:9400", 0, 0.0, 900.0)).samples.len(), 0);
        assert_eq!(world.tellers_of(&gpu).count(), 2);
        let said = world.disagreements(&gpu, Moment(0));
        assert_eq!(
            said,
            ["host/host-a says gpu.utilization 95 %, service/dcgm@a:9400 says 0 %: one of them is wrong"]
        );
        assert!(world.disagreements(&gpu, Moment(1)).is_empty());
        // Once the first is silent, the other takes its place.
        assert_eq!(world.heard_of_gpus(&told("service/dcgm@a:9400", 20, 0.9, 900.0)).samples.len(), 2);
        assert_eq!(world.heard_of_gpus(&told("host/host-a", 21, 0.9, 4.0)).samples.len(), 0);
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
        dcgm.events.push(Event::Gpu(crate::reading::GpuName { uuid: "GPU-1".into(), gpu }));
        world.named(&dcgm);
        assert_eq!(name(&mut world), "gpu/host-a:0");
    }
}
