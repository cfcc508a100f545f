//! When the errors came that are told of GPUs: an error has come where a number grew or changed that the same source told
//! before, or where one appears on a GPU that the source had told of for a while. A count within a window is not told any more
//! when the window is over: the next one counts from nothing.

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
    /// How many of each code were counted, by whom, and when.
    counts: BTreeMap<u32, (Subject, f64, Moment)>,
}

/// When a source first told of a GPU, its last two looks without a fault, and how many there were.
#[derive(Debug)]
struct Looks {
    first: Moment,
    before: Moment,
    last: Moment,
    count: u32,
}

impl Told {
    /// Notes that a source tells of this GPU at a moment.
    fn look(&mut self, source: &Subject, at: Moment) {
        match self.looks.get_mut(source) {
            Some(looks) if looks.last == at => {}
            Some(looks) => {
                (looks.before, looks.last, looks.count) = (looks.last, at, looks.count.saturating_add(1));
            }
            None => {
                let looks = Looks { first: at, before: at, last: at, count: 1 };
                self.looks.insert(source.clone(), looks);
            }
        }
    }

    /// Whether a source has told of this GPU for so long that what is new on its page has come just now.
    fn is_watched(&self, source: &Subject, at: Moment) -> bool {
        let looks = self.looks.get(source);
        looks.is_some_and(|looks| looks.count > FIRST_FEW && at.since(looks.first) >= FIRST_LOOKS)
    }

    /// Whether a source has looked at this GPU after it told something at a moment and before now.
    fn has_looked_since(&self, source: &Subject, told: Moment) -> bool {
        self.looks.get(source).is_some_and(|looks| told < looks.before)
    }
}

impl ErrorsHeard {
    /// Every error that is known.
    pub(super) fn dated(&self) -> &GpuErrors {
        &self.dated
    }

    /// Takes a reading, and what counts of it: a tool that tells what another tells already looks all the same.
    pub(super) fn note(&mut self, reading: &Reading, once: &Reading) {
        let mut before: Option<&Subject> = None;
        for sample in reading.samples.iter().filter(|sample| is_of_gpu(sample)) {
            if before.replace(&sample.subject) == Some(&sample.subject) {
                continue;
            }
            let told = self.of.entry(sample.subject.clone()).or_default();
            // What is missing from a page of which a part could not be read says nothing.
            if reading.faults.is_empty() {
                told.look(&reading.source, reading.at);
            }
        }
        for sample in once.samples.iter().filter(|sample| is_of_gpu(sample)) {
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
        let is_watched = told.is_watched(&reading.source, reading.at);
        let before = told.code.replace((reading.source.clone(), code));
        match before {
            _ if code == 0 => {}
            Some((source, before)) if source == reading.source => {
                if before != code {
                    self.dated.came(&sample.subject, code, reading.at);
                }
            }
            None if is_watched => self.dated.came(&sample.subject, code, reading.at),
            _ => self.dated.stood(&sample.subject, code, reading.at),
        }
    }

    /// Takes how many of one code came of late.
    fn note_count(&mut self, sample: &Sample, reading: &Reading, count: f64) {
        let Some(told) = self.of.get_mut(&sample.subject) else { return };
        let Some(code) = sample.part.as_ref().and_then(|part| part.as_str().parse().ok()) else { return };
        let is_watched = told.is_watched(&reading.source, reading.at);
        let before = told.counts.insert(code, (reading.source.clone(), count, reading.at));
        match before {
            Some((source, before, at)) if source == reading.source => {
                let is_over = told.has_looked_since(&source, at);
                if count > if is_over { 0.0 } else { before } {
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
    use crate::reading::{Fault, FaultKind};

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
        readings.iter().for_each(|reading| heard.note(reading, reading));
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
    fn a_code_whose_count_was_over_comes_again_with_the_same_count() {
        let page = |second, count| told("service/dcgm@a:9400", second, None, count);
        // Once every 5 s: from 100 s to 400 s one event is in the window, and one from 1300 s on.
        let is_counted = |second: i64| (100..400).contains(&second) || second >= 1_300;
        let mut readings: Vec<Reading> =
            (0..1_400).step_by(5).map(|second| page(second, is_counted(second).then_some(1.0))).collect();
        assert_eq!(dates(&readings), [(31, 100, true), (31, 1_300, true)]);
        // Where the page could not be read for a while, or in part, nobody knows that it was over.
        let mut unread = readings.clone();
        unread.retain(|reading| is_counted(reading.at.0 / 1_000) || reading.at.0 < 100_000);
        assert_eq!(dates(&unread), [(31, 100, true)]);
        for reading in readings.iter_mut().filter(|one| (400_000..1_300_000).contains(&one.at.0)) {
            let message = "the page was cut".into();
            reading.faults.push(Fault { kind: FaultKind::Malformed, message });
        }
        assert_eq!(dates(&readings), [(31, 100, true)]);
    }

    #[test]
    fn a_last_code_that_appears_on_a_gpu_that_was_watched_has_come_and_on_a_new_one_it_stood() {
        let page = |second, last| told("service/dcgm@a:9400", second, last, None);
        let appears = |from: i64| -> Vec<Reading> {
            (0..20).map(|second| page(second, (second >= from).then_some(79.0))).collect()
        };
        assert_eq!(dates(&appears(15)), [(79, 15, true)]);
        assert_eq!(dates(&appears(2)), [(79, 2, false)]);
    }

    #[test]
    fn a_tool_watches_a_gpu_also_while_another_is_taken_at_its_word() {
        let gone = |mut reading: Reading| {
            reading.samples.retain(|sample| sample.metric != crate::metric::GPU_UTILIZATION.into());
            reading
        };
        let mut heard = ErrorsHeard::default();
        for second in 0..30 {
            let count = ((5..10).contains(&second) || second >= 20).then_some(1.0);
            let reading = told("service/dcgm@a:9400", second * 10, None, count);
            heard.note(&reading, &gone(reading.clone()));
        }
        let dates: Vec<i64> = heard.dated().of(&gpu()).iter().map(|error| error.at.0 / 1_000).collect();
        assert_eq!(dates, [50, 200]);
    }

    #[test]
    fn what_another_tool_shows_when_it_takes_over_was_not_seen_to_come() {
        let first = told("gpu/host-a:0", 0, Some(0.0), Some(0.0));
        let second = told("service/dcgm@a:9400", 60, Some(79.0), Some(4.0));
        assert_eq!(dates(&[first, second]), [(79, 60, false), (31, 60, false)]);
    }
}
