//! What the operator marked and noted, as it stands in a report that is written.

use serde::{Deserialize, Serialize};

use crate::reading::{ActKind, OperatorAct};
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
}

impl Note {
    /// What an act left behind.
    pub fn of(act: &OperatorAct) -> Self {
        let (kind, text) = match &act.kind {
            ActKind::Mark(text) => (NoteKind::Mark, text),
            ActKind::Note(text) => (NoteKind::Note, text),
        };
        Self { at: act.at, kind, text: text.as_str().to_owned() }
    }
}
