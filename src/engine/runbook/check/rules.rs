//! Checks that ask rules.

use std::collections::BTreeSet;

use super::{Outcome, and_more};
use crate::report::{Report, SubjectVerdict};
use crate::runbook::measures::parse_subjects;
use crate::snapshot::{RuleState, Snapshot};
use crate::subject::Subject;
use crate::wording::{names, span};
use crate::{filter, rules};

/// A subject as the one field of a pattern.
struct Named<'a>(&'a Subject);

impl filter::Filtered for Named<'_> {
    fn field(&self, _place: usize) -> filter::FieldValue<'_> {
        filter::FieldValue::Text(self.0.as_str().into())
    }
}

/// Whether a subject is one of those that a pattern names; without one all are.
pub(super) fn meant(on: Option<&str>) -> impl Fn(&Subject) -> bool + use<> {
    let pattern = on.and_then(|on| parse_subjects(on).ok());
    move |subject| pattern.as_ref().is_none_or(|pattern| pattern.keeps(&Named(subject)))
}

/// How rules stand on the subjects of a pattern: one that fires or fired decides, then one that cannot say.
pub(super) fn judge(ids: &[String], on: Option<&str>, snapshot: &Snapshot) -> (Outcome, String) {
    let is_meant = meant(on);
    let asked = |row: &&RuleState| ids.iter().any(|id| id == row.rule) && is_meant(&row.subject);
    let rows: Vec<&RuleState> = snapshot.rules.iter().filter(asked).collect();
    let old = stale(snapshot);
    let (stale, fresh): (Vec<&RuleState>, Vec<&RuleState>) =
        rows.iter().partition(|row| row.subject.wholes().any(|whole| old.contains(whole)));
    let of = |states: &[&str]| -> Vec<&RuleState> {
        fresh.iter().copied().filter(|row| states.contains(&row.state)).collect()
    };
    let fired = [of(&["firing"]), of(&["ended"])].concat();
    if let Some(first) = fired.first() {
        return (Outcome::Failed, format!("{}{}", accused(first, snapshot), and_more(fired.len())));
    }
    let blind = [of(&["pending"]), of(&["unknown"]), stale].concat();
    if let Some(first) = blind.first() {
        let same: Vec<&Subject> =
            blind.iter().filter(|row| row.detail == first.detail).map(|row| &row.subject).collect();
        let why = match first.state {
            "pending" => format!("{}, not yet for long enough to say", first.detail),
            "unknown" if first.detail.is_empty() => "nothing seen yet".to_owned(),
            "unknown" => first.detail.to_string(),
            _ => data_age(&first.subject, &snapshot.report).unwrap_or_else(|| "no data".to_owned()),
        };
        let others = and_more(blind.len() + 1 - same.len());
        return (Outcome::Unknown, format!("{} on {}: {why}{others}", first.rule, names(&same)));
    }
    // What is not there cannot be bad, as long as there is something that was looked at.
    if rows.is_empty() {
        return (Outcome::Unknown, nothing_to_watch(ids));
    }
    (Outcome::Passed, passed(ids, &rows, &snapshot.report))
}

/// Everything about which the newest data is stale, or of which there is none: no rule can be believed on it.
fn stale(snapshot: &Snapshot) -> BTreeSet<&str> {
    let limit = |subject: &Subject| snapshot.stale_after(subject).as_secs_f64();
    let is_stale = |row: &&SubjectVerdict| row.age_s.is_none_or(|age| age > limit(&row.subject));
    let rows = snapshot.report.verdicts.iter().filter(is_stale);
    rows.map(|row| row.subject.as_str()).collect()
}

/// `redis/features#2: 23.9 MB/s out, flat at the link (25 MB/s) (since 14:06:55, data 1 s old)`.
fn accused(row: &RuleState, snapshot: &Snapshot) -> String {
    let suspect = snapshot
        .report
        .suspects
        .iter()
        .find(|suspect| suspect.rule == row.rule && suspect.subject == row.subject);
    let since = suspect.map(|suspect| span(suspect.since, suspect.until));
    let since = since.or_else(|| (row.state == "ended").then(|| "it has ended".to_owned()));
    let aside: Vec<String> = since.into_iter().chain(data_age(&row.subject, &snapshot.report)).collect();
    let aside = if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
    format!("{}: {}{aside}", row.subject, row.detail)
}

/// What the clear answers rest on, a rule each.
fn passed(ids: &[String], rows: &[&RuleState], report: &Report) -> String {
    let told = ids.iter().filter_map(|id| {
        let of_rule: Vec<&&RuleState> = rows.iter().filter(|row| row.rule == *id).collect();
        let first = of_rule.first()?;
        let count = of_rule.len();
        let whom = if count == 1 { first.subject.to_string() } else { format!("{count} looked at") };
        let age = data_age(&first.subject, report).map_or_else(String::new, |age| format!(", {age}"));
        let seen = if first.detail.is_empty() { "clear" } else { &first.detail };
        Some(format!("{id}: {seen} ({whom}{age})"))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The age of the newest data about a subject, or about what it is a part of.
fn data_age(subject: &Subject, report: &Report) -> Option<String> {
    let of = |subject: &Subject| report.verdicts.iter().find(|row| row.subject == *subject)?.age_s;
    let age = of(subject).or_else(|| of(&subject.parent()?))?;
    Some(format!("data {age:.0} s old"))
}

fn nothing_to_watch(ids: &[String]) -> String {
    let told = ids.iter().map(|id| match rules::by_id(id) {
        Some(rule) => format!("{id} looks at {}, and there is none", rule.watches.words()),
        None => format!("there is no rule '{id}'"),
    });
    told.collect::<Vec<_>>().join("; ")
}
