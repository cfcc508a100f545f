//! How it went: verdicts as they changed, changes, marks, notes and steps on one line of time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::reading::{ActKind, Change};
use crate::report::{Note, NoteKind, Report, Symptom, answered};
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::time::Moment;
use crate::wording::{headline, verdict_word};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// When.
    pub at: Moment,
    /// What sort of thing.
    pub kind: ToldKind,
    /// What, in one line.
    pub text: String,
}

/// The sorts of [`Told`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldKind {
    /// People changed something.
    Change,
    /// Callers began to suffer.
    Symptom,
    /// The verdict became another.
    Verdict,
    /// A runbook was opened.
    Runbook,
    /// A step was answered.
    Step,
    /// The operator acted.
    Remedy,
    /// A scan was allowed.
    Scan,
    /// A note was written.
    Note,
    /// A moment was marked.
    Mark,
}

impl ToldKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Symptom => "symptom",
            Self::Verdict => "verdict",
            Self::Runbook => "runbook",
            Self::Step => "step",
            Self::Remedy => "done",
            Self::Scan => "scan",
            Self::Note => "note",
            Self::Mark => "mark",
        }
    }
}

impl From<NoteKind> for ToldKind {
    fn from(kind: NoteKind) -> Self {
        match kind {
            NoteKind::Mark => Self::Mark,
            NoteKind::Note => Self::Note,
            NoteKind::Runbook => Self::Runbook,
            NoteKind::Step => Self::Step,
            NoteKind::Remedy => Self::Remedy,
            NoteKind::Scan => Self::Scan,
        }
    }
}

/// Everything from a moment on, in the order of time; changes may lie before it.
pub(super) fn of<'a>(
    snapshot: &Snapshot,
    from: Moment,
    changes: impl Iterator<Item = &'a Change>,
) -> Vec<Told> {
    let mut story = verdicts(snapshot, from);
    story.extend(snapshot.report.symptom.as_ref().map(|symptom| onset(snapshot, symptom)));
    story.extend(changes.map(|change| {
        let component = change.component.as_ref().map(|of| format!("{of}: ")).unwrap_or_default();
        Told { at: change.at, kind: ToldKind::Change, text: format!("{component}{}", change.title) }
    }));
    story.extend(snapshot.acts.iter().map(|act| {
        let Note { at, kind, text } = Note::of(act);
        // What was seen at a step stands with the steps.
        let text = if let ActKind::Step(step) = &act.kind { answered(step) } else { text };
        Told { at, kind: kind.into(), text }
    }));
    story.sort_by_key(|told| (told.at, told.kind));
    story
}

/// The begin of the symptom, with what was said of it then: its present number is another one.
fn onset(snapshot: &Snapshot, symptom: &Symptom) -> Told {
    let at = symptom.since.at;
    let then = snapshot.timeline.frames().find(|frame| frame.at >= at).and_then(|frame| {
        let said = frame.report.symptom.as_ref().filter(|said| said.subject == symptom.subject);
        said.filter(|_| frame.at.since(at) <= SAID_WITHIN)
    });
    let text = match then {
        Some(said) => format!("{}: {}", said.subject, said.sentence),
        None => format!("{} began to suffer", symptom.subject),
    };
    Told { at, kind: ToldKind::Symptom, text }
}

/// What was said so soon after something began is said of its begin: it is said only once it has lasted.
const SAID_WITHIN: Duration = Duration::from_secs(15);

/// What was said when it became something else than before.
fn verdicts(snapshot: &Snapshot, from: Moment) -> Vec<Told> {
    let frames = snapshot.timeline.frames().filter(|frame| frame.at >= from && frame.at <= snapshot.at);
    let mut told: Vec<Told> = vec![];
    for (at, text) in frames.map(|frame| (frame.at, said(&frame.report))) {
        if told.last().is_none_or(|last| last.text != text) {
            told.push(Told { at, kind: ToldKind::Verdict, text });
        }
    }
    told
}

/// What a report comes to: its headline and whom it names first.
fn said(report: &Report) -> String {
    let ended = if report.ended().is_some() { ", over" } else { "" };
    let first = report.suspects.first().map(|first| {
        let named = |subject: &Subject| subject.as_str().to_owned();
        format!(": {} {} by {}", verdict_word(first.verdict), named(&first.subject), first.rule)
    });
    format!("{}{ended}{}", headline(report.conclusion), first.unwrap_or_default())
}
