//! How the checks of a step stand at one moment: passed, failed, or not to be seen.

mod expectation;
mod questions;
mod rules;

use std::time::Duration;

use super::{Asks, Check, Recovery, recovery};
use crate::reading::Found;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::time::Moment;

/// How a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It does not hold, on fresh data.
    Failed,
    /// It cannot be said on fresh data.
    Unknown,
    /// It holds, on fresh data.
    Passed,
}

impl Outcome {
    /// The word for screens and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => Found::Bad.word(),
            Self::Unknown => Found::Unknown.word(),
            Self::Passed => Found::Good.word(),
        }
    }
}

/// A check at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckState {
    /// How it stands.
    pub outcome: Outcome,
    /// What is so when it passes.
    pub says: String,
    /// What was seen: who, value, limit, age; or what is missing.
    pub told: String,
}

impl CheckState {
    /// One line for screens and the record, what was seen first where it is not as it should be: `redis/features#2: 23.9 MB/s
    /// ...; good would be: no link is full`.
    pub fn line(&self) -> String {
        let Self { says, told, .. } = self;
        match self.outcome {
            Outcome::Failed => format!("{told}; good would be: {says}"),
            Outcome::Unknown => format!("{says}: not seen, {told}"),
            Outcome::Passed => format!("{says}: yes, {told}"),
        }
    }
}

/// How a check stands in a snapshot.
pub fn evaluate(check: &Check, snapshot: &Snapshot) -> CheckState {
    let (outcome, told) = match (check.asks, &check.expect) {
        (Some(Asks::Shape), _) => questions::shape(snapshot),
        (Some(Asks::Scope), _) => questions::scope(snapshot),
        (Some(Asks::Changes), _) => questions::changes(snapshot),
        (Some(Asks::Action), _) => questions::action(snapshot),
        (Some(Asks::Recovery), _) => match recovery(snapshot) {
            Recovery::Calm(told) | Recovery::Recovered { told, .. } => (Outcome::Passed, told),
            Recovery::NotYet(told) => (Outcome::Failed, told),
            Recovery::Unknown(told) => (Outcome::Unknown, told),
        },
        (None, Some(expression)) => expectation::judge(expression, check.on.as_deref(), snapshot),
        (None, None) => rules::judge(&check.rules, check.on.as_deref(), snapshot),
    };
    CheckState { outcome, says: check.says.clone(), told }
}

/// Whether a check asks this rule about this subject.
pub(super) fn asks_about(check: &Check, rule: &str, subject: &Subject) -> bool {
    check.rules.iter().any(|id| id == rule) && rules::meant(check.on.as_deref())(subject)
}

/// What the checks of a step come to together; a step without any has nothing to pass on.
pub fn found(states: &[CheckState]) -> Found {
    match states.iter().map(|state| state.outcome).min() {
        Some(Outcome::Failed) => Found::Bad,
        Some(Outcome::Passed) => Found::Good,
        Some(Outcome::Unknown) | None => Found::Unknown,
    }
}

/// `3 s old`, for every value that is shown beside a check.
fn age(seen: Moment, now: Moment) -> String {
    old(now.since(seen))
}

fn old(age: Duration) -> String {
    format!("{:.0} s old", age.as_secs_f64())
}

/// `; 2 more`, where there is more than what is named.
fn and_more(count: usize) -> String {
    if count > 1 { format!("; {} more", count - 1) } else { String::new() }
}
