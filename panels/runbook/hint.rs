//! Which key to press next, said at every moment, so that a newcomer never has to guess.

use headwater_engine::reading::Found;
use headwater_engine::report::Suspect;
use headwater_engine::runbook::{Asks, Standing, offers};
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::shown::{Shown, is_present, untaken};
use crate::action::Action;
use crate::big_key_scan::{progress_words, scan_of};
use crate::palette::ColorRole;
use crate::panel::View;

/// The rule that a scan for big keys can answer.
const BIG_KEY: &str = "big-key";

/// What every hint begins with.
const START: &str = "next: ";

/// Rows that a hint may take where there is room: nobody should have to guess how it ends.
const MOST_ROWS: u16 = 2;

/// From this height on a hint has more rows than one.
const WITH_ROWS: u16 = 10;

/// How many rows the hint needs in this area.
pub(super) fn rows(shown: &Shown<'_>, view: &View<'_>, area: Rect) -> u16 {
    let text = next(shown, view);
    let needed = told(&text, view).height(area.width.saturating_sub(START.len() as u16));
    if area.height < WITH_ROWS { 1 } else { needed.clamp(1, MOST_ROWS) }
}

/// Draws the hint.
pub(super) fn draw(shown: &Shown<'_>, view: &View<'_>, row: Rect, buffer: &mut Buffer) {
    if row.is_empty() {
        return;
    }
    let text = next(shown, view);
    buffer.set_stringn(row.x, row.y, START, row.width.into(), view.palette.style(ColorRole::Label));
    let taken = (START.len() as u16).min(row.width);
    told(&text, view).render(Rect { x: row.x + taken, width: row.width - taken, ..row }, buffer);
}

/// A hint as it is drawn beside its beginning.
fn told<'a>(text: &'a str, view: &View<'_>) -> Hanging<'a> {
    Hanging::new("", 0, text).text_style(view.palette.style(ColorRole::Heading)).glyphs(view.palette.glyphs)
}

/// The next key with what it does, or what is waited for.
fn next(shown: &Shown<'_>, view: &View<'_>) -> String {
    let key = |action| view.keys.way_to(action);
    let press = |action, what: &str| format!("press {} to {what}", key(action));
    let snapshot = view.snapshot;
    if !is_present(view) {
        return match snapshot.gone_back_from {
            Some(_) => press(Action::Live, "return to the present"),
            None => press(Action::Freeze, "let the screen go on: what is shown is old"),
        };
    }
    if shown.progress.began.is_none() {
        return press(Action::Confirm, "begin: the clock of the golden five minutes starts");
    }
    if let Some(due) = shown.progress.due.filter(|due| *due != shown.place) {
        let action = if due > shown.place { Action::Right } else { Action::Left };
        let id = &shown.runbook.steps[due].id;
        let why = match shown.progress.standing(due) {
            Standing::Outdated => "has become bad",
            _ => "is due",
        };
        return press(action, &format!("go on to step {id}, which {why}"));
    }
    if shown.progress.due.is_none() && !shown.progress.is_open(shown.place) {
        return at_the_end(shown, view);
    }
    let asks = |asks| shown.step.asks(asks);
    match shown.progress.found(shown.place) {
        Found::Bad if asks(Asks::Action) => match shown.offers.get(shown.action) {
            Some(_) => record(shown, view),
            None => press(Action::Override, "note what you did: no action is offered"),
        },
        Found::Bad if asks(Asks::Recovery) => {
            let then = match next_action(shown, view) {
                Some((stop, action)) => {
                    format!("; then step {}, action {}", shown.runbook.steps[stop].id, action + 1)
                }
                None => String::new(),
            };
            format!("wait a minute, or {}", press(Action::Confirm, &format!("confirm: not yet{then}")))
        }
        // Bad, and yet which key it is can still be found out.
        Found::Bad => scan_first(shown, view).unwrap_or_else(|| {
            press(Action::Confirm, &format!("confirm what is shown: bad{}", leads(shown)))
        }),
        Found::Good => press(Action::Confirm, "confirm what is shown: good"),
        Found::Unknown => not_seen(shown, view),
    }
}

/// The key that records the action under the cursor.
fn record(shown: &Shown<'_>, view: &View<'_>) -> String {
    let key = view.keys.way_to(Action::Done);
    format!("press {key} to record that you did action {}; Headwater does nothing itself", shown.action + 1)
}

/// What is left to do where every step on the way has its answer. While callers suffer that is the next action; else the
/// report.
fn at_the_end(shown: &Shown<'_>, view: &View<'_>) -> String {
    let key = |action| view.keys.way_to(action);
    if let Some((stop, action)) = next_action(shown, view) {
        if stop != shown.place {
            let step = &shown.runbook.steps[stop].id;
            let way = way(shown, view, stop);
            return format!("it is not over: press {way} for step {step}, and take action {}", action + 1);
        }
        // The cursor may stand on one that was taken.
        return match shown.offers.get(shown.action).is_some_and(|offer| offer.done.is_none()) {
            true => record(shown, view),
            false => format!("press {} for the next action: it is not over", key(Action::Down)),
        };
    }
    if let Some(told) = &shown.written {
        return format!("press {} to leave; the report is {told}", key(Action::Quit));
    }
    let is_over = if shown.recovery() == Some(Found::Bad) { "; no action is left" } else { "" };
    let open: Vec<usize> =
        (0..shown.runbook.steps.len()).filter(|place| shown.progress.is_open(*place)).collect();
    let open = match open.first() {
        None => String::new(),
        Some(first) => {
            let (id, way) = (&shown.runbook.steps[*first].id, way(shown, view, *first));
            let others = if open.len() > 1 { format!(", {} more", open.len() - 1) } else { String::new() };
            format!("; step {id} is left open ({way}){others}")
        }
    };
    format!("press {} to write the report{is_over}{open}", key(Action::Export))
}

/// The key that leads to another step, and how often: `left 3 times`.
fn way(shown: &Shown<'_>, view: &View<'_>, place: usize) -> String {
    let action = if place > shown.place { Action::Right } else { Action::Left };
    let (key, steps) = (view.keys.way_to(action), place.abs_diff(shown.place));
    if steps == 1 { key } else { format!("{key} {steps} times") }
}

/// The step in which actions are taken and the first of its actions that was not, while callers are seen to suffer.
fn next_action(shown: &Shown<'_>, view: &View<'_>) -> Option<(usize, usize)> {
    if shown.recovery() != Some(Found::Bad) {
        return None;
    }
    let stop = shown.runbook.steps.iter().position(|step| step.asks(Asks::Action))?;
    let offers = offers(&shown.runbook.steps[stop], &view.library.remedies, view.snapshot);
    Some((stop, untaken(&offers)?))
}

/// Where a bad answer leads, and why there where the step itself says something else.
fn leads(shown: &Shown<'_>) -> String {
    let Some(place) = shown.progress.leads(shown.runbook, shown.place, Found::Bad) else {
        return String::new();
    };
    let step = &shown.runbook.steps[place];
    let is_said = shown.step.bad_leads_to.as_ref().is_none_or(|id| *id == step.id);
    // In the cells of a small terminal.
    match shown.progress.accused == Some(place) && !is_said {
        true => format!("; then step {}, {}: accused first", step.id, step.title),
        false => format!("; then step {}", step.id),
    }
}

/// The scan that would tell this step more, while it is to be asked for or runs.
fn scan_first(shown: &Shown<'_>, view: &View<'_>) -> Option<String> {
    let is_asked = shown.step.checks.iter().any(|check| check.rules.iter().any(|rule| rule == BIG_KEY));
    let shard = shard_to_scan(view.snapshot).filter(|_| is_asked && !view.is_replay)?;
    match scan_of(view.snapshot, &shard).filter(|scan| !scan.state.has_ended()) {
        Some(scan) => Some(format!("wait for the scan of {shard}: {}", progress_words(scan))),
        None if shown.is_scan_awaited => Some(format!("wait for the scan of {shard} to begin")),
        None if view.snapshot.scans_wanted.contains(&shard) => {
            let key = view.keys.way_to(Action::Scan);
            Some(format!("press {key} to look for big keys on {shard}: it asks first"))
        }
        None => None,
    }
}

/// What makes an unknown check known, else how to answer without it.
fn not_seen(shown: &Shown<'_>, view: &View<'_>) -> String {
    if let Some(hint) = scan_first(shown, view) {
        return hint;
    }
    let key = |action| view.keys.way_to(action);
    format!(
        "press {} to leave it unknown and go on, or {} to answer with a note",
        key(Action::Confirm),
        key(Action::Override)
    )
}

/// The shard on which a scan for big keys would tell more, or tells it already: the accused one first.
pub(super) fn shard_to_scan(snapshot: &Snapshot) -> Option<Subject> {
    let suspected = |suspect: &&Suspect| suspect.subject.shard_index().is_some() && suspect.goes_on();
    let suspect = snapshot.report.suspects.iter().find(suspected).map(|suspect| suspect.subject.clone());
    let wanted = &snapshot.scans_wanted;
    suspect
        .filter(|shard| wanted.contains(shard) || scan_of(snapshot, shard).is_some())
        .or(wanted.first().cloned())
}
