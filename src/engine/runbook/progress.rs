//! How far somebody has come in a runbook: told by the acts that were recorded.

use super::accused::accused;
use super::check::{CheckState, evaluate, found};
use super::{Asks, Runbook, Step};
use crate::reading::{ActKind, Found, StepAct, StepAnswer};
use crate::snapshot::Snapshot;
use crate::text::RemoteText;
use crate::time::Moment;

/// An answer in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// When it was given.
    pub at: Moment,
    /// The answer; never [`StepAnswer::Reopened`].
    pub answer: StepAnswer,
    /// What the checks came to at that moment.
    pub found: Found,
    /// What each check said then.
    pub seen: Vec<RemoteText>,
}

/// A runbook at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// When it was begun; `None` before.
    pub began: Option<Moment>,
    /// The answer to each step, in the order of the steps.
    pub answers: Vec<Option<Answer>>,
    /// How each step's checks stand now.
    pub checks: Vec<Vec<CheckState>>,
    /// The step that asks about the first suspect, where one does.
    pub accused: Option<usize>,
    /// The step that is due; `None` once the way through the runbook has reached its end.
    pub due: Option<usize>,
}

/// How a step stands in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Confirmed good.
    Done,
    /// Confirmed bad.
    Bad,
    /// Confirmed before it was bad, as it is now: the answer says nothing any more.
    Outdated,
    /// Confirmed that it is not known.
    Unknown,
    /// Answered by the operator against or without the checks.
    Overridden,
    /// Left out with a reason.
    Skipped,
    /// The step that is due.
    Now,
    /// Not answered, and its checks cannot be seen.
    Blind,
    /// Not answered.
    Open,
}

impl Standing {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Bad => "bad",
            Self::Outdated => "redo",
            Self::Overridden | Self::Unknown => "noted",
            Self::Skipped => "skip",
            Self::Now => "now",
            Self::Blind => "blind",
            Self::Open => "open",
        }
    }
}

impl Progress {
    /// How the step at this place stands.
    pub fn standing(&self, place: usize) -> Standing {
        match self.answers.get(place).and_then(Option::as_ref) {
            Some(Answer { answer: StepAnswer::Confirmed, found, .. }) => match (*found, self.found(place)) {
                (Found::Bad, _) => Standing::Bad,
                (_, Found::Bad) => Standing::Outdated,
                (Found::Unknown, _) => Standing::Unknown,
                (Found::Good, _) => Standing::Done,
            },
            Some(Answer { answer: StepAnswer::Overridden(_), .. }) => Standing::Overridden,
            Some(_) => Standing::Skipped,
            None if self.due == Some(place) && self.began.is_some() => Standing::Now,
            None if self.found(place) == Found::Unknown => Standing::Blind,
            None => Standing::Open,
        }
    }

    /// What the checks of the step at this place come to now.
    pub fn found(&self, place: usize) -> Found {
        self.checks.get(place).map_or(Found::Unknown, |states| found(states))
    }

    /// Whether the step at this place waits for an answer: it has none, or one that is outdated.
    pub fn is_open(&self, place: usize) -> bool {
        self.answers.get(place).is_some_and(Option::is_none) || self.standing(place) == Standing::Outdated
    }

    /// How many steps wait for an answer.
    pub fn open(&self) -> usize {
        (0..self.answers.len()).filter(|place| self.is_open(*place)).count()
    }

    /// Where this answer to the step at this place leads. A bad one leads where the step says, unless the search would end
    /// at a victim: who is accused first is asked about before that. All others lead to the next step that is open, and
    /// past the last one to those that have become bad since they were answered.
    pub fn leads(&self, runbook: &Runbook, place: usize, found: Found) -> Option<usize> {
        let is_open = |other: &usize| *other != place && self.is_open(*other);
        let steps = 0..runbook.steps.len();
        let said = || {
            let step = runbook.steps.get(place).filter(|_| found == Found::Bad)?;
            let said = runbook.step(step.bad_leads_to.as_deref()?)?;
            self.accused.filter(is_open).or(Some(said).filter(is_open))
        };
        let is_outdated = |other: &usize| is_open(other) && self.standing(*other) == Standing::Outdated;
        said().or_else(|| (place + 1..steps.end).find(is_open)).or_else(|| steps.clone().find(is_outdated))
    }

    /// Takes back that callers have not recovered: an action was taken since, or they have.
    fn ask_again(&mut self, runbook: &Runbook) {
        for (step, answer) in runbook.steps.iter().zip(&mut self.answers) {
            let says_no =
                |answer: &Answer| answer.answer == StepAnswer::Confirmed && answer.found == Found::Bad;
            if step.asks(Asks::Recovery) {
                *answer = answer.take_if(|answer| !says_no(answer));
            }
        }
    }

    /// The act that records an answer to the step at this place, with what its checks say now.
    pub fn act(&self, runbook: &Runbook, place: usize, answer: StepAnswer) -> Option<ActKind> {
        let step: &Step = runbook.steps.get(place)?;
        let states = self.checks.get(place).map_or(&[][..], Vec::as_slice);
        Some(ActKind::Step(StepAct {
            runbook: RemoteText::new(&runbook.id),
            step: RemoteText::new(&step.id),
            title: RemoteText::new(&step.title),
            answer,
            found: found(states),
            seen: states.iter().map(|state| RemoteText::new(&state.line())).collect(),
        }))
    }
}

/// How far a runbook has come: its latest beginning starts it anew, and the latest answer to a step counts.
pub fn progress(runbook: &Runbook, snapshot: &Snapshot) -> Progress {
    let begins = |kind: &ActKind| matches!(kind, ActKind::Runbook(id) if id.as_str() == runbook.id);
    let first = snapshot.acts.iter().rposition(|act| begins(&act.kind)).unwrap_or(0);
    let mut progress = Progress {
        began: None,
        answers: vec![None; runbook.steps.len()],
        checks: runbook
            .steps
            .iter()
            .map(|step| step.checks.iter().map(|check| evaluate(check, snapshot)).collect())
            .collect(),
        accused: accused(runbook, snapshot),
        due: None,
    };
    // The place of the last answer, and where it leads.
    let mut last = None;
    for act in &snapshot.acts[first..] {
        if begins(&act.kind) {
            progress.began = Some(act.at);
        }
        if matches!(act.kind, ActKind::Remedy { .. }) {
            progress.ask_again(runbook);
        }
        let ActKind::Step(step) = &act.kind else { continue };
        let place = runbook.step(step.step.as_str()).filter(|_| step.runbook.as_str() == runbook.id);
        let Some(place) = place else { continue };
        progress.began.get_or_insert(act.at);
        progress.answers[place] = match &step.answer {
            StepAnswer::Reopened => None,
            answer => Some(Answer {
                at: act.at,
                answer: answer.clone(),
                found: step.found,
                seen: step.seen.clone(),
            }),
        };
        last = Some(place);
    }
    // Callers are well again since somebody answered that they are not.
    if (0..runbook.steps.len())
        .any(|place| runbook.steps[place].asks(Asks::Recovery) && progress.found(place) == Found::Good)
    {
        progress.ask_again(runbook);
    }
    progress.due = due(runbook, &progress, last);
    progress
}

/// The step to which the last answer leads; one that was taken back is asked again.
fn due(runbook: &Runbook, progress: &Progress, last: Option<usize>) -> Option<usize> {
    let Some(last) = last else { return (!runbook.steps.is_empty()).then_some(0) };
    let Some(answer) = &progress.answers[last] else { return Some(last) };
    let found = if answer.answer == StepAnswer::Confirmed { answer.found } else { Found::Unknown };
    progress.leads(runbook, last, found)
}
