//! Answers to steps: each is an act that is recorded with what the checks said at that moment.

use headwater_engine::RemoteText;
use headwater_engine::reading::{ActKind, Found, StepAnswer};
use headwater_engine::runbook::{Outcome as CheckOutcome, culprit};

use super::RunbookPanel;
use super::shown::{Shown, is_present};
use crate::action::Action;
use crate::panel::{Effect, Intent, Outcome, View};

/// What a line of text is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A note that answers the step.
    Override,
    /// A reason why it is left out.
    Skip,
}

impl RunbookPanel {
    /// Begins the runbook, or records what the checks of the step show.
    pub(super) fn confirm(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if let Some(refused) = refused(shown, view, shown.progress.began.is_some()) {
            return refused;
        }
        if shown.progress.began.is_none() {
            self.looked_at = None;
            let begun = ActKind::Runbook(RemoteText::new(&shown.runbook.id));
            return Outcome::Wants(Intent::Do(Effect::Act(begun)));
        }
        if shown.progress.found(shown.place) == Found::Unknown {
            let keys = [Action::Override, Action::Skip].map(|action| view.keys.key_of(action));
            let missing = shown.progress.checks[shown.place]
                .iter()
                .find(|state| state.outcome == CheckOutcome::Unknown)
                .map_or("nothing is checked here", |state| state.told.as_str());
            return Outcome::Refused(format!(
                "it cannot be confirmed on what is not seen: {missing}; {}: answer with a note, {}: skip",
                keys[0], keys[1]
            ));
        }
        self.answer(StepAnswer::Confirmed, shown)
    }

    /// Asks for the words of an answer.
    pub(super) fn ask(&mut self, asked: Asked, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if let Some(refused) = refused(shown, view, true) {
            return refused;
        }
        self.asked = Some(asked);
        let step = format!("{} {}", shown.step.id, shown.step.title);
        Outcome::Wants(Intent::AskText(match asked {
            Asked::Override => {
                format!("{step}: what do you know that the checks do not? It stands in the report.")
            }
            Asked::Skip => format!("{step}: why is it left out? The reason stands in the report."),
        }))
    }

    /// Takes the words that were asked for.
    pub(super) fn answer_asked(&mut self, text: &str, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        let Some(asked) = self.asked.take() else { return Outcome::Ignored };
        if let Some(refused) = refused(shown, view, true) {
            return refused;
        }
        let text = RemoteText::new(text);
        let answer = match asked {
            Asked::Override => StepAnswer::Overridden(text),
            Asked::Skip => StepAnswer::Skipped(text),
        };
        self.answer(answer, shown)
    }

    /// Takes the answer back.
    pub(super) fn reopen(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if shown.progress.answers[shown.place].is_none() {
            return Outcome::Refused("this step was not answered: there is nothing to take back".to_owned());
        }
        if let Some(refused) = refused(shown, view, false) {
            return refused;
        }
        self.answer(StepAnswer::Reopened, shown)
    }

    /// Records that the action under the cursor was taken.
    pub(super) fn done(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        let Some(offer) = shown.offers.get(shown.action) else {
            return Outcome::Refused("no action is offered here".to_owned());
        };
        if let Some(refused) = refused(shown, view, false) {
            return refused;
        }
        let Some(culprit) = offer.culprit.clone().or_else(|| culprit(view.snapshot)) else {
            return Outcome::Refused("nobody is accused: note it instead of an action".to_owned());
        };
        let text = RemoteText::new(&offer.text());
        Outcome::Wants(Intent::Do(Effect::Act(ActKind::Remedy { subject: culprit.subject, text })))
    }

    /// Records an answer, and goes on to the step that is due then.
    fn answer(&mut self, answer: StepAnswer, shown: &Shown<'_>) -> Outcome {
        let Some(act) = shown.progress.act(shown.runbook, shown.place, answer) else {
            return Outcome::Ignored;
        };
        self.looked_at = None;
        self.action = 0;
        Outcome::Wants(Intent::Do(Effect::Act(act)))
    }
}

/// Why nothing can be answered now; `open` asks for a runbook that was begun and a step that was not answered.
fn refused(shown: &Shown<'_>, view: &View<'_>, open: bool) -> Option<Outcome> {
    if !is_present(view) {
        let live = view.keys.key_of(Action::Live);
        let age = view.now.since(view.snapshot.at).as_secs();
        return Some(Outcome::Refused(match view.snapshot.gone_back_from {
            Some(_) => format!("this is the past: return to the present first ({live})"),
            None => format!("what is shown is {age} s old: go on to the present before you answer"),
        }));
    }
    if open && shown.progress.began.is_none() {
        let key = view.keys.key_of(Action::Confirm);
        return Some(Outcome::Refused(format!("the runbook was not begun: {key} begins it")));
    }
    if open && shown.progress.answers[shown.place].is_some() {
        let key = view.keys.key_of(Action::Reopen);
        return Some(Outcome::Refused(format!("this step was answered: {key} takes that back")));
    }
    None
}
