//! Means over longer spans than the present: what comes seldom looks like nothing, or like a flood, in three intervals.

use std::time::Duration;

use super::Scene;
use crate::baseline::Baseline;
use crate::metric::{Metric, Unit};
use crate::quantity::show;
use crate::report::BaselineFrom;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

impl Scene<'_> {
    /// The mean of a level or a rate over the span before its newest point, or over as much of it as was seen; `None`
    /// when it is stale.
    pub(crate) fn mean_over(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
        span: Duration,
    ) -> Option<Seen> {
        let at = self.latest_part(subject, metric, part)?.at;
        self.store.points(subject, metric, part)?.trace().mean_until(at, span)
    }

    /// What a count gained in the span before its newest point: each rate stands for the time since the one before it.
    /// `None` when it is stale.
    pub(crate) fn gained_over(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
        span: Duration,
    ) -> Option<Seen> {
        let at = self.latest_part(subject, metric, part)?.at;
        let points: Vec<Seen> = self.store.points(subject, metric, part)?.since(at - span).collect();
        let gained = points.windows(2).map(|pair| pair[1].value * pair[1].at.seconds_after(pair[0].at)).sum();
        Some(Seen { value: gained, at })
    }

    /// The sum of these over `subject`'s parts; `None` when no part has it fresh.
    pub(crate) fn total_over(&self, subject: &Subject, metric: Metric, span: Duration) -> Option<Seen> {
        self.total_by(subject, metric, |part| self.mean_over(part, metric, None, span))
    }

    /// The mean of a histogram in the memory of a source, in this run's calm, where that lasted so long, else over the target's life before first
    /// contact; over all instances of `subject`, in the metric's unit.
    pub(crate) fn usual_mean(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
        least_calm: Duration,
    ) -> Option<Baseline> {
        let calm = self.calm.filter(|(from, to)| to.since(*from) >= least_calm);
        let calm =
            calm.and_then(|(from, to)| self.distribution_between(subject, metric, part, from, to)?.mean());
        let lifetime = || self.lifetime_distribution(subject, metric, part)?.mean();
        let remembered = self.remembered_mean(subject, metric, part);
        remembered
            .map(|mean| Baseline::new(mean, BaselineFrom::History))
            .or_else(|| Some(Baseline::new(calm?, BaselineFrom::Earlier)))
            .or_else(|| Some(Baseline::new(lifetime()?, BaselineFrom::Lifetime)))
    }

    /// What to say where the first of these durations that is told has no buckets; `None` where it has, or none is told.
    pub(crate) fn only_a_mean(&self, subject: &Subject, durations: &[Metric]) -> Option<String> {
        let told = durations.iter().find(|metric| self.last_scrape(subject, **metric, None).is_some())?;
        let mean = self.mean_without_buckets(subject, *told)?;
        Some(format!(
            "only a mean, {}: the page keeps no buckets, and without them there is no percentile",
            show(mean, Unit::Seconds)
        ))
    }
}
