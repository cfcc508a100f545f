//! Checks that ask a whole snapshot.

use std::time::Duration;

use super::{Outcome, age, and_more};
use crate::reading::{ActKind, Change};
use crate::report::ShapeKind;
use crate::rules::{self, CHANGE_IS_LATE, Nature};
use crate::snapshot::{RuleState, Snapshot};
use crate::subject::{Kind, Subject};
use crate::tellers;
use crate::wording::{names, shape_words};

/// How long before the symptom a change is worth a look.
const CHANGES_WITHIN: Duration = Duration::from_secs(24 * 3_600);

/// Whether callers are as usual.
pub(super) fn shape(snapshot: &Snapshot) -> (Outcome, String) {
    let shape = &snapshot.report.shape;
    let outcome = match shape.kind {
        ShapeKind::Calm => Outcome::Passed,
        ShapeKind::Unknown => Outcome::Unknown,
        _ => Outcome::Failed,
    };
    let newest = snapshot.signals.iter().filter_map(|signal| signal.now).map(|seen| seen.at).max();
    let age = newest.map_or_else(String::new, |at| format!(" ({})", age(at, snapshot.at)));
    (outcome, format!("{}: {}{age}", shape_words(shape.kind), shape.sentence))
}

/// Which services and instances are hit: by the rules that see symptoms, and by the one that compares instances.
pub(super) fn scope(snapshot: &Snapshot) -> (Outcome, String) {
    let is_symptom = |row: &&RuleState| {
        rules::by_id(row.rule).is_some_and(|rule| rule.nature == Nature::Symptom) && row.state != "ended"
    };
    let seen: Vec<&RuleState> = snapshot.rules.iter().filter(is_symptom).collect();
    let of = |state: &str| -> Vec<&Subject> {
        let mut hit: Vec<&Subject> =
            seen.iter().filter(|row| row.state == state).map(|row| &row.subject).collect();
        hit.sort_unstable();
        hit.dedup();
        hit
    };
    let compared = |state: &str| -> Vec<&Subject> {
        let rows = snapshot.rules.iter().filter(|row| row.rule == "slow-instance" && row.state == state);
        rows.map(|row| &row.subject).collect()
    };
    // Who is not seen now may suffer, whatever is said of the others.
    let unseen = seen
        .iter()
        .find(|row| row.state == "pending" || row.state == "unknown" && !of("clear").contains(&&row.subject));
    let instances = match (compared("firing").as_slice(), compared("clear").len()) {
        ([], 0) => "; instances are not compared".to_owned(),
        ([], count) => format!("; its {count} instances are alike"),
        (slow, _) => format!("; slower than the others: {}", names(slow)),
    };
    match (of("firing").as_slice(), of("clear").as_slice()) {
        ([], []) => (Outcome::Unknown, "no source shows what callers see".to_owned()),
        ([], _) if let Some(row) = unseen => {
            (Outcome::Unknown, format!("{} on {}: {}", row.rule, row.subject, row.detail))
        }
        ([], well) => (Outcome::Passed, format!("{} well{instances}", names(well))),
        (hit, _) => {
            let all = of("clear").iter().filter(|well| !hit.contains(well)).count() + hit.len();
            (Outcome::Failed, format!("hit: {}, {} of {all} that are seen{instances}", names(hit), hit.len()))
        }
    }
}

/// Whether nothing was changed in the day before the symptom began.
pub(super) fn changes(snapshot: &Snapshot) -> (Outcome, String) {
    let began = snapshot.report.symptom.as_ref().map_or(snapshot.at, |symptom| symptom.since.at);
    // What was changed after it began may be a cure, and is no cause.
    let recent = |change: &&Change| {
        change.at >= began - CHANGES_WITHIN && change.at <= began + CHANGE_IS_LATE && change.at <= snapshot.at
    };
    let recent: Vec<&Change> = snapshot.changes.iter().rev().filter(recent).collect();
    if let Some(newest) = recent.first() {
        let what = newest.kind.word();
        let of = newest.component.as_ref().map_or_else(String::new, |component| format!(" of {component}"));
        let text =
            format!("{} UTC {what}{of}: {}{}", newest.at.clock(), newest.title, and_more(recent.len()));
        return (Outcome::Failed, text);
    }
    let untold = tellers::untold(&snapshot.settings, snapshot.sources.iter(), Kind::Change, snapshot.at);
    if let Some(first) = untold.first() {
        let more = and_more(untold.len());
        return (
            Outcome::Unknown,
            format!("not every change is told: {}: {}{more}", first.subject, first.missing),
        );
    }
    if snapshot.sources.iter().any(|source| source.source.kind() == Kind::Change) {
        return (Outcome::Passed, format!("none in the 24 h before {} UTC", began.clock()));
    }
    (Outcome::Unknown, "no source tells of changes: ask who changed what in the last 24 h".to_owned())
}

/// Whether an action was taken since a runbook was begun.
pub(super) fn action(snapshot: &Snapshot) -> (Outcome, String) {
    let begun = snapshot.acts.iter().rposition(|act| matches!(act.kind, ActKind::Runbook(_))).unwrap_or(0);
    let taken: Vec<String> = snapshot.acts[begun..]
        .iter()
        .filter_map(|act| match &act.kind {
            ActKind::Remedy { subject, text } => Some(format!("{} UTC {subject}: {text}", act.at.clock())),
            _ => None,
        })
        .collect();
    match taken.last() {
        Some(last) => (Outcome::Passed, format!("{last}{}", and_more(taken.len()))),
        None => (Outcome::Failed, "no action is recorded yet".to_owned()),
    }
}
