//! A glance at a GPU for whoever works on it: the questions of the source, without what it remembers from look to look.

use std::time::Instant;

use headwater_engine::metric::{GPU_MEMORY, GPU_MEMORY_MAX, Metric};
use headwater_engine::reading::Value;
use nvml_wrapper::Device;

use super::driver::Doing;
use super::known::Memory;
use super::questions::{MEMORY, QUESTIONS, Question};
use super::session::{Looked, Looking};
use super::{raw, throttling};

/// The questions that are asked, by what is missing without an answer: those that tell under what a GPU works.
const ASKED: &[&str] = &["utilisation", "temperature", "power", "clock", "clock of the memory"];

/// What a GPU tells at a glance.
#[derive(Debug, Default)]
pub(crate) struct Glance {
    levels: Vec<(Metric, f64)>,
    /// The reasons that hold its clocks down, by their names in `gpu.throttled`; `None` where it does not tell.
    pub(crate) held_down_by: Option<Vec<&'static str>>,
}

impl Glance {
    /// A level, in the unit of its metric; `None` where the GPU does not tell it.
    pub(crate) fn level(&self, metric: Metric) -> Option<f64> {
        self.levels.iter().find(|(known, _)| *known == metric).map(|(_, value)| *value)
    }
}

/// Asks a GPU under what it works at this moment.
pub(crate) fn glance(device: &Device<'_>) -> Glance {
    let asked = QUESTIONS.iter().filter(|question| ASKED.contains(&question.what));
    Glance { levels: levels(device, asked), held_down_by: throttling::reasons(device).ok() }
}

/// Used memory and all of it that can be had, in bytes, of a GPU or of a slice of one.
pub(crate) fn memory(device: &Device<'_>) -> Option<(f64, f64)> {
    let told = Glance { levels: levels(device, [&MEMORY].into_iter()), held_down_by: None };
    told.level(GPU_MEMORY).zip(told.level(GPU_MEMORY_MAX))
}

/// A slice (MIG) of a GPU, by what it is called: its place among the slices, and the number of its GPU instance.
pub(crate) fn slice(device: &Device<'_>, uuid: &str) -> Option<(u32, u32)> {
    (0..device.mig_device_count().ok()?).find_map(|place| {
        let slice = device.mig_device_by_index(place).ok()?;
        let is_it = slice.uuid().is_ok_and(|found| found.eq_ignore_ascii_case(uuid));
        is_it.then(|| raw::gpu_instance(&slice).ok()).flatten().map(|instance| (place, instance))
    })
}

fn levels<'a>(device: &Device<'_>, questions: impl Iterator<Item = &'a Question>) -> Vec<(Metric, f64)> {
    let (mut looked, mut memory, doing) = (Looked::default(), Memory::default(), Doing::default());
    let mut looking = Looking::new(&mut looked, &mut memory, Instant::now(), 0, &doing);
    for question in questions {
        // What is not offered is not among what is told, and that is all that is asked here.
        let _ = looking.ask(question, device);
    }
    let told = looked.told.into_iter().filter(|told| told.part.is_none());
    told.filter_map(|told| match told.value {
        Value::Gauge(level) => Some((told.metric, level)),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_at_a_glance_is_asked_by_the_source_too() {
        for what in ASKED {
            assert_eq!(QUESTIONS.iter().filter(|question| question.what == *what).count(), 1, "'{what}'");
        }
    }
}
