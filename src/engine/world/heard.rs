//! What was heard of subjects: when, how often, and what stands in the way of hearing more.

use std::collections::BTreeSet;

use super::World;
use crate::freshness::Rhythms;
use crate::metric::{MetricName, PROCESS_START};
use crate::reading::{Fault, Reading, Value};
use crate::subject::{Kind, Subject};
use crate::time::Moment;

impl World {
    /// How often there is news of what is not polled.
    pub fn rhythms(&self) -> &Rhythms {
        &self.rhythms
    }

    /// When there last was a number about `subject` or a part of it.
    pub fn last_data(&self, subject: &Subject) -> Option<Moment> {
        self.parts(subject).map(|(_, at)| at).max()
    }

    /// When the process of `subject` was started, to the millisecond: series keep too few digits for a date.
    pub fn started(&self, subject: &Subject) -> Option<Moment> {
        self.started.get(subject).copied()
    }

    /// Keeps when processes were started, as a reading says.
    pub(super) fn note_starts(&mut self, reading: &Reading) {
        for sample in &reading.samples {
            let Value::Gauge(seconds) = sample.value else { continue };
            if sample.metric == MetricName::Known(PROCESS_START) && seconds.is_finite() {
                let at = Moment((seconds * 1_000.0) as i64);
                if self.started(&sample.subject) != Some(at) {
                    self.started.insert(sample.subject.clone(), at);
                }
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
