//! The errors (XIDs) that the drivers of GPUs were told to have logged, each with when.
//!
//! Exporters keep the last code for days and count within a window, so what a number is now does not say when it came, and
//! the series in which it was seen to come are trimmed. Whoever wants a date, a rule, a panel, an axis of time, finds it here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::subject::Subject;
use crate::time::Moment;

/// Errors of one GPU that are kept; of more the newest.
const KEPT: usize = 32;

/// Errors of one code that come no further apart than this are one: a process that fails may log hundreds.
const TOGETHER: Duration = Duration::from_secs(60);

/// An error, or several of one code that came close together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuError {
    /// The driver's number for it (XID).
    pub code: u32,
    /// When it was first told.
    pub at: Moment,
    /// When another of this code was last seen to come.
    pub last: Moment,
    /// Whether it was seen to come; else it stood there when somebody first looked, and may be of any day.
    pub is_seen: bool,
}

/// The errors of every GPU.
#[derive(Clone, Debug, Default)]
pub struct GpuErrors(Arc<BTreeMap<Subject, Vec<GpuError>>>);

impl GpuErrors {
    /// Those of a GPU, oldest first.
    pub fn of(&self, gpu: &Subject) -> &[GpuError] {
        self.0.get(gpu).map_or(&[], Vec::as_slice)
    }

    /// The newest of each code of a GPU, the newest first.
    pub fn newest_of(&self, gpu: &Subject) -> Vec<&GpuError> {
        let mut newest: Vec<&GpuError> = vec![];
        for error in self.of(gpu).iter().rev() {
            if !newest.iter().any(|known| known.code == error.code) {
                newest.push(error);
            }
        }
        newest.sort_by_key(|error| std::cmp::Reverse((error.last, error.is_seen)));
        newest
    }

    /// Those of all GPUs that were seen to come, in the order of GPUs.
    pub fn seen(&self) -> impl Iterator<Item = (&Subject, &GpuError)> {
        let all = self.0.iter().flat_map(|(gpu, errors)| errors.iter().map(move |error| (gpu, error)));
        all.filter(|(_, error)| error.is_seen)
    }

    /// What was known of them at a moment.
    pub fn until(&self, moment: Moment) -> Self {
        let known = self.0.iter().map(|(gpu, errors)| {
            let until = errors.iter().filter(|error| error.at <= moment);
            let until = until.map(|error| GpuError { last: error.last.min(moment), ..error.clone() });
            (gpu.clone(), until.collect())
        });
        Self(Arc::new(known.collect()))
    }

    /// Takes an error that was seen to come.
    pub(crate) fn came(&mut self, gpu: &Subject, code: u32, at: Moment) {
        let errors = self.all_of(gpu);
        let known = errors.iter_mut().rev().find(|known| known.code == code);
        match known {
            // One tool shows what it was, another counts it.
            Some(known) if known.is_seen && at.since(known.last) <= TOGETHER => {
                known.last = known.last.max(at);
            }
            Some(known) if known.at == at => known.is_seen = true,
            _ => Self::add(errors, GpuError { code, at, last: at, is_seen: true }),
        }
    }

    /// Takes an error that is told at somebody's first look; one that is known already is no other.
    pub(crate) fn stood(&mut self, gpu: &Subject, code: u32, at: Moment) {
        if self.of(gpu).iter().any(|known| known.code == code) {
            return;
        }
        Self::add(self.all_of(gpu), GpuError { code, at, last: at, is_seen: false });
    }

    fn all_of(&mut self, gpu: &Subject) -> &mut Vec<GpuError> {
        // Snapshots hold the map, so that it is copied when it changes, which is seldom.
        Arc::make_mut(&mut self.0).entry(gpu.clone()).or_default()
    }

    fn add(errors: &mut Vec<GpuError>, error: GpuError) {
        let place = errors.partition_point(|known| known.at <= error.at);
        errors.insert(place, error);
        let surplus = errors.len().saturating_sub(KEPT);
        errors.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu() -> Subject {
        "gpu/host-a:0".parse().unwrap()
    }

    fn told(errors: &GpuErrors) -> Vec<(u32, i64, i64, bool)> {
        let all = errors.of(&gpu()).iter();
        all.map(|error| (error.code, error.at.0, error.last.0, error.is_seen)).collect()
    }

    #[test]
    fn errors_of_one_code_are_one_while_they_come_close_together() {
        let mut errors = GpuErrors::default();
        for at in [1_000, 30_000, 90_000, 300_000] {
            errors.came(&gpu(), 31, Moment(at));
        }
        errors.came(&gpu(), 79, Moment(40_000));
        let expected = [(31, 1_000, 90_000, true), (79, 40_000, 40_000, true), (31, 300_000, 300_000, true)];
        assert_eq!(told(&errors), expected);
        let newest: Vec<u32> = errors.newest_of(&gpu()).iter().map(|error| error.code).collect();
        assert_eq!(newest, [31, 79]);
        assert_eq!(
            told(&errors.until(Moment(40_000))),
            [(31, 1_000, 40_000, true), (79, 40_000, 40_000, true)]
        );
        assert_eq!(errors.seen().count(), 3);
    }

    #[test]
    fn what_stood_there_at_first_has_no_date_until_it_comes_again() {
        let mut errors = GpuErrors::default();
        errors.stood(&gpu(), 79, Moment(1_000));
        errors.stood(&gpu(), 79, Moment(2_000));
        assert_eq!(told(&errors), [(79, 1_000, 1_000, false)]);
        assert_eq!(errors.seen().count(), 0);
        errors.came(&gpu(), 79, Moment(5_000));
        assert_eq!(errors.newest_of(&gpu())[0].at, Moment(5_000));
    }

    #[test]
    fn of_too_many_the_newest_are_kept() {
        let mut errors = GpuErrors::default();
        for code in 0..40 {
            errors.came(&gpu(), code, Moment(code.into()));
        }
        assert_eq!((errors.of(&gpu()).len(), errors.of(&gpu())[0].code), (KEPT, 8));
    }
}
