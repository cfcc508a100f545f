//! From one look at a GPU to a reading.

use headwater_engine::metric::SCRAPE_TIME;
use headwater_engine::reading::{Event, Reading, Sample, Value};
use headwater_engine::{Kind, Moment, RemoteText, Subject};

use super::Lacks;
use super::session::Looked;

/// What a GPU was last said to lack.
#[derive(Debug, Default)]
pub(super) struct Lacking(Lacks);

impl Lacking {
    /// Takes what it lacks now; gives what is to be said of the difference.
    pub(super) fn change(&mut self, now: Lacks) -> Vec<Event> {
        let new = now
            .iter()
            .filter(|(what, why)| self.0.get(*what) != Some(*why))
            .map(|(what, why)| Event::Unavailable { what: RemoteText::new(what), why: RemoteText::new(why) });
        let back = self.0.keys().filter(|what| !now.contains_key(*what));
        let back = back.map(|what| Event::Available { what: RemoteText::new(what) });
        let events = new.chain(back).collect();
        self.0 = now;
        events
    }
}

/// The reading of a look. A look that found no GPU says nothing of what the GPU lacks.
pub(super) fn reading_of(gpu: &Subject, at: Moment, looked: Looked, lacking: &mut Lacking) -> Reading {
    let mut reading = Reading::new(gpu.clone(), at);
    if looked.trouble.is_none() {
        reading.events = lacking.change(looked.lacks);
        reading.sample(gpu, SCRAPE_TIME, Value::Gauge(looked.took.as_secs_f64()));
    }
    for told in looked.told {
        let subject = told.slice.map_or_else(|| gpu.clone(), |slice| slice_of(gpu, slice));
        let part = told.part.map(|part| RemoteText::new(&part));
        reading.samples.push(Sample { subject, metric: told.metric.into(), part, value: told.value });
    }
    reading.faults.extend(looked.trouble.map(|trouble| trouble.fault()));
    reading
}

/// What a slice is called: as the dialect of NVIDIA's exporter calls it.
pub(crate) fn slice_of(gpu: &Subject, slice: u32) -> Subject {
    Subject::component(Kind::Gpu, &format!("{}-mig-{slice}", gpu.name()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headwater_engine::metric::{GPU_MEMORY, GPU_TEMPERATURE};
    use headwater_engine::reading::FaultKind;

    use super::*;
    use crate::sources::nvml::session::Told;
    use crate::sources::nvml::trouble::Trouble;

    fn gpu() -> Subject {
        "gpu/host-a:1".parse().unwrap()
    }

    #[test]
    fn what_is_lacking_is_said_once_and_taken_back() {
        let mut lacking = Lacking::default();
        let mut events = |lacks: &[(&'static str, &str)]| {
            let lacks = lacks.iter().map(|(what, why)| (*what, (*why).to_owned())).collect();
            let looked = Looked { lacks, ..Looked::default() };
            reading_of(&gpu(), Moment(0), looked, &mut lacking).events
        };
        let missing = |what: &str, why: &str| Event::Unavailable { what: what.into(), why: why.into() };
        assert_eq!(events(&[("power", "no")]), [missing("power", "no")]);
        assert_eq!(events(&[("power", "no")]), []);
        assert_eq!(
            events(&[("clock", "no")]),
            [missing("clock", "no"), Event::Available { what: "power".into() }]
        );
    }

    #[test]
    fn a_look_that_failed_says_nothing_of_what_is_lacking_and_no_time() {
        let mut lacking = Lacking::default();
        let trouble = Trouble { kind: FaultKind::Unreachable, message: "lost".to_owned() };
        let looked = Looked { trouble: Some(trouble), took: Duration::from_secs(1), ..Looked::default() };
        let reading = reading_of(&gpu(), Moment(0), looked, &mut lacking);
        assert_eq!((reading.samples.len(), reading.events.len(), reading.faults.len()), (0, 0, 1));
    }

    #[test]
    fn a_slice_is_a_gpu_of_its_own() {
        let told = |slice, metric| Told { slice, metric, part: None, value: Value::Gauge(1.0) };
        let looked = Looked {
            told: vec![told(None, GPU_TEMPERATURE), told(Some(9), GPU_MEMORY)],
            ..Looked::default()
        };
        let reading = reading_of(&gpu(), Moment(0), looked, &mut Lacking::default());
        let about: Vec<&str> = reading.samples.iter().map(|sample| sample.subject.as_str()).collect();
        assert_eq!(about, ["gpu/host-a:1", "gpu/host-a:1", "gpu/host-a:1-mig-9"]);
    }
}
