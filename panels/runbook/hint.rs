//! Which key to press next, said at every moment, so that a newcomer never has to guess.

use headwater_engine::reading::Found;
use headwater_engine::report::Suspect;
use headwater_engine::runbook::{Asks, Standing};
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use super::shown::{Shown, is_present};
use crate::action::Action;
use crate::big_key_scan::{progress_words, scan_of};
use crate::palette::ColorRole;
use crate::panel::View;

/// The rule that a scan for big keys can answer.
const BIG_KEY: &str = "big-key";

/// Draws the hint in one row.
pub(super) fn draw(shown: &Shown<'_>, view: &View<'_>, row: Rect, buffer: &mut Buffer) {
    if row.is_empty() {
        return;
    }
    let text = next(shown, view);
    let (start, role) = ("next: ", view.palette.style(ColorRole::Label));
    buffer.set_stringn(row.x, row.y, start, row.width.into(), role);
    let taken = (Span::raw(start).width() as u16).min(row.width);
    let place = Rect { x: row.x + taken, width: row.width - taken, ..row };
    let told = Hanging::new("", 0, &text)
        .text_style(view.palette.style(ColorRole::Heading))
        .glyphs(view.palette.glyphs);
    told.render(place, buffer);
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
        let back = key(Action::Left);
        let open = match shown.progress.open() {
            0 => String::new(),
            1 => format!("; 1 step is left open: {back} leads back to it"),
            count => format!("; {count} steps are left open: {back} leads back to them"),
        };
        return format!("{}{open}", press(Action::Export, "write the report"));
    }
    let asks = |asks| shown.step.checks.iter().any(|check| check.asks == Some(asks));
    match shown.progress.found(shown.place) {
        Found::Bad if asks(Asks::Action) => match shown.offers.get(shown.action) {
            Some(_) => {
                let number = shown.action + 1;
                press(
                    Action::Done,
                    &format!("record that you did action {number}; Headwater does nothing itself"),
                )
            }
            None => press(Action::Override, "note what you did: no action is offered"),
        },
        Found::Bad if asks(Asks::Recovery) => press(Action::Confirm, "confirm: not yet; or wait until it is"),
        // Bad, and yet which key it is can still be found out.
        Found::Bad => scan_first(shown, view).unwrap_or_else(|| {
            press(Action::Confirm, &format!("confirm what is shown: bad{}", leads(shown)))
        }),
        Found::Good => press(Action::Confirm, "confirm what is shown: good"),
        Found::Unknown => not_seen(shown, view),
    }
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
    let shard = shard_to_scan(shown, view.snapshot).filter(|_| !view.is_replay)?;
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

/// The shard on which a scan for big keys would tell this step more, or tells it already.
pub(super) fn shard_to_scan(shown: &Shown<'_>, snapshot: &Snapshot) -> Option<Subject> {
    let is_asked = shown.step.checks.iter().any(|check| check.rules.iter().any(|rule| rule == BIG_KEY));
    if !is_asked {
        return None;
    }
    let suspected = |suspect: &&Suspect| suspect.subject.shard_index().is_some() && suspect.goes_on();
    let suspect = snapshot.report.suspects.iter().find(suspected).map(|suspect| suspect.subject.clone());
    let wanted = &snapshot.scans_wanted;
    suspect
        .filter(|shard| wanted.contains(shard) || scan_of(snapshot, shard).is_some())
        .or(wanted.first().cloned())
}
