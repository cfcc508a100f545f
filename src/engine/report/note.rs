//! What the operator marked and noted, as it stands in a report that is written.

use serde::{Deserialize, Serialize};

use crate::reading::{ActKind, OperatorAct, StepAct};
use crate::text::RemoteText;
use crate::time::Moment;

/// What the operator marked or noted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: Moment,
    /// Whether it is a mark or a note.
    pub kind: NoteKind,
    /// What was written; empty for a mark without words.
    pub text: String,
}

/// The sorts of [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A mark on the time axis.
    Mark,
    /// A note for the write-up.
    Note,
    /// The opening of a runbook.
    Runbook,
    /// A step of a runbook, with its answer.
    Step,
    /// An action that the operator took.
    Remedy,
    /// A scan for big keys or a search for hot keys that the operator allowed.
    Scan,
}

impl Note {
    /// What an act left behind.
    pub fn of(act: &OperatorAct) -> Self {
        let (kind, text) = match &act.kind {
            ActKind::Mark(text) => (NoteKind::Mark, text.as_str().to_owned()),
            ActKind::Note(text) => (NoteKind::Note, text.as_str().to_owned()),
            ActKind::Runbook(id) => (NoteKind::Runbook, id.as_str().to_owned()),
            ActKind::Step(step) => (NoteKind::Step, told(step)),
            ActKind::Remedy { subject, text } => (NoteKind::Remedy, format!("{subject}: {text}")),
            ActKind::Scan(shard) => {
                (NoteKind::Scan, format!("big keys were looked for on {shard}: reads only"))
            }
            ActKind::Search { shard, method } => {
                let row = method.row();
                (NoteKind::Scan, format!("hot keys were looked for on {shard} by {}: {}", row.name, row.cost))
            }
        };
        Self { at: act.at, kind, text }
    }
}

/// A step's answer in one line: `2.1 shard by shard: confirmed bad (what was seen)`.
fn told(step: &StepAct) -> String {
    let seen: Vec<&str> = step.seen.iter().map(RemoteText::as_str).collect();
    let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join("; ")) };
    format!("{}{seen}", answered(step))
}

/// The same without what was seen: `2.1 shard by shard: confirmed bad`.
pub(crate) fn answered(step: &StepAct) -> String {
    format!("{} {}: {}", step.step, step.title, step.answer_words())
}
