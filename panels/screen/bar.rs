//! The last row: what can be pressed, what became of the last key, and the filter in force.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use super::{Feed, Screen, Shown};
use crate::action::Action;
use crate::keys::{Command, Keymap};
use crate::palette::ColorRole;
use crate::panel::PANELS;

/// Below this height there is no bar, unless it has something to say.
const LEAST_HEIGHT: u16 = 4;

/// The actions that always stand in the bar, at its end.
const ALWAYS: &[Action] = &[Action::Help, Action::Quit];

/// What stands in the bar after the panel's own actions, the most useful first.
const USUAL: &[Action] =
    &[Action::Freeze, Action::Earlier, Action::CommandLine, Action::Copy, Action::Mark, Action::Note];

/// What a table adds, a replay, and a screen that was gone back with.
const OF_TABLES: &[Action] = &[Action::Open, Action::Filter, Action::Sort];
const OF_REPLAYS: &[Action] = &[Action::Freeze, Action::Step, Action::Faster, Action::Slower];
const OF_THE_PAST: &[Action] = &[Action::Earlier, Action::Later, Action::Live];

/// Rows that a long message may take.
const MOST_OF_MESSAGE: u16 = 3;

/// Cells between two keys.
const GAP: u16 = 2;

/// What a newcomer can press first: `press 3 for the shards, 0 to be led, ? for help, q to leave`.
pub fn first_keys(keys: &Keymap) -> String {
    let panel = |name| PANELS.iter().position(|row| row.name == name).map(Command::Show);
    let parts = [
        (panel("shards"), "for the shards"),
        (panel("runbook"), "to be led"),
        (Some(Command::Act(Action::Help)), "for help"),
        (Some(Command::Act(Action::Quit)), "to leave"),
    ];
    let known = parts.into_iter().filter_map(|(command, what)| {
        let key = keys.label(command?);
        (!key.is_empty()).then(|| format!("{key} {what}"))
    });
    format!("press {}", known.collect::<Vec<_>>().join(", "))
}

/// What became of the last key, or what can be pressed first.
fn message(screen: &Screen) -> Option<(&str, ColorRole)> {
    match (&screen.notice, &screen.hint) {
        (Some(notice), _) => {
            Some((&notice.text, if notice.is_error { ColorRole::Error } else { ColorRole::Heading }))
        }
        (None, hint) => hint.as_ref().map(|hint| (hint.as_str(), ColorRole::Heading)),
    }
}

/// How many rows the bar has at the bottom of an area, on a screen of this height.
pub(super) fn rows(screen: &Screen, height: u16, area: Rect) -> u16 {
    let says = message(screen).is_some() || screen.panels[screen.active].filter().is_some();
    let least = if says { 2 } else { LEAST_HEIGHT };
    u16::from(height >= least && area.height >= 2)
}

/// Draws the bar at the bottom of an area. A message that is longer than the row goes on over the rows above it, for
/// it stands until the next key only.
pub(super) fn draw(screen: &Screen, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
    let row = Rect { y: area.bottom() - 1, height: 1, ..area };
    let mut left = row;
    if let Some(filter) = screen.panels[screen.active].filter() {
        let clear = shown.keys.key_of(Action::Back);
        left.width -= draw_filter(filter.as_str(), &clear, shown, row, buffer);
    }
    let Some((text, role)) = message(screen) else {
        return draw_keys(&keys(screen, shown), shown, left, buffer);
    };
    let part = Hanging::new("", 0, text).text_style(shown.palette.style(role)).glyphs(shown.palette.glyphs);
    let rows = part.height(left.width).min(MOST_OF_MESSAGE).min(area.height / 2).max(1);
    for y in area.bottom() - rows..row.y {
        for x in area.left()..area.right() {
            buffer[(x, y)].reset();
            buffer[(x, y)].set_style(shown.palette.ground);
        }
    }
    part.render(Rect { y: area.bottom() - rows, height: rows, ..left }, buffer);
}

/// The filter at the right end, with the key that clears it; returns the cells it took.
fn draw_filter(text: &str, clear: &str, shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) -> u16 {
    let end = format!("  {clear} clears it");
    let most = usize::from(row.width / 2).saturating_sub(end.len());
    let mut shown_text = format!("filter {text}");
    if Span::raw(shown_text.as_str()).width() > most {
        let ellipsis = shown.palette.glyphs.ellipsis();
        while !shown_text.is_empty() && Span::raw(shown_text.as_str()).width() + 1 > most {
            shown_text.pop();
        }
        shown_text.push_str(ellipsis);
    }
    let width = (Span::raw(shown_text.as_str()).width() + end.len()) as u16;
    let width = width.min(row.width);
    let place = Rect { x: row.right() - width, width, ..row };
    let (x, _) = buffer.set_stringn(
        place.x,
        place.y,
        &shown_text,
        usize::from(width),
        shown.palette.style(ColorRole::Active),
    );
    let room = usize::from(place.right().saturating_sub(x));
    buffer.set_stringn(x, place.y, &end, room, shown.palette.style(ColorRole::Faint));
    (width + GAP).min(row.width)
}

/// The keys and what they do, the most useful first, and those that are always there last.
fn keys(screen: &Screen, shown: &Shown<'_>) -> Vec<(String, &'static str)> {
    if let Some(overlay) = &screen.overlay {
        return overlay.keys().iter().map(|(key, what)| ((*key).to_owned(), *what)).collect();
    }
    let panel = &screen.panels[screen.active];
    let mut actions: Vec<Action> = vec![];
    let mut add = |more: &[Action]| {
        for action in more {
            if !actions.contains(action) {
                actions.push(*action);
            }
        }
    };
    if screen.held.is_some() {
        add(OF_THE_PAST);
    }
    add(panel.actions());
    if shown.status.is_replay() {
        add(OF_REPLAYS);
    }
    if !panel.fields().is_empty() {
        add(OF_TABLES);
    }
    add(USUAL);
    add(ALWAYS);
    let snapshot = screen.snapshot(shown);
    let word = |action: Action| match (&shown.status.feed, action) {
        (_, Action::Freeze) if screen.held.is_some() => Some("go on"),
        (Feed::Replay { is_paused: true, .. }, Action::Freeze) => Some("play"),
        (Feed::Replay { .. }, Action::Freeze) => Some("pause"),
        _ => match &snapshot {
            Some(snapshot) => panel.short(action, &super::view(shown, snapshot)),
            None => Some(action.row().short),
        },
    };
    let named = actions.into_iter().filter_map(|action| Some((shown.keys.key_of(action), word(action)?)));
    // An arrow key that is called as its action is named once.
    let once = named.map(|(key, what)| if key == what { (key, "") } else { (key, what) });
    once.filter(|(key, _)| !key.is_empty()).collect()
}

/// Draws the keys that fit whole; those that are always there are kept when others must go.
fn draw_keys(keys: &[(String, &str)], shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) {
    let width = |(key, what): &(String, &str)| {
        let what = Span::raw(*what).width();
        (Span::raw(key.as_str()).width() + what + usize::from(what > 0)) as u16
    };
    let mut kept: Vec<&(String, &str)> = vec![];
    let mut room = row.width;
    let always = keys.len().saturating_sub(ALWAYS.len());
    let by_need = keys[always..].iter().chain(&keys[..always]);
    for item in by_need {
        if width(item) <= room {
            room = room.saturating_sub(width(item) + GAP);
            kept.push(item);
        } else if kept.len() >= ALWAYS.len() {
            break;
        }
    }
    let mut x = row.x;
    for item in keys.iter().filter(|item| kept.iter().any(|kept| std::ptr::eq(*kept, *item))) {
        let gap = if item.1.is_empty() { "" } else { " " };
        for (text, role) in
            [(item.0.as_str(), ColorRole::Key), (gap, ColorRole::Faint), (item.1, ColorRole::Faint)]
        {
            let room = usize::from(row.right().saturating_sub(x));
            (x, _) = buffer.set_stringn(x, row.y, text, room, shown.palette.style(role));
        }
        x += GAP;
    }
}
