//! Which step asks about whoever is accused first.

use super::Runbook;
use super::check::asks_about;
use crate::snapshot::Snapshot;

/// The place of the first step that asks the rule by which the first suspect is accused; `None` while nobody is, or where no
/// step asks that.
pub(super) fn accused(runbook: &Runbook, snapshot: &Snapshot) -> Option<usize> {
    let suspect = snapshot.report.suspects.first()?;
    let asks = |check| asks_about(check, &suspect.rule, &suspect.subject);
    runbook.steps.iter().position(|step| step.checks.iter().any(asks))
}
