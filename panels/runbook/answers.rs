//! Answers to steps: each is an act that is recorded with what the checks said at that moment.

use headwater_engine::reading::{ActKind, StepAnswer};
use headwater_engine::runbook::{Offer, culprit};
use headwater_engine::{RemoteText, Subject};

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

impl Asked {
    fn action(self) -> Action {
        match self {
            Self::Override => Action::Override,
            Self::Skip => Action::Skip,
        }
    }
}

impl RunbookPanel {
    /// Begins the runbook, or records what the checks of the step show.
    pub(super) fn confirm(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if let Some(why) = refusal(Action::Confirm, shown, view) {
            return Outcome::Refused(why);
        }
        if shown.progress.began.is_none() {
            self.looked_at = None;
            let begun = ActKind::Runbook(RemoteText::new(&shown.runbook.id));
            return Outcome::Wants(Intent::Do(Effect::Act(begun)));
        }
        // What the hint calls due is not what this key would answer here: who looks elsewhere may mean it, or not know it.
        let due = shown.progress.due.filter(|due| *due != shown.place);
        if let Some(due) = due.map(|due| &shown.runbook.steps[due])
            && let Some(act) = shown.progress.act(shown.runbook, shown.place, StepAnswer::Confirmed)
        {
            let (id, title) = (&shown.step.id, &shown.step.title);
            let found = shown.progress.found(shown.place).word();
            return Outcome::Wants(Intent::Ask(
                format!(
                    "Step {} {} is due. Confirm {id} {title} before it, as shown: {found}?",
                    due.id, due.title
                ),
                Effect::Act(act),
            ));
        }
        self.answer(StepAnswer::Confirmed, shown)
    }

    /// Asks for the words of an answer.
    pub(super) fn ask(&mut self, asked: Asked, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if let Some(why) = refusal(asked.action(), shown, view) {
            return Outcome::Refused(why);
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

    /// Takes the words that were asked for; what is refused stays asked for, because it stays typed.
    pub(super) fn answer_asked(&mut self, text: &str, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        let Some(asked) = self.asked else { return Outcome::Ignored };
        if let Some(why) = refusal(asked.action(), shown, view) {
            return Outcome::Refused(why);
        }
        self.asked = None;
        let text = RemoteText::new(text);
        let answer = match asked {
            Asked::Override => StepAnswer::Overridden(text),
            Asked::Skip => StepAnswer::Skipped(text),
        };
        self.answer(answer, shown)
    }

    /// Takes the answer back.
    pub(super) fn reopen(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        match refusal(Action::Reopen, shown, view) {
            Some(why) => Outcome::Refused(why),
            None => self.answer(StepAnswer::Reopened, shown),
        }
    }

    /// Records that the action under the cursor was taken; a second time only when that is meant.
    pub(super) fn done(&mut self, shown: &Shown<'_>, view: &View<'_>) -> Outcome {
        if let Some(why) = refusal(Action::Done, shown, view) {
            return Outcome::Refused(why);
        }
        let Some(offer) = shown.offers.get(shown.action) else { return Outcome::Ignored };
        let Some(subject) = aim(offer, view) else { return Outcome::Ignored };
        // The cursor stays: a second press asks whether it was done twice, and records nothing else.
        self.action = Some(shown.action);
        let kind = ActKind::Remedy { subject, text: RemoteText::new(&offer.text()) };
        let earlier = view.snapshot.acts.iter().rev().find(|act| act.kind == kind);
        let effect = Effect::Act(kind.clone());
        Outcome::Wants(match earlier {
            Some(earlier) => Intent::Ask(
                format!(
                    "This action was recorded at {} UTC already. Was it done once more?",
                    earlier.at.clock()
                ),
                effect,
            ),
            None => Intent::Do(effect),
        })
    }

    /// Records an answer, and goes on to the step that is due then.
    fn answer(&mut self, answer: StepAnswer, shown: &Shown<'_>) -> Outcome {
        let Some(act) = shown.progress.act(shown.runbook, shown.place, answer) else {
            return Outcome::Ignored;
        };
        self.leave_step();
        Outcome::Wants(Intent::Do(Effect::Act(act)))
    }
}

/// Whom an action is aimed at.
fn aim(offer: &Offer<'_>, view: &View<'_>) -> Option<Subject> {
    offer.culprit.clone().or_else(|| culprit(view.snapshot)).map(|culprit| culprit.subject)
}

/// Why an answer cannot be given now; the bar of keys names only those that can.
pub(super) fn refusal(action: Action, shown: &Shown<'_>, view: &View<'_>) -> Option<String> {
    let has_answer = shown.progress.answers[shown.place].is_some();
    // An answer that is outdated is given anew without taking it back.
    let is_answered = !shown.progress.is_open(shown.place);
    match action {
        Action::Reopen if !has_answer => {
            return Some("this step was not answered: there is nothing to take back".to_owned());
        }
        Action::Done if shown.offers.is_empty() => return Some("no action is offered here".to_owned()),
        _ => {}
    }
    let key = |action| view.keys.way_to(action);
    if !is_present(view) {
        let age = view.now.since(view.snapshot.at).as_secs();
        return Some(match view.snapshot.gone_back_from {
            Some(_) => format!("this is the past: return to the present first ({})", key(Action::Live)),
            None => format!("what is shown is {age} s old: go on to the present before you answer"),
        });
    }
    let is_begun = shown.progress.began.is_some();
    match action {
        Action::Done => shown
            .offers
            .get(shown.action)
            .is_none_or(|offer| aim(offer, view).is_none())
            .then(|| "nobody is accused: note it instead of an action".to_owned()),
        Action::Override | Action::Skip if !is_begun => {
            Some(format!("the runbook was not begun: {} begins it", key(Action::Confirm)))
        }
        Action::Confirm | Action::Override | Action::Skip if is_begun && is_answered => {
            Some(format!("this step was answered: {} takes that back", key(Action::Reopen)))
        }
        _ => None,
    }
}
