//! How much of a span was watched.

use super::Store;
use crate::metric::Metric;
use crate::subject::Subject;
use crate::time::Moment;

impl Store {
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
