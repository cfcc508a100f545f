//! When the errors came that are told of GPUs: an error has come where a number grew or changed that the same source told
//! before, or where one appears on a GPU that the source had told of for a while.

use std::collections::BTreeMap;

use super::gpu_tellers::is_of_gpu;
use super::heard::{FIRST_FEW, FIRST_LOOKS};
use crate::gpu_errors::GpuErrors;
use crate::metric::{GPU_XID, GPU_XIDS, MetricName};
use crate::reading::{Reading, Sample, Value};
use crate::subject::Subject;
use crate::time::Moment;

/// What was told of the errors of GPUs.
#[derive(Debug, Default)]
pub(super) struct ErrorsHeard {
    /// With when each was seen to come.
    dated: GpuErrors,
    of: BTreeMap<Subject, Told>,
}

/// What was told last of one GPU.
#[derive(Debug, Default)]
struct Told {
    /// How long each source has told of it.
    looks: BTreeMap<Subject, Looks>,
    /// The last code, and who said so.
    code: Option<(Subject, u32)>,
    /// How many of each code were counted, and by whom.
    counts: BTreeMap<u32, (Subject, f64)>,
}

/// When a source first and last told of a GPU, and how often.
#[derive(Debug)]
struct Looks {
    first: Moment,
    last: Moment,
    count: u32,
}

impl Told {
    /// Notes that a source tells of this GPU at a moment.
    fn look(&mut self, source: &Subject, at: Moment) {
        match self.looks.get_mut(source) {
            Some(looks) if looks.last == at => {}
            Some(looks) => (looks.last, looks.count) = (at, looks.count.saturating_add(1)),
            None => drop(self.looks.insert(source.clone(), Looks { first: at, last: at, count: 1 })),
        }
    }

    /// Whether a source has told of this GPU for so long that what is new on its page has come just now.
    fn is_watched(&self, source: &Subject, at: Moment) -> bool {
        let looks = self.looks.get(source);
        looks.is_some_and(|looks| looks.count > FIRST_FEW && at.since(looks.first) >= FIRST_LOOKS)
    }
}

impl ErrorsHeard {
    /// Every error that is known.
    pub(super) fn dated(&self) -> &GpuErrors {
        &self.dated
    }

    /// Takes what counts of a reading.
    pub(super) fn note(&mut self, reading: &Reading) {
        for sample in reading.samples.iter().filter(|sample| is_of_gpu(sample)) {
            self.of.entry(sample.subject.clone()).or_default().look(&reading.source, reading.at);
            let Value::Gauge(value) = sample.value else { continue };
            if sample.metric == MetricName::Known(GPU_XID) && value.is_finite() {
                self.note_last(sample, reading, value as u32);
            } else if sample.metric == MetricName::Known(GPU_XIDS) && value.is_finite() {
                self.note_count(sample, reading, value);
            }
        }
    }

    /// Takes the last code: another than before has come meanwhile, whatever it was.
    fn note_last(&mut self, sample: &Sample, reading: &Reading, code: u32) {
        let Some(told) = self.of.get_mut(&sample.subject) else { return };
        let before = told.code.replace((reading.source.clone(), code));
        match before {
            _ if code == 0 => {}
            Some((source, before)) if source == reading.source => {
                if before != code {
                    self.dated.came(&sample.subject, code, reading.at);
                }
            }
            _ => self.dated.stood(&sample.subject, code, reading.at),
        }
    }

    /// Takes how many of one code came of late.
    fn note_count(&mut self, sample: &Sample, reading: &Reading, count: f64) {
        let Some(told) = self.of.get_mut(&sample.subject) else { return };
        let Some(code) = sample.part.as_ref().and_then(|part| part.as_str().parse().ok()) else { return };
        let is_watched = told.is_watched(&reading.source, reading.at);
        let before = told.counts.insert(code, (reading.source.clone(), count));
        match before {
            Some((source, before)) if source == reading.source => {
                if count > before {
                    self.dated.came(&sample.subject, code, reading.at);
                }
            }
            _ if count <= 0.0 => {}
            None if is_watched => self.dated.came(&sample.subject, code, reading.at),
            _ => self.dated.stood(&sample.subject, code, reading.at),
        }
    }

    /// Forgets what was told of a GPU that has left; what had come before stays.
    pub(super) fn forget(&mut self, gpu: &Subject) {
        self.of.remove(gpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> Subject {
        "gpu/host-a:0".parse().unwrap()
    }

    /// A reading of one second with a last code and a count of XID 31.
    fn told(source: &str, second: i64, last: Option<f64>, count: Option<f64>) -> Reading {
        let mut reading = Reading::new(source.parse().unwrap(), Moment(second * 1_000));
        reading.sample(&gpu(), crate::metric::GPU_UTILIZATION, Value::Gauge(0.5));
        if let Some(last) = last {
            reading.sample(&gpu(), GPU_XID, Value::Gauge(last));
        }
        if let Some(count) = count {
            reading.part(&gpu(), GPU_XIDS, "31", Value::Gauge(count));
        }
        reading
    }

    fn dates(readings: &[Reading]) -> Vec<(u32, i64, bool)> {
        let mut heard = ErrorsHeard::default();
        readings.iter().for_each(|reading| heard.note(reading));
        let all = heard.dated().of(&gpu()).iter();
        all.map(|error| (error.code, error.at.0 / 1_000, error.is_seen)).collect()
    }

    #[test]
    fn a_code_is_dated_by_when_it_took_the_place_of_another_and_once_however_long_it_stands() {
        let page = |second, last| told("service/dcgm@a:9400", second, Some(last), None);
        let changes = [page(0, 0.0), page(5, 79.0), page(4_000, 79.0), page(4_001, 31.0), page(4_002, 0.0)];
        assert_eq!(dates(&changes), [(79, 5, true), (31, 4_001, true)]);
        assert_eq!(dates(&[page(0, 79.0), page(1, 79.0)]), [(79, 0, false)]);
        assert_eq!(dates(&[page(0, f64::NAN), page(1, 0.0)]), []);
    }

    #[test]
    fn a_count_is_dated_by_when_it_grew_or_appeared_on_a_gpu_that_was_watched() {
        let page = |second, count| told("service/dcgm@a:9400", second, None, count);
        let grows = [page(0, Some(2.0)), page(1, Some(2.0)), page(100, Some(3.0)), page(200, Some(1.0))];
        assert_eq!(dates(&grows), [(31, 0, false), (31, 100, true)]);
        let watched: Vec<Reading> =
            (0..20).map(|second| page(second, (second >= 15).then_some(1.0))).collect();
        assert_eq!(dates(&watched), [(31, 15, true)]);
        let young: Vec<Reading> = (0..9).map(|second| page(second, (second >= 2).then_some(1.0))).collect();
        assert_eq!(dates(&young), [(31, 2, false)]);
    }

    #[test]
    fn what_another_tool_shows_when_it_takes_over_was_not_seen_to_come() {
        let first = told("gpu/host-a:0", 0, Some(0.0), Some(0.0));
        let second = told("service/dcgm@a:9400", 60, Some(79.0), Some(4.0));
        assert_eq!(dates(&[first, second]), [(79, 60, false), (31, 60, false)]);
    }
}
