//! Everything that was kept, as a snapshot holds it.

use std::sync::Arc;

use super::{Group, Index, Trace};
use crate::metric::{Metric, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;

/// Handles to the levels and rates of every series at one moment; cheap to make, and it never changes.
#[derive(Clone, Debug, Default)]
pub struct History {
    index: Arc<Index>,
    /// The traces of each subject, in the order of its series.
    groups: Arc<[Arc<[Trace]>]>,
}

impl History {
    pub(super) fn new(index: Arc<Index>, groups: Arc<[Arc<[Trace]>]>) -> Self {
        Self { index, groups }
    }

    /// The trace of a level or a rate; `None` when nobody told of it.
    pub fn trace(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<&Trace> {
        let (group, place) = find(&self.index, subject, metric, part)?;
        self.groups.get(group.handles)?.get(place)
    }

    /// Every trace of a subject with its metric and part, in order; histograms have an empty one.
    pub fn traces(
        &self,
        subject: &Subject,
    ) -> impl Iterator<Item = (&MetricName, Option<&RemoteText>, &Trace)> + '_ {
        let group = self.index.get(subject);
        let traces = group.and_then(|group| self.groups.get(group.handles)).map_or(&[][..], Arc::as_ref);
        let names = group.map_or(&[][..], |group| &group.series);
        names.iter().zip(traces).map(|(((name, part), _), trace)| (name, part.as_ref(), trace))
    }

    /// The subject and its parts of which anything is kept, in order.
    pub fn parts(&self, subject: &Subject) -> impl Iterator<Item = &Subject> {
        subject.within(&self.index).map(|(part, _)| part)
    }

    /// Number of series.
    pub fn series_count(&self) -> usize {
        self.index.values().map(|group| group.series.len()).sum()
    }
}

/// The group of a subject, and the place of one of its series in it.
pub(super) fn find<'a>(
    index: &'a Index,
    subject: &Subject,
    metric: Metric,
    part: Option<&RemoteText>,
) -> Option<(&'a Group, usize)> {
    let group = index.get(subject)?;
    let found = group.series.binary_search_by(|((known, known_part), _)| {
        known.cmp(&MetricName::Known(metric)).then_with(|| known_part.as_ref().cmp(&part))
    });
    Some((group, found.ok()?))
}
