//! What the operator marked, noted, answered and did.

use crate::reading::{ActKind, OperatorAct};
use crate::report::{Note, NoteKind, Report, answered};
use crate::text::RemoteText;

/// What the operator marked and noted, one a line: `14:07:05 UTC note: cache off`.
pub fn notes(report: &Report) -> impl Iterator<Item = String> {
    report.notes.iter().map(note)
}

/// The same with each answer to a step apart from what was seen at it, a check each.
pub fn notes_with_checks(acts: &[OperatorAct]) -> Vec<(String, Vec<&str>)> {
    let mut acts: Vec<&OperatorAct> = acts.iter().collect();
    acts.sort_by_key(|act| act.at);
    acts.iter()
        .map(|act| match &act.kind {
            ActKind::Step(step) => {
                let seen = step.seen.iter().map(RemoteText::as_str).collect();
                (note(&Note { text: answered(step), ..Note::of(act) }), seen)
            }
            _ => (note(&Note::of(act)), vec![]),
        })
        .collect()
}

fn note(note: &Note) -> String {
    let kind = match note.kind {
        NoteKind::Mark => "mark",
        NoteKind::Note => "note",
        NoteKind::Runbook => "runbook",
        NoteKind::Step => "step",
        NoteKind::Remedy => "done",
        NoteKind::Scan => "scan",
    };
    let text = if note.text.is_empty() { String::new() } else { format!(": {}", note.text) };
    format!("{} UTC {kind}{text}", note.at.clock())
}
