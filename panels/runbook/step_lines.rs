//! A step in lines: the question, how its checks stand, what follows, what can be done.

use std::ops::Range;

use headwater_engine::Subject;
use headwater_engine::reading::{Found, StepAnswer};
use headwater_engine::runbook::{Offer, Outcome, Places, Standing, culprit};

use super::shown::Shown;
use crate::action::Action;
use crate::lines::{Line, Weight};
use crate::palette::ColorRole;
use crate::panel::View;

/// The lines of a step, and which of them are about the action under the cursor.
pub(super) struct Told {
    pub(super) lines: Vec<Line>,
    pub(super) marked: Range<usize>,
}

/// Everything that is said of a step; more where explanations are open.
pub(super) fn of(shown: &Shown<'_>, view: &View<'_>) -> Told {
    let step = shown.step;
    let places = Places::of(culprit(view.snapshot));
    let said = |label: &str, text: &str| Line::new(Weight::Core, label, places.fill(text));
    let mut lines = vec![said("", &step.question).text_colored(ColorRole::Heading)];
    if shown.is_explained {
        lines.push(said("why", &step.why));
    }
    // What is wrong is read first, also where not all has room.
    let mut states: Vec<_> = shown.progress.checks[shown.place].iter().collect();
    states.sort_by_key(|state| state.outcome);
    for state in states {
        let (label, role) = match state.outcome {
            Outcome::Passed => ("o good", ColorRole::Innocent),
            Outcome::Failed => ("X bad", ColorRole::Guilty),
            Outcome::Unknown => ("? unknown", ColorRole::Unknown),
        };
        lines.push(Line::new(Weight::Core, label, state.line()).colored(role));
    }
    lines.extend(answered(shown, view));
    let mut marked = lines.len()..lines.len();
    let accused = culprit(view.snapshot).map(|culprit| culprit.subject);
    for (place, offer) in shown.offers.iter().enumerate() {
        let start = lines.len();
        lines.extend(action(place, offer, accused.as_ref(), place == shown.action));
        if place == shown.action {
            marked = start..lines.len();
        }
    }
    if shown.offers.is_empty() && !step.remedies.is_empty() {
        lines.push(said("do", "no action is offered: none of them helps against what fires now"));
    }
    lines.push(said("good is", &step.good));
    let found = shown.progress.found(shown.place);
    if shown.is_explained || found == Found::Bad {
        lines.push(said("if bad", &step.if_bad));
    }
    if shown.is_explained || found == Found::Good {
        lines.push(said("if good", &step.if_good));
    }
    for (place, avoid) in step.avoid.iter().enumerate() {
        let label = if place == 0 { "avoid" } else { "" };
        lines.push(said(label, avoid).colored(ColorRole::Suspect));
    }
    if shown.is_explained {
        let text = "to confirm says that you have seen what the checks show, good or bad; it is recorded with its \
                    time and its numbers";
        lines.push(said("confirm", text).text_colored(ColorRole::Faint));
    }
    Told { lines, marked }
}

/// The answer in force.
fn answered(shown: &Shown<'_>, view: &View<'_>) -> Option<Line> {
    let answer = shown.progress.answers[shown.place].as_ref()?;
    let text = match &answer.answer {
        StepAnswer::Confirmed if shown.progress.standing(shown.place) == Standing::Outdated => {
            let key = view.keys.way_to(Action::Confirm);
            format!("{}; it is bad now: {key} answers anew", told_before(answer.found))
        }
        StepAnswer::Confirmed => told_before(answer.found),
        StepAnswer::Overridden(why) => format!("answered by you: {why}"),
        StepAnswer::Skipped(why) => format!("skipped: {why}"),
        StepAnswer::Reopened => return None,
    };
    let line = Line::new(Weight::Core, "answered", format!("{} UTC {text}", answer.at.clock()));
    Some(line.text_colored(ColorRole::Heading))
}

/// What was confirmed, in words.
fn told_before(found: Found) -> String {
    match found {
        Found::Unknown => "left unknown".to_owned(),
        found => format!("confirmed {}", found.word()),
    }
}

/// An action; the one under the cursor with everything that must be known before it is taken.
fn action(place: usize, offer: &Offer<'_>, accused: Option<&Subject>, is_marked: bool) -> Vec<Line> {
    let remedy = offer.remedy;
    let mark = if is_marked { ">" } else { " " };
    let whom = offer.culprit.as_ref().map(|culprit| &culprit.subject).filter(|whom| Some(*whom) != accused);
    let back = if remedy.reversible { "can be taken back" } else { "cannot be taken back in a hurry" };
    let done = offer.done.map(|at| format!("done at {} UTC", at.clock()));
    let aside: Vec<String> =
        [whom.map(|whom| format!("for {whom}")), done, Some(back.to_owned())].into_iter().flatten().collect();
    let role = if is_marked { ColorRole::Heading } else { ColorRole::Text };
    let head = Line::new(
        Weight::Core,
        &format!("{mark} do {}", place + 1),
        format!("{} ({})", offer.text(), aside.join(", ")),
    );
    let mut lines = vec![head.text_colored(role)];
    if !is_marked {
        return lines;
    }
    let filled = |text: &str| offer.places.fill(text);
    let mut say = |label: &str, text: String| lines.push(Line::new(Weight::Core, label, text));
    if let Some(gate) = &remedy.gate {
        say("  only if", filled(gate));
    }
    say("  effect", filled(&remedy.effect));
    say("  risk", filled(&remedy.risk));
    say("  undo", filled(&remedy.undo));
    match offer.command() {
        Some(Ok(command)) => say("  command", command),
        Some(Err(missing)) => say("  command", format!("not complete: it needs {missing}")),
        None => {}
    }
    lines
}
