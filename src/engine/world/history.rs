//! What sources remember of healthy times.

use std::collections::BTreeMap;

use super::World;
use crate::metric::MetricName;
use crate::reading::History;
use crate::report::HistorySpan;
use crate::settings::BaselineRow;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The series that a value is of.
type Series = (Subject, MetricName, Option<RemoteText>);

/// What was usual of one series.
#[derive(Debug)]
struct Remembered {
    /// Who remembers it.
    source: Subject,
    /// The end of the span that it was usual in.
    ended: Moment,
    row: BaselineRow,
}

/// The healthy values of all sources that remember any.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    rows: BTreeMap<Series, Remembered>,
    spans: BTreeMap<Subject, HistorySpan>,
}

impl World {
    /// Takes what a source remembers, under the names of now.
    pub(super) fn remember(&mut self, source: &Subject, mut history: History) {
        for row in &mut history.rows {
            if let Some(subject) = self.placed_subject(&row.subject) {
                row.subject = subject;
            }
        }
        self.histories.take(source, history);
    }

    /// What sources remember of healthy times.
    pub(crate) fn histories(&self) -> &Histories {
        &self.histories
    }
}

impl Histories {
    /// Takes what a source remembers.
    fn take(&mut self, source: &Subject, history: History) {
        let History { from, to, rows } = history;
        let mut added = 0;
        for row in rows {
            let series = (row.subject.clone(), row.metric.clone(), row.part.clone());
            let before = self.rows.insert(series, Remembered { source: source.clone(), ended: to, row });
            added += usize::from(before.is_none_or(|before| before.source != *source));
        }
        let span = self.spans.entry(source.clone()).or_insert_with(|| HistorySpan {
            source: source.clone(),
            from,
            to,
            values: 0,
        });
        (span.from, span.to) = (span.from.min(from), span.to.max(to));
        span.values += added;
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
        self.rows.get(&series).filter(|told| History::speaks(told.ended, now)).map(|told| &told.row)
    }

    /// What each source remembers, unless that was too long ago.
    pub(crate) fn spans(&self, now: Moment) -> Vec<HistorySpan> {
        self.spans.values().filter(|span| History::speaks(span.to, now)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metric::QUEUE_WAITING;

    fn row(subject: &str) -> BaselineRow {
        BaselineRow {
            subject: subject.parse().unwrap(),
            metric: QUEUE_WAITING.into(),
            part: None,
            hour: 0,
            typical: 3.0,
            spread: 0.0,
            points: 60,
            high: None,
            mean: None,
        }
    }

    #[test]
    fn what_was_usual_speaks_from_the_end_of_its_span_on_and_counts_once() {
        let source: Subject = "service/prometheus".parse().unwrap();
        let hour = Duration::from_secs(3_600);
        let (from, to) = (Moment(0), Moment(0) + hour);
        let mut known = Histories::default();
        let one =
            |subjects: &[&str]| History { from, to, rows: subjects.iter().map(|name| row(name)).collect() };
        known.take(&source, one(&["queue/a", "queue/b"]));
        known.take(&source, one(&["queue/b", "queue/c"]));
        let spans = known.spans(to);
        assert_eq!(
            spans.iter().map(|span| (span.from, span.to, span.values)).collect::<Vec<_>>(),
            [(from, to, 3)]
        );
        let has = |now| known.row(&"queue/a".parse().unwrap(), &QUEUE_WAITING.into(), None, now).is_some();
        let last = to + History::SPEAKS_FOR;
        assert!(has(to) && has(last) && !has(last + Duration::from_secs(1)));
        assert!(known.spans(last + Duration::from_secs(1)).is_empty());
    }
}
