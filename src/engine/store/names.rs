//! What series a subject has, and since when.

use super::{Data, Group, Store};
use crate::metric::{Metric, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

impl Store {
    /// Whether every instance of `root` that told anything since a moment told this metric since then, and there is any.
    pub(crate) fn every_instance_tells(&self, root: &Subject, metric: Metric, since: Moment) -> bool {
        let is_told = |(_, place): &(_, usize)| self.series[*place].last_told().is_some_and(|at| at >= since);
        let metric = MetricName::Known(metric);
        let tells = |group: &Group| {
            let first = group.series.partition_point(|((name, _), _)| *name < metric);
            group.series[first..].iter().take_while(|((name, _), _)| *name == metric).any(is_told)
        };
        let instances = root.within(&*self.index).filter(|(subject, _)| subject.address().is_some());
        let mut there = instances.filter(|(_, group)| group.series.iter().any(is_told)).peekable();
        there.peek().is_some() && there.all(|(_, group)| tells(group))
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
