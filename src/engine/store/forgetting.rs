//! What is kept no longer, and what is begun anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Cumulative, Data, Group, Points, Series, SeriesName, Store};
use crate::metric::{Metric, MetricName};
use crate::reading::{Sample, Value};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

impl Store {
    /// Forgets everything about a subject that has left for good.
    pub fn forget(&mut self, subject: &Subject) {
        if !self.index.contains_key(subject) {
            return;
        }
        if let Some(group) = Arc::make_mut(&mut self.index).remove(subject) {
            self.free(&group);
        }
        // Any source may have reported about it, and a layout must not lead to a place that is used anew.
        self.layouts.clear();
    }

    /// Forgets the series that nobody has told anything of since `before`: labels come and go.
    pub fn forget_unseen(&mut self, before: Moment) {
        let is_gone = |place: &usize| self.series[*place].last_told().is_some_and(|at| at < before);
        let fading = |group: &Group| group.series.iter().any(|(_, place)| is_gone(place));
        let thinned: Vec<Subject> = self
            .index
            .iter()
            .filter(|(_, group)| fading(group))
            .map(|(subject, _)| subject.clone())
            .collect();
        for subject in thinned {
            self.thin(&subject, |(_, place), series| {
                series[*place].last_told().is_some_and(|at| at < before)
            });
        }
        self.layouts.clear();
        self.budget.resize(self.count);
    }

    /// Forgets these parts of a metric of a subject: what they tell of has ended.
    pub(crate) fn forget_parts(&mut self, subject: &Subject, metric: Metric, parts: &BTreeSet<RemoteText>) {
        let is_gone = |((known, part), _): &(SeriesName, usize)| {
            *known == MetricName::Known(metric) && part.as_ref().is_some_and(|part| parts.contains(part))
        };
        self.thin(subject, |named, _| is_gone(named));
        self.layouts.clear();
        self.budget.resize(self.count);
    }

    /// Forgets those series of a subject of which this says so.
    fn thin(&mut self, subject: &Subject, is_gone: impl Fn(&(SeriesName, usize), &[Series]) -> bool) {
        let Some(mut group) = Arc::make_mut(&mut self.index).remove(subject) else { return };
        let series = &self.series;
        let (gone, kept) = group.series.into_iter().partition(|named| is_gone(named, series));
        group.series = kept;
        if group.series.is_empty() {
            self.free(&Group { series: gone, ..group });
            return;
        }
        Arc::make_mut(&mut self.index).insert(subject.clone(), group);
        self.free_series(&gone);
        self.renew_handles(subject);
    }

    /// Begins a number anew because somebody else tells it from now on: a total of one tool does not follow that of
    /// another, and one may tell a level where the other told a total. What was seen of it stays where the form does.
    pub(crate) fn begin_anew(&mut self, sample: &Sample) {
        let name: SeriesName = (sample.metric.clone(), sample.part.clone());
        let Some(group) = self.index.get(&sample.subject) else { return };
        let Ok(found) = group.series.binary_search_by(|(known, _)| known.cmp(&name)) else { return };
        let data = &mut self.series[group.series[found].1].data;
        match (&mut *data, &sample.value) {
            (Data::Level(_), Value::Gauge(_)) => {}
            (Data::Rate { total, lifetime, .. }, Value::Counter(_)) => (*total, *lifetime) = (None, None),
            _ => *data = Data::of(&sample.value),
        }
    }

    /// Frees the places of series that are forgotten.
    fn free_series(&mut self, series: &[(SeriesName, usize)]) {
        for (_, place) in series {
            self.series[*place].data = Data::Level(Points::default());
            self.free.push(*place);
        }
        self.count -= series.len();
    }

    /// Frees the places of a group that is forgotten.
    fn free(&mut self, group: &Group) {
        self.free_series(&group.series);
        self.bytes -= std::mem::take(&mut self.handles[group.handles]).bytes;
        self.free_handles.push(group.handles);
    }
}

impl Data {
    /// Nothing yet of a number of this form.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Gauge(_) => Self::Level(Points::default()),
            Value::Counter(_) => Self::Rate { points: Points::default(), total: None, lifetime: None },
            Value::Histogram(_) => Self::Buckets(Cumulative::default()),
        }
    }
}
