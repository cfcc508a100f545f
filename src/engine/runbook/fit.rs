//! How well a runbook fits what is seen.

use super::Runbook;
use super::accused::accused;
use crate::snapshot::Snapshot;

/// How well a runbook fits, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is for the rule that accuses the first suspect.
    Accused,
    /// It always applies, and its step at this place asks about the first suspect.
    AtStep(usize),
    /// A rule that it is for fires or fired, and nobody is accused yet.
    Fires,
    /// It always applies.
    Always,
    /// A rule that it is for fires or fired, of somebody who is not the first suspect.
    Beside,
    /// Nothing that it is for is seen.
    NoSign,
}

/// How well a runbook fits a snapshot.
pub fn fit(runbook: &Runbook, snapshot: &Snapshot) -> Fit {
    let suspect = snapshot.report.suspects.first();
    let is_for = |rule: &String| runbook.when.contains(rule);
    if suspect.is_some_and(|suspect| is_for(&suspect.rule) || suspect.explains.iter().any(is_for)) {
        return Fit::Accused;
    }
    if runbook.when.is_empty() {
        return accused(runbook, snapshot).map_or(Fit::Always, Fit::AtStep);
    }
    let fires = |rule: &String| {
        snapshot.rules.iter().any(|row| row.rule == *rule && matches!(row.state, "firing" | "ended"))
    };
    match (runbook.when.iter().any(fires), suspect) {
        (false, _) => Fit::NoSign,
        (true, None) => Fit::Fires,
        (true, Some(_)) => Fit::Beside,
    }
}

/// The runbooks by how well they fit.
pub fn ranked<'a>(runbooks: &'a [Runbook], snapshot: &Snapshot) -> Vec<&'a Runbook> {
    let mut ranked: Vec<&Runbook> = runbooks.iter().collect();
    ranked.sort_by_cached_key(|runbook| fit(runbook, snapshot));
    ranked
}
