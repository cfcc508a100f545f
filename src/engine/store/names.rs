//! What series a subject has, and since when.

use super::{Data, Group, Store};
use crate::metric::{Metric, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

impl Store {
    /// Whether a part of `root`, itself left out, has a series of a metric.
    pub fn tells_within(&self, root: &Subject, metric: &MetricName) -> bool {
        let has = |group: &Group| group.series.iter().any(|((name, _), _)| name == metric);
        root.within(&*self.index).any(|(subject, group)| subject != root && has(group))
    }

    /// The parts that a subject has of a metric, `None` being the whole.
    pub fn parts(&self, subject: &Subject, metric: impl Into<MetricName>) -> Vec<Option<RemoteText>> {
        let metric = metric.into();
        let with_metric = self.names(subject).filter(|(known, _)| **known == metric);
        with_metric.map(|(_, part)| part.cloned()).collect()
    }

    /// The metrics with their parts that a subject has, in order.
    pub fn names(&self, subject: &Subject) -> impl Iterator<Item = (&MetricName, Option<&RemoteText>)> {
        let of_subject = self.index.get(subject).map_or(&[][..], |group| &group.series);
        of_subject.iter().map(|((metric, part), _)| (metric, part.as_ref()))
    }

    /// Whether a series is a rate, made of a total that only grows.
    pub fn is_rate(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> bool {
        self.find(subject, metric, part).is_some_and(|series| matches!(series.data, Data::Rate { .. }))
    }

    /// The moment of the scrape from which on [`Store::gained`] tells for a span, which may be later than its beginning.
    pub(crate) fn gained_from(
        &self,
        subject: &Subject,
        metric: Metric,
        from: Moment,
        to: Moment,
    ) -> Option<Moment> {
        self.find(subject, metric, None)?.scrapes()?.gained_since(from, to).map(|(start, _)| start)
    }
}
