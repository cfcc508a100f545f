//! The last row: what can be pressed, what became of the last key, and the filter in force.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use super::{About, Feed, Screen, Shown};
use crate::action::{Action, Scope};
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

/// What does nothing before the first evaluation, as everything that is done on a panel.
const NEEDS_NUMBERS: &[Action] = &[Action::Freeze, Action::Earlier, Action::Copy, Action::Export];

/// What a table adds, a replay, and a screen that was gone back with.
const OF_TABLES: &[Action] = &[Action::Open, Action::Filter, Action::Sort];
const OF_REPLAYS: &[Action] = &[Action::Freeze, Action::Step, Action::Faster, Action::Slower];
const OF_THE_PAST: &[Action] = &[Action::Earlier, Action::Later, Action::Live];

/// Rows that a long message may take.
const MOST_OF_MESSAGE: u16 = 3;

/// Cells between two keys.
const GAP: u16 = 2;

/// What a newcomer can press first, whoever is accused: `press enter to look closer, 0 to be led, ? for help, q to leave`.
pub fn first_keys(keys: &Keymap) -> String {
    let panel = |name| PANELS.iter().position(|row| row.name == name).map(Command::Show);
    let parts = [
        (Some(Command::Act(Action::Open)), "to look closer"),
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
    match (screen.notice.as_ref().filter(|notice| notice.about != About::Answer), &screen.hint) {
        (Some(notice), _) => {
            Some((&notice.text, if notice.is_error { ColorRole::Error } else { ColorRole::Heading }))
        }
        (None, hint) => hint.as_ref().map(|hint| (hint.as_str(), ColorRole::Heading)),
    }
}

/// How many rows the bar has at the bottom of an area, on a screen of this height: one, or as many as a message needs,
/// so that it covers nothing of the panel.
pub(super) fn rows(screen: &Screen, shown: &Shown<'_>, height: u16, area: Rect) -> u16 {
    let message = message(screen);
    let says = message.is_some() || screen.panels[screen.active].filter().is_some();
    let least = if says { 2 } else { LEAST_HEIGHT };
    if height < least || area.height < 2 {
        return 0;
    }
    let taken = Filtered::of(screen, shown, area.width).map_or(0, |filtered| filtered.width);
    message.map_or(1, |(text, role)| {
        let needed = part(text, role, shown).height(area.width.saturating_sub(taken));
        needed.min(MOST_OF_MESSAGE).min(area.height / 2).max(1)
    })
}

/// A message as it is drawn.
fn part<'a>(text: &'a str, role: ColorRole, shown: &Shown<'_>) -> Hanging<'a> {
    Hanging::new("", 0, text).text_style(shown.palette.style(role)).glyphs(shown.palette.glyphs)
}

/// Draws the bar into its rows.
pub(super) fn draw(screen: &Screen, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(last) = area.bottom().checked_sub(1).filter(|_| !area.is_empty()) else { return };
    let row = Rect { y: last, height: 1, ..area };
    let mut left = row;
    if let Some(filtered) = Filtered::of(screen, shown, row.width) {
        filtered.draw(shown, row, buffer);
        left.width -= filtered.width;
    }
    match message(screen) {
        None => {
            left.width = draw_answer(screen, shown, left, buffer);
            draw_keys(&keys(screen, shown), shown, left, buffer);
        }
        Some((text, role)) => {
            part(text, role, shown).render(Rect { width: left.width, ..area }, buffer);
        }
    }
}

/// Draws at the right end of a row that an answer was kept, and tells what is left of the row for keys.
fn draw_answer(screen: &Screen, shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) -> u16 {
    let Some(notice) = &screen.notice else { return row.width };
    let width = u16::try_from(Span::raw(notice.text.as_str()).width()).unwrap_or(u16::MAX);
    // In a row that is narrower than twice this the keys are worth more.
    if width > row.width / 2 {
        return row.width;
    }
    let style = shown.palette.style(ColorRole::Heading);
    buffer.set_stringn(row.right() - width, row.y, &notice.text, width.into(), style);
    row.width.saturating_sub(width + GAP)
}

/// The filter at the right end of the last row, with the key that clears it.
struct Filtered {
    text: String,
    end: String,
    /// The cells that it takes, with the gap before it.
    width: u16,
}

impl Filtered {
    /// The filter of the panel that is open, in a row of this width; `None` where it has none.
    fn of(screen: &Screen, shown: &Shown<'_>, width: u16) -> Option<Self> {
        let filter = screen.panels[screen.active].filter()?;
        let end = format!("  {} clears it", shown.keys.key_of(Action::Back));
        let most = usize::from(width / 2).saturating_sub(end.len());
        let mut text = format!("filter {}", filter.as_str());
        if Span::raw(text.as_str()).width() > most {
            while !text.is_empty() && Span::raw(text.as_str()).width() + 1 > most {
                text.pop();
            }
            text.push_str(shown.palette.glyphs.ellipsis());
        }
        let taken = u16::try_from(Span::raw(text.as_str()).width() + end.len()).unwrap_or(u16::MAX);
        let taken = taken.saturating_add(GAP).min(width);
        Some(Self { text, end, width: taken })
    }

    fn draw(&self, shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) {
        let width = self.width.saturating_sub(GAP);
        let x = row.right() - width;
        let style = |role| shown.palette.style(role);
        let (x, _) = buffer.set_stringn(x, row.y, &self.text, usize::from(width), style(ColorRole::Active));
        let room = usize::from(row.right().saturating_sub(x));
        buffer.set_stringn(x, row.y, &self.end, room, style(ColorRole::Faint));
    }
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
            None => {
                let works = matches!(action.row().scope, Scope::Everywhere | Scope::Replay);
                (works && !NEEDS_NUMBERS.contains(&action)).then_some(action.row().short)
            }
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
