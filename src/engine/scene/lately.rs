//! Means over longer spans than the present: what comes seldom looks like nothing, or like a flood, in three intervals.

use std::time::Duration;

use super::Scene;
use crate::metric::Metric;
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
        let points = self.store.points(subject, metric, part)?.newest_first();
        let within = points.take_while(|seen| seen.at > at - span);
        let (sum, count) = within.fold((0.0, 0.0), |(sum, count), seen| (sum + seen.value, count + 1.0));
        (count > 0.0).then(|| Seen { value: sum / count, at })
    }

    /// The sum of these over `subject`'s parts; `None` when no part has it fresh.
    pub(crate) fn total_over(&self, subject: &Subject, metric: Metric, span: Duration) -> Option<Seen> {
        self.over_parts(subject, |part| self.mean_over(part, metric, None, span))
    }
}
