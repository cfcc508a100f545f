//! Checks that compare numbers.

use std::cell::{Cell, RefCell};

use super::rules::meant;
use super::{Outcome, age, and_more};
use crate::filter::{FieldValue, Filtered};
use crate::metric::{Bad, Unit};
use crate::quantity::show;
use crate::runbook::measures::{Measure, measure, parse_expectation};
use crate::snapshot::Snapshot;
use crate::store::Seen;
use crate::subject::Subject;

/// A number is bad when it was seen to be so often enough: as rules have it, one look accuses nobody.
const LEAST_POINTS: usize = 3;

/// The numbers of one subject; what is stale is not known.
struct Row<'a> {
    subject: &'a Subject,
    snapshot: &'a Snapshot,
    /// Whether one of its numbers was seen too seldom to say that it is bad.
    is_new: Cell<bool>,
    /// Values that are too old, which explain why it cannot be said.
    stale: RefCell<Vec<(&'static str, Seen)>>,
}

impl Filtered for Row<'_> {
    fn field(&self, place: usize) -> FieldValue<'_> {
        let Some((measure, name, _)) = measure(place) else { return FieldValue::Absent };
        let Some(present) = measure.present(self.subject, self.snapshot) else { return FieldValue::Absent };
        let seen = present.seen;
        if seen.at < measure.fresh_from(self.subject, self.snapshot) {
            self.stale.borrow_mut().push((name, seen));
            return FieldValue::Absent;
        }
        self.is_new.set(self.is_new.get() || present.points < LEAST_POINTS);
        FieldValue::Number(seen.value)
    }
}

/// Whether an expression holds of every subject that has its metrics.
pub(super) fn judge(expression: &str, on: Option<&str>, snapshot: &Snapshot) -> (Outcome, String) {
    let filter = match parse_expectation(expression) {
        Ok(filter) => filter,
        Err(error) => return (Outcome::Unknown, format!("'{expression}' makes no sense: {error}")),
    };
    let measures: Vec<(Measure, &'static str, Unit)> =
        filter.comparisons().into_iter().filter_map(measure).collect();
    let callers = Subject::component(crate::subject::Kind::Client, "callers");
    let subjects = subjects(&measures, on, snapshot, &callers);
    if subjects.is_empty() {
        let names: Vec<&str> = measures.iter().map(|(_, name, _)| *name).collect();
        let whom = on.map_or_else(String::new, |on| format!(" of {on}"));
        return (Outcome::Unknown, format!("no source tells {}{whom}", names.join(" or ")));
    }
    let (mut bad, mut new, mut blind, mut good) = (vec![], vec![], vec![], vec![]);
    for subject in subjects {
        let row = Row { subject, snapshot, is_new: Cell::default(), stale: RefCell::default() };
        match filter.judge(&row) {
            Some(true) => good.push(subject),
            Some(false) if row.is_new.get() => new.push(subject),
            Some(false) => bad.push(subject),
            None => blind.push((subject, row.stale.into_inner())),
        }
    }
    let told = |subject: &Subject| numbers(subject, &measures, snapshot, &callers);
    let limit = filter.as_str();
    if let Some(worst) = worst(&bad, &measures, snapshot) {
        let more = and_more(bad.len());
        return (Outcome::Failed, format!("{}; it should be {limit}{more}", told(worst)));
    }
    let unsure = new.len() + blind.len();
    if let Some(worst) = worst(&new, &measures, snapshot) {
        let more = and_more(unsure);
        return (Outcome::Unknown, format!("{}, not yet for long enough to say{more}", told(worst)));
    }
    if let Some((subject, stale)) = blind.first() {
        let more = and_more(unsure);
        return (
            Outcome::Unknown,
            format!("{}{more}", missing(subject, stale, &measures, snapshot, &callers)),
        );
    }
    let told = worst(&good, &measures, snapshot).map(told).unwrap_or_default();
    let all = if good.len() > 1 { format!(", the worst of {}", good.len()) } else { String::new() };
    (Outcome::Passed, format!("{told}{all}; limit {limit}"))
}

/// Everything that is asked: the subjects with one of these metrics, or callers as a whole for signals alone.
fn subjects<'a>(
    measures: &[(Measure, &str, Unit)],
    on: Option<&str>,
    snapshot: &'a Snapshot,
    callers: &'a Subject,
) -> Vec<&'a Subject> {
    let metrics: Vec<_> = measures
        .iter()
        .filter_map(|(measure, ..)| match measure {
            Measure::Metric(metric) => Some(*metric),
            Measure::Signal(_) => None,
        })
        .collect();
    if metrics.is_empty() {
        let is_told = measures.iter().any(|(measure, ..)| measure.present(callers, snapshot).is_some());
        return if is_told { vec![callers] } else { vec![] };
    }
    let is_meant = meant(on);
    let has_one = |subject: &&Subject| {
        let traces = snapshot.history.of(subject);
        metrics.iter().any(|metric| traces.trace(*metric, None).is_some())
    };
    snapshot.history.subjects().filter(|subject| is_meant(subject)).filter(has_one).collect()
}

/// The subject that is worst by the first metric.
fn worst<'a>(
    subjects: &[&'a Subject],
    measures: &[(Measure, &str, Unit)],
    snapshot: &Snapshot,
) -> Option<&'a Subject> {
    let (measure, ..) = measures.first()?;
    let sign = if is_low_bad(*measure) { -1.0 } else { 1.0 };
    let value = |subject: &Subject| {
        measure.present(subject, snapshot).map_or(f64::NEG_INFINITY, |present| present.seen.value * sign)
    };
    subjects.iter().copied().max_by(|one, other| value(one).total_cmp(&value(other)))
}

fn is_low_bad(measure: Measure) -> bool {
    let bad = match measure {
        Measure::Metric(metric) => metric.row().bad,
        Measure::Signal(place) => crate::signal::SIGNALS[place].bad,
    };
    bad == Bad::Low
}

/// `redis/features#2@10.0.3.14:6379 redis.answer_time 41 ms (1 s old)`.
fn numbers(
    subject: &Subject,
    measures: &[(Measure, &'static str, Unit)],
    snapshot: &Snapshot,
    callers: &Subject,
) -> String {
    let told = measures.iter().filter_map(|(measure, name, unit)| {
        let seen = measure.present(subject, snapshot)?.seen;
        Some(format!("{name} {} ({})", show(seen.value, *unit), age(seen.at, snapshot.at)))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    if subject == callers { told } else { format!("{subject} {told}") }
}

/// Why it cannot be said of a subject.
fn missing(
    subject: &Subject,
    stale: &[(&'static str, Seen)],
    measures: &[(Measure, &'static str, Unit)],
    snapshot: &Snapshot,
    callers: &Subject,
) -> String {
    let whom = if subject == callers { String::new() } else { format!("{subject}: ") };
    if let Some((name, seen)) = stale.first() {
        return format!("{whom}{name} is stale: {}", age(seen.at, snapshot.at));
    }
    let absent = measures.iter().find(|(measure, ..)| measure.present(subject, snapshot).is_none());
    let name = absent.or(measures.first()).map_or("it", |(_, name, _)| *name);
    format!("{whom}no value of {name}")
}
