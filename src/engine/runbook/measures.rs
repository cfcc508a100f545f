//! What an expression of a check can ask: levels, rates and the signals of callers.

use std::sync::LazyLock;

use crate::filter::{FieldKind, FieldRow, Filter, FilterError};
use crate::metric::{Form, METRICS, Metric, Unit};
use crate::settled::{Settled, settled};
use crate::signal::SIGNALS;
use crate::snapshot::Snapshot;
use crate::store::Seen;
use crate::subject::Subject;
use crate::time::Moment;

/// The signals by the names that expressions have for them: one word each.
static SIGNAL_FIELDS: &[(&str, &str)] = &[
    ("callers.p99", "p99"),
    ("callers.errors", "errors"),
    ("callers.requests", "requests"),
    ("callers.queue", "queue"),
    ("callers.ttft_p99", "TTFT p99"),
    ("callers.hit_ratio", "hit ratio"),
    ("callers.instance_errors", "err/inst"),
    ("callers.retries", "retries"),
];

/// What a field of an expression is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// A level or a rate of each subject that has it.
    Metric(Metric),
    /// The signal at this place of [`SIGNALS`]: one number for all callers.
    Signal(usize),
}

static MEASURES: LazyLock<Vec<(FieldRow, Measure)>> = LazyLock::new(|| {
    let signals = SIGNAL_FIELDS.iter().filter_map(|(name, signal)| {
        let place = SIGNALS.iter().position(|row| row.name == *signal)?;
        let row = &SIGNALS[place];
        let field = FieldRow { name, kind: FieldKind::Number(row.unit), help: row.help };
        Some((field, Measure::Signal(place)))
    });
    // Histograms have no level: what is asked of them is asked through a rule or a signal.
    let metrics = METRICS.iter().filter(|row| row.form != Form::Histogram).filter_map(|row| {
        let field = FieldRow { name: row.name, kind: FieldKind::Number(row.unit), help: row.help };
        Some((field, Measure::Metric(Metric::by_name(row.name)?)))
    });
    signals.chain(metrics).collect()
});

static SUBJECT: &[FieldRow] =
    &[FieldRow { name: "subject", kind: FieldKind::Text, help: "who the numbers are about" }];

/// The fields that an expression of a check can name.
pub fn fields() -> Vec<FieldRow> {
    MEASURES.iter().map(|(field, _)| *field).collect()
}

/// The names of these fields, for help.
pub fn field_names() -> Vec<&'static str> {
    MEASURES.iter().map(|(field, _)| field.name).collect()
}

/// Reads an expression over metrics. The error says what is wrong, and what was probably meant.
pub fn parse_expectation(text: &str) -> Result<Filter, FilterError> {
    let filter = Filter::parse(text, &fields())?;
    if filter.comparisons().is_empty() {
        let message = "nothing is compared: write for example 'redis.answer_time < 5 ms'".to_owned();
        return Err(FilterError { column: 1, message });
    }
    Ok(filter)
}

/// Reads a pattern of subjects such as `redis/*` into a filter over one field, the written subject.
pub fn parse_subjects(pattern: &str) -> Result<Filter, FilterError> {
    Filter::parse(&format!("subject = {pattern}"), SUBJECT)
}

/// What the field at this place is read from, with its unit.
pub(super) fn measure(place: usize) -> Option<(Measure, &'static str, Unit)> {
    let (field, measure) = MEASURES.get(place)?;
    let FieldKind::Number(unit) = field.kind else { return None };
    Some((*measure, field.name, unit))
}

impl Measure {
    /// Its present value by its last points up to the time of the snapshot, as rules take it, however old they are.
    pub(super) fn present(self, subject: &Subject, snapshot: &Snapshot) -> Option<Settled> {
        let is_before = |seen: &Seen| seen.at <= snapshot.at;
        match self {
            Self::Metric(metric) => {
                settled(snapshot.history.trace(subject, metric, None)?.newest_first().filter(is_before))
            }
            Self::Signal(place) => {
                let signal = snapshot.signals.get(place)?;
                let known = signal.trace.latest_at(snapshot.at).map(|seen| seen.at);
                let newer = signal.now.filter(|now| known.is_none_or(|known| known < now.at));
                settled(newer.into_iter().chain(signal.trace.newest_first().filter(is_before)))
            }
        }
    }

    /// The oldest moment whose value still tells the present.
    pub(super) fn fresh_from(self, subject: &Subject, snapshot: &Snapshot) -> Moment {
        match self {
            Self::Metric(metric) => snapshot.fresh_from(subject, metric),
            // A signal is told anew at each evaluation, as long as what it is made of is fresh.
            Self::Signal(_) => snapshot.at - snapshot.settings.stale_after(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_can_be_asked_and_every_name_is_one_word() {
        assert_eq!(SIGNAL_FIELDS.len(), SIGNALS.len());
        let asked = MEASURES.iter().filter(|(_, measure)| matches!(measure, Measure::Signal(_))).count();
        assert_eq!(asked, SIGNALS.len());
        for (place, (field, _)) in MEASURES.iter().enumerate() {
            assert!(
                field.name.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c)),
                "{}",
                field.name
            );
            assert!(MEASURES[..place].iter().all(|(other, _)| other.name != field.name), "{}", field.name);
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_was_meant() {
        let wrong = |text: &str| parse_expectation(text).unwrap_err().message;
        assert!(wrong("redis.answer_tme < 5 ms").contains("did you mean 'redis.answer_time'?"));
        assert!(wrong("redis.answer_time < 5 MB").contains("bytes do not fit"));
        assert!(wrong("redis").contains("nothing is compared"));
        assert!(wrong("").contains("nothing is compared"));
        assert!(parse_expectation("callers.p99 < 500 ms").is_ok());
        assert!(parse_subjects("redis/*").is_ok());
    }
}
