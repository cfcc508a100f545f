//! The first row: which runbook, and the clock of the golden five minutes.

use headwater_engine::reading::Found;
use headwater_engine::runbook::{Clock, Fit, Runbook, fit, ranked};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::shown::Shown;
use crate::action::Action;
use crate::panel::View;
use crate::title;

/// Draws the title of the runbook with the clock, or with another runbook that fits better.
pub(super) fn draw(shown: &Shown<'_>, view: &View<'_>, row: Rect, buffer: &mut Buffer) {
    let title = &shown.runbook.title;
    let room = title::room_beside(title, row.width);
    let said = match shown.clock(view) {
        Some(clock) => {
            let time = time(&clock, shown, view);
            vec![long(&clock, &time), short(&clock, &time)]
        }
        None => others(shown, view),
    };
    let aside = said.into_iter().find(|text| Span::raw(text).width() <= room).unwrap_or_default();
    title::draw(title, &aside, view.palette, row, buffer);
}

/// `3:12 left  o scope o metric . component . test . stop`.
fn long(clock: &Clock, time: &str) -> String {
    let pieces = clock.pieces.iter().map(|(piece, done)| {
        let glyph = if done.is_some() { "o" } else { "." };
        format!("{glyph} {}", piece.word())
    });
    format!("{time}  {}", pieces.collect::<Vec<_>>().join(" "))
}

/// `3:12 left, 2 of 5 done`.
fn short(clock: &Clock, time: &str) -> String {
    let done = clock.pieces.iter().filter(|(_, done)| done.is_some()).count();
    format!("{time}, {done} of {} done", clock.pieces.len())
}

/// What is left, how long it took, or that it is over: said once and without alarm. Nothing took so long while callers suffer.
fn time(clock: &Clock, shown: &Shown<'_>, view: &View<'_>) -> String {
    let minutes = |span: std::time::Duration| format!("{}:{:02}", span.as_secs() / 60, span.as_secs() % 60);
    let took = clock.pieces.iter().filter_map(|(_, done)| *done).max();
    match (clock.left, took) {
        (_, Some(_)) if clock.is_done() && shown.recovery() == Some(Found::Bad) => {
            format!("not over after {}", minutes(view.snapshot.at.since(clock.began)))
        }
        (_, Some(took)) if clock.is_done() => format!("all in {}", minutes(took)),
        (Some(left), _) => format!("{} left", minutes(left)),
        (None, _) => "5:00 over".to_owned(),
    }
}

/// Other runbooks that what fires calls for.
fn others(shown: &Shown<'_>, view: &View<'_>) -> Vec<String> {
    // One that is for the first suspect, or for what fires while nobody is suspected, and that says more than this one.
    let here = fit(shown.runbook, view.snapshot);
    let is_better = |runbook: &&Runbook| {
        let fit = fit(runbook, view.snapshot);
        runbook.id != shown.runbook.id && fit <= here && matches!(fit, Fit::Accused | Fit::Fires)
    };
    let fit: Vec<&str> = ranked(&view.library.runbooks, view.snapshot)
        .into_iter()
        .filter(is_better)
        .map(|runbook| runbook.title.as_str())
        .collect();
    let Some(first) = fit.first() else { return vec!["not begun".to_owned()] };
    let key = view.keys.way_to(Action::ChooseRunbook);
    vec![format!("{key}: '{first}' fits too"), format!("{key}: {} fit", fit.len())]
}
