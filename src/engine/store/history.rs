//! Everything that was kept, as a snapshot holds it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Group, Handles, Index, Scrapes, SeriesName, Trace};
use crate::metric::{Metric, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;

/// Handles to every series at one moment; cheap to make, and it never changes.
#[derive(Clone, Debug, Default)]
pub struct History {
    index: Arc<Index>,
    /// The handles of each subject.
    groups: Arc<[Arc<Handles>]>,
    /// Who had left by then; what was kept of them is for earlier moments.
    left: Arc<BTreeSet<Subject>>,
}

impl History {
    pub(super) fn new(index: Arc<Index>, groups: Arc<[Arc<Handles>]>) -> Self {
        Self { index, groups, left: Arc::default() }
    }

    /// The same of a moment at which these had left, and no others.
    pub(crate) fn without(&self, left: BTreeSet<Subject>) -> Self {
        Self { left: Arc::new(left), ..self.clone() }
    }

    /// The trace of a level or a rate; `None` when nobody told of it.
    pub fn trace(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<&Trace> {
        self.of(subject).trace(metric, part)
    }

    /// Everything of one subject, to be asked for several metrics: the subject is looked up once.
    pub fn of(&self, subject: &Subject) -> Traces<'_> {
        let group = self.index.get(subject).filter(|_| !self.left.contains(subject));
        let handles = group.and_then(|group| self.groups.get(group.handles));
        Traces {
            series: group.map_or(&[][..], |group| &group.series),
            traces: handles.map_or(&[][..], |handles| &handles.traces),
            scrapes: handles.map_or(&[][..], |handles| &handles.scrapes),
        }
    }

    /// The scrapes of a histogram; `None` when nobody told of it.
    pub fn scrapes(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<&Scrapes> {
        self.of(subject).scrapes(metric, part)
    }

    /// Every trace of a subject with its metric and part, in order; histograms have an empty one.
    pub fn traces(
        &self,
        subject: &Subject,
    ) -> impl Iterator<Item = (&MetricName, Option<&RemoteText>, &Trace)> + '_ {
        let Traces { series, traces, .. } = self.of(subject);
        series.iter().zip(traces).map(|(((name, part), _), trace)| (name, part.as_ref(), trace))
    }

    /// The subject and its parts of which anything is kept, in order.
    pub fn parts(&self, subject: &Subject) -> impl Iterator<Item = &Subject> {
        subject.within(&self.index).map(|(part, _)| part).filter(|part| !self.left.contains(*part))
    }

    /// Everything of which anything is kept, in order.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.index.keys().filter(|subject| !self.left.contains(*subject))
    }

    /// Number of series.
    pub fn series_count(&self) -> usize {
        self.index.values().map(|group| group.series.len()).sum()
    }
}

/// The traces of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    series: &'a [(SeriesName, usize)],
    traces: &'a [Trace],
    scrapes: &'a [(usize, Scrapes)],
}

impl<'a> Traces<'a> {
    /// The trace of a level or a rate; `None` when nobody told of it.
    pub fn trace(&self, metric: Metric, part: Option<&RemoteText>) -> Option<&'a Trace> {
        self.traces.get(place_of(self.series, &metric.into(), part)?)
    }

    /// The scrapes of a histogram; `None` when nobody told of it.
    pub fn scrapes(&self, metric: Metric, part: Option<&RemoteText>) -> Option<&'a Scrapes> {
        let place = place_of(self.series, &metric.into(), part)?;
        let found = self.scrapes.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        Some(&self.scrapes[found].1)
    }

    /// The trace of a level or a rate without a part, looked for first where another subject had it, which is told
    /// where this one has it: of a thousand nodes that are alike each has the same series.
    pub fn trace_near(&self, metric: Metric, near: &Cell<usize>) -> Option<&'a Trace> {
        let is_it =
            |((name, part), _): &(SeriesName, usize)| *name == MetricName::Known(metric) && part.is_none();
        if !self.series.get(near.get()).is_some_and(is_it) {
            near.set(place_of(self.series, &metric.into(), None)?);
        }
        self.traces.get(near.get())
    }
}

/// The group of a subject, and the place of one of its series in it.
pub(super) fn find<'a>(
    index: &'a Index,
    subject: &Subject,
    metric: &MetricName,
    part: Option<&RemoteText>,
) -> Option<(&'a Group, usize)> {
    let group = index.get(subject)?;
    Some((group, place_of(&group.series, metric, part)?))
}

fn place_of(series: &[(SeriesName, usize)], metric: &MetricName, part: Option<&RemoteText>) -> Option<usize> {
    let order =
        |(known, known_part): &SeriesName| known.cmp(metric).then_with(|| known_part.as_ref().cmp(&part));
    series.binary_search_by(|(name, _)| order(name)).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metric::{REDIS_CPU, REDIS_KEYS, REDIS_MEMORY};
    use crate::reading::{Reading, Value};
    use crate::store::Store;
    use crate::time::Moment;

    #[test]
    fn a_trace_is_found_wherever_another_subject_had_its_own() {
        let [one, other]: [Subject; 2] = ["redis/a#0@h:1", "redis/a#1@h:2"].map(|name| name.parse().unwrap());
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        let mut told = |of: &Subject, metrics: &[Metric]| {
            let mut reading = Reading::new(of.clone(), Moment(1_000));
            for (metric, value) in metrics.iter().zip([1.0, 2.0]) {
                reading.sample(of, *metric, Value::Gauge(value));
            }
            store.take(&reading, false, None);
        };
        told(&one, &[REDIS_MEMORY, REDIS_CPU]);
        told(&other, &[REDIS_MEMORY]);
        let history = store.history();
        let near = Cell::new(0);
        for (subject, metric, value) in [
            (&one, REDIS_MEMORY, Some(1.0)),
            (&other, REDIS_MEMORY, Some(1.0)),
            (&other, REDIS_CPU, None),
            (&one, REDIS_CPU, Some(2.0)),
            (&one, REDIS_KEYS, None),
        ] {
            let found = history.of(subject).trace_near(metric, &near);
            assert_eq!(found.and_then(Trace::latest).map(|seen| seen.value), value, "{subject} {metric:?}");
        }
    }
}
