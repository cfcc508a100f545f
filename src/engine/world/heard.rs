//! What was heard of subjects: when, how often, and what stands in the way of hearing more.

use std::collections::BTreeSet;
use std::time::Duration;

use super::World;
use crate::freshness::Rhythms;
use crate::metric::{MetricName, PROCESS_START};
use crate::reading::{Fault, Reading, Value};
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// Within this time of the first look, and within so many looks, all that there is has been told twice: some numbers are
/// asked for at every fourth look only.
pub(crate) const FIRST_LOOKS: Duration = Duration::from_secs(10);
pub(crate) const FIRST_FEW: u32 = 3;

/// Starts of one subject that are remembered: a crash loop has a few a minute.
const MOST_STARTS: usize = 64;

/// Some work their start out of how long they have run, and come to another fraction of a second each time.
const WOBBLE: Duration = Duration::from_secs(1);

fn is_same_start(one: Moment, other: Moment) -> bool {
    one.since(other).max(other.since(one)) <= WOBBLE
}

impl World {
    /// How often there is news of what is not polled.
    pub fn rhythms(&self) -> &Rhythms {
        &self.rhythms
    }

    /// When there last was a number about `subject` or a part of it.
    pub fn last_data(&self, subject: &Subject) -> Option<Moment> {
        self.parts(subject).map(|(_, at)| at).max()
    }

    /// When the processes of `subject` were started that were seen, oldest first and to the millisecond: series keep too few
    /// digits for a date. Of many the last ones.
    pub fn starts(&self, subject: &Subject) -> &[Moment] {
        self.starts.get(subject).map_or(&[], Vec::as_slice)
    }

    /// Keeps when processes were started, as a reading says.
    pub(super) fn note_starts(&mut self, reading: &Reading) {
        for sample in &reading.samples {
            let Value::Gauge(seconds) = sample.value else { continue };
            if sample.metric == MetricName::Known(PROCESS_START) && seconds.is_finite() {
                let at = Moment((seconds * 1_000.0) as i64);
                // Asked for at every reading, new once in a life.
                if self.starts(&sample.subject).iter().any(|known| is_same_start(*known, at)) {
                    continue;
                }
                let starts = self.starts.entry(sample.subject.clone()).or_default();
                starts.insert(starts.partition_point(|known| *known < at), at);
                let too_many = starts.len().saturating_sub(MOST_STARTS);
                starts.drain(..too_many);
            }
        }
    }

    /// The subjects with data that are `subject` or a part of it, in order.
    pub fn parts(&self, subject: &Subject) -> impl Iterator<Item = (&Subject, Moment)> {
        subject.within(&self.data).map(|(part, at)| (part, *at))
    }

    /// Every component that any source gave numbers about, without Headwater itself.
    pub fn components(&self) -> BTreeSet<Subject> {
        let with_data = self.data.keys().map(Subject::component_of);
        with_data.chain(self.topologies.keys().cloned()).filter(|c| c.kind() != Kind::Observer).collect()
    }

    /// The faults and latenesses of `subject`'s sources, worst first, as one sentence each.
    pub fn troubles(&self, subject: &Subject, now: Moment) -> Vec<String> {
        let faults = subject.within(&self.sources).map(|(_, state)| state);
        let mut troubles: Vec<String> = faults
            .clone()
            .filter_map(|state| state.fault.as_ref())
            .map(|(_, fault): &(Moment, Fault)| fault.message.as_str().to_owned())
            .collect();
        troubles.extend(faults.filter_map(|state| {
            let since = state.late_since?;
            Some(format!("{} is late: asked {:.1} s ago", state.source, now.seconds_after(since)))
        }));
        troubles.dedup();
        troubles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_of_a_process_is_kept_once_and_of_many_the_last() {
        let mut world = World::default();
        let instance: Subject = "service/a@h:1".parse().unwrap();
        let mut told = |seconds: f64| {
            let mut reading = Reading::new(instance.clone(), Moment(0));
            reading.sample(&instance, PROCESS_START, Value::Gauge(seconds));
            world.note_starts(&reading);
            world.starts(&instance).to_vec()
        };
        told(100.0);
        // The same start with another fraction; a second process behind one address; both again.
        told(100.4);
        told(50.0);
        assert_eq!(told(100.0), [Moment(50_000), Moment(100_000)]);
        assert_eq!(told(f64::NAN).len(), 2);
        for start in 0..200 {
            told(1_000.0 + f64::from(start) * 10.0);
        }
        let many = told(2_990.0);
        assert_eq!((many.len(), many[63]), (MOST_STARTS, Moment(2_990_000)));
    }
}
