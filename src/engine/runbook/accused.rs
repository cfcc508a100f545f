//! Which step asks about whoever is accused first.

use super::Runbook;
use super::check::asks_about;
use crate::report::Suspect;
use crate::snapshot::Snapshot;

/// The first suspect, and the step that asks whether it is guilty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accused<'a> {
    /// The place of the step among those of the runbook.
    pub place: usize,
    /// Whom it asks about.
    pub suspect: &'a Suspect,
}

/// The first step that asks the rule by which the first suspect is accused; `None` while nobody is, or where no step
/// asks that.
pub fn accused<'a>(runbook: &Runbook, snapshot: &'a Snapshot) -> Option<Accused<'a>> {
    let suspect = snapshot.report.suspects.first()?;
    let asks = |check| asks_about(check, &suspect.rule, &suspect.subject);
    let place = runbook.steps.iter().position(|step| step.checks.iter().any(asks))?;
    Some(Accused { place, suspect })
}
