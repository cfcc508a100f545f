//! Everything that was kept, as a snapshot holds it.

use std::sync::Arc;

use super::{Index, Trace};
use crate::metric::{Metric, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;

/// Handles to the levels and rates of every series at one moment; cheap to make, and it never changes.
#[derive(Clone, Debug, Default)]
pub struct History {
    index: Arc<Index>,
    traces: Arc<[Trace]>,
}

impl History {
    pub(super) fn new(index: Arc<Index>, traces: Arc<[Trace]>) -> Self {
        Self { index, traces }
    }

    /// The trace of a level or a rate; `None` when nobody told of it.
    pub fn trace(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<&Trace> {
        self.traces.get(place(&self.index, subject, metric, part)?)
    }

    /// Every trace of a subject with its metric and part, in order; histograms have an empty one.
    pub fn traces(
        &self,
        subject: &Subject,
    ) -> impl Iterator<Item = (&MetricName, Option<&RemoteText>, &Trace)> + '_ {
        let of_subject = self.index.get(subject).map_or(&[][..], Vec::as_slice);
        of_subject.iter().filter_map(|((name, part), place)| {
            self.traces.get(*place).map(|trace| (name, part.as_ref(), trace))
        })
    }

    /// The subject and its parts of which anything is kept, in order.
    pub fn parts(&self, subject: &Subject) -> impl Iterator<Item = &Subject> {
        subject.within(&self.index).map(|(part, _)| part)
    }

    /// Number of series.
    pub fn series_count(&self) -> usize {
        self.index.values().map(Vec::len).sum()
    }
}

/// The place of a series.
pub(super) fn place(
    index: &Index,
    subject: &Subject,
    metric: Metric,
    part: Option<&RemoteText>,
) -> Option<usize> {
    let of_subject = index.get(subject)?;
    let found = of_subject.binary_search_by(|((known, known_part), _)| {
        known.cmp(&MetricName::Known(metric)).then_with(|| known_part.as_ref().cmp(&part))
    });
    found.ok().map(|found| of_subject[found].1)
}
