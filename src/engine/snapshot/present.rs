//! What a snapshot takes for the present value of a number.

use std::time::Duration;

use super::Snapshot;
use crate::metric::{Metric, TOLD_OF_THE_WHOLE};
use crate::scene::present_span;
use crate::scene::totals::tells_more;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

impl Snapshot {
    /// The newest value that was known at this snapshot's moment; `None` when it was stale by then.
    pub fn present(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<Seen> {
        let seen = self.history.trace(subject, metric, part)?.latest_at(self.at)?;
        (seen.at >= self.fresh_from(subject, metric)).then_some(seen)
    }

    /// What rules take for the present value at this snapshot's moment: the mean of the newest points within three intervals;
    /// `None` when they were stale by then.
    pub fn present_mean(&self, subject: &Subject, metric: Metric, part: Option<&RemoteText>) -> Option<Seen> {
        let mean = self.history.trace(subject, metric, part)?.mean_until(self.at, self.present_span())?;
        (mean.at >= self.fresh_from(subject, metric)).then_some(mean)
    }

    /// How long that mean is of.
    pub fn present_span(&self) -> Duration {
        present_span(&self.settings)
    }

    /// The sum of the present values of `subject` and its parts, or what is told of the whole where that is more; `None`
    /// when none of them has one.
    pub fn total(&self, subject: &Subject, metric: Metric) -> Option<f64> {
        self.total_by(subject, metric, |part| self.present(part, metric, None))
    }

    /// The same of what rules take for the present values.
    pub fn total_mean(&self, subject: &Subject, metric: Metric) -> Option<f64> {
        self.total_by(subject, metric, |part| self.present_mean(part, metric, None))
    }

    fn total_by(
        &self,
        subject: &Subject,
        metric: Metric,
        of: impl Fn(&Subject) -> Option<Seen>,
    ) -> Option<f64> {
        let of = |part: &Subject| of(part).map(|seen| seen.value);
        let whole = if TOLD_OF_THE_WHOLE.contains(&metric) { of(subject) } else { None };
        let parts = self.history.parts(subject).filter(|part| whole.is_none() || *part != subject);
        let sum = parts.filter_map(of).reduce(|sum, value| sum + value);
        whole.filter(|whole| sum.is_none_or(|sum| tells_more(*whole, sum))).or(sum)
    }
}
