//! The write-up of an incident: the triage, and beside it how it went, what was done, and the numbers over time.
//!
//! It is a function of one snapshot, so a recording gives the write-up that the screen gave at the same moment.

mod series;
mod story;

use serde::{Deserialize, Serialize};

use crate::reading::{ActKind, Change, StepAct};
use crate::report::Report;
use crate::runbook::recovery;
use crate::snapshot::Snapshot;
use crate::time::Moment;

pub use series::{EvidenceSeries, Point};
pub use story::{Told, ToldKind};

/// How long before the onset a write-up begins, and how far back its changes reach.
const BEFORE_ONSET_S: u64 = 300;
const CHANGES_BEFORE_S: u64 = 24 * 3_600;

/// Everything that is written about an incident. The fields of [`Report`] stand at its top, so whoever reads a triage
/// reads a write-up too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteUp {
    /// The triage, with what the operator marked, noted and did.
    #[serde(flatten)]
    pub report: Report,
    /// What wrote it.
    pub versions: Versions,
    /// Whether callers have again what they had before: `recovered since 14:12:07 (...)`, `not yet: ...`.
    #[serde(default)]
    pub recovery: String,
    /// The first moment that it tells of.
    pub from: Moment,
    /// How it went, in the order of time.
    pub timeline: Vec<Told>,
    /// Answers to the steps of runbooks, in the order of time.
    pub steps: Vec<Answered>,
    /// What people changed, from a day before the onset on, oldest first.
    pub changes: Vec<Change>,
    /// The numbers over time: signals first, then the evidence of each suspect.
    pub series: Vec<EvidenceSeries>,
}

/// What wrote a write-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The version of Headwater that judged.
    pub headwater: String,
    /// The version that recorded, when a recording was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_by: Option<String>,
}

/// An answer to a step, with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// When.
    pub at: Moment,
    /// Which step, the answer, and what was seen.
    #[serde(flatten)]
    pub act: StepAct,
}

impl WriteUp {
    /// The write-up of what a snapshot knows.
    pub fn of(snapshot: &Snapshot, versions: Versions) -> Self {
        let report = snapshot.written();
        let onset = report.onset().map_or(snapshot.at, |onset| onset.at);
        let from = (onset - std::time::Duration::from_secs(BEFORE_ONSET_S)).max(snapshot.began);
        let earliest_change = onset - std::time::Duration::from_secs(CHANGES_BEFORE_S);
        let changes = || {
            let told = earliest_change..=snapshot.at;
            snapshot.changes.iter().filter(move |change| told.contains(&change.at))
        };
        Self {
            versions,
            recovery: recovery(snapshot).sentence(),
            from,
            timeline: story::of(snapshot, from, changes()),
            steps: steps(snapshot),
            changes: changes().cloned().collect(),
            series: series::of(snapshot, from),
            report,
        }
    }
}

fn steps(snapshot: &Snapshot) -> Vec<Answered> {
    let mut steps: Vec<Answered> = snapshot
        .acts
        .iter()
        .filter_map(|act| match &act.kind {
            ActKind::Step(step) => Some(Answered { at: act.at, act: step.clone() }),
            _ => None,
        })
        .collect();
    steps.sort_by_key(|step| step.at);
    steps
}

#[cfg(test)]
mod tests;
