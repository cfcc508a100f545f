//! What sources remember of healthy times.

use std::collections::BTreeMap;
use std::time::Duration;

use super::World;
use crate::metric::MetricName;
use crate::reading::History;
use crate::report::HistorySpan;
use crate::settings::BaselineRow;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// What was usual then is compared with for this long: at another time of day something else is usual.
const SPEAKS_FOR: Duration = Duration::from_secs(6 * 3_600);

/// The series that a value is of.
type Series = (Subject, MetricName, Option<RemoteText>);

/// The healthy values of all sources that remember any.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    rows: BTreeMap<Series, (Moment, BaselineRow)>,
    spans: BTreeMap<Subject, (Moment, HistorySpan)>,
}

impl World {
    /// Takes what a source remembers, under the names of now.
    pub(super) fn remember(&mut self, source: &Subject, at: Moment, mut history: History) {
        for row in &mut history.rows {
            if let Some(subject) = self.placed_subject(&row.subject) {
                row.subject = subject;
            }
        }
        self.histories.take(source, at, history);
    }

    /// What sources remember of healthy times.
    pub(crate) fn histories(&self) -> &Histories {
        &self.histories
    }
}

impl Histories {
    /// Takes what a source remembers.
    fn take(&mut self, source: &Subject, at: Moment, history: History) {
        let values = history.rows.len();
        for row in history.rows {
            let series = (row.subject.clone(), row.metric.clone(), row.part.clone());
            self.rows.insert(series, (at, row));
        }
        let told = |before: Option<&(Moment, HistorySpan)>| HistorySpan {
            source: source.clone(),
            from: before.map_or(history.from, |(_, before)| before.from.min(history.from)),
            to: before.map_or(history.to, |(_, before)| before.to.max(history.to)),
            values: before.map_or(0, |(_, before)| before.values) + values,
        };
        let span = told(self.spans.get(source));
        self.spans.insert(source.clone(), (at, span));
    }

    /// What was usual of one series, unless that was too long ago.
    pub(crate) fn row(
        &self,
        subject: &Subject,
        metric: &MetricName,
        part: Option<&RemoteText>,
        now: Moment,
    ) -> Option<&BaselineRow> {
        if self.rows.is_empty() {
            return None;
        }
        let series = (subject.clone(), metric.clone(), part.cloned());
        self.rows.get(&series).filter(|(told, _)| now.since(*told) <= SPEAKS_FOR).map(|(_, row)| row)
    }

    /// What each source remembers, unless that was too long ago.
    pub(crate) fn spans(&self, now: Moment) -> Vec<HistorySpan> {
        let spans = self.spans.values().filter(|(told, _)| now.since(*told) <= SPEAKS_FOR);
        spans.map(|(_, span)| span.clone()).collect()
    }
}
