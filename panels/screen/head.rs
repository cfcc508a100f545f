//! The first rows: whose deployment, how it is, what is open, how old the numbers are.

mod numbers;

use std::time::Duration;

use headwater_engine::Snapshot;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::report::Conclusion;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{Feed, Screen, Shown};
use crate::data_state::silence;
use crate::keys::Command;
use crate::palette::ColorRole;
use crate::panel::PANELS;
use crate::standing::standing;

/// Below this height there is no list of panels.
pub(super) const LEAST_HEIGHT: u16 = 8;

/// The longest name of a deployment that is shown in full.
const LONGEST_NAME: usize = 24;

/// From this width on it says what the program is called, and the time also beside how old the numbers are.
const WIDE: u16 = 100;

/// From this width on it says what time it is.
const WIDTH_FOR_CLOCK: u16 = 70;

/// Cells between two names of panels where there is room, and what the other end of their row may need.
const SPACED_GAP: u16 = 2;
const STATE: u16 = 20;

/// Draws the head; returns how many rows it took.
pub(super) fn draw(
    screen: &Screen,
    snapshot: Option<&Snapshot>,
    shown: &Shown<'_>,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let first = Rect { height: 1, ..area };
    let (state, state_role) = state(screen, shown);
    let silence = silence(shown.newest.map(AsRef::as_ref), shown.now);
    let mut left = match silence {
        Some(since) => {
            let span = shown.now.since(since).as_secs() as f64;
            let text = format!(" NO DATA for {} ", show(span, Unit::Seconds));
            draw_end(&text, ColorRole::Banner, shown, first, buffer)
        }
        None => first,
    };
    if area.height < LEAST_HEIGHT {
        // Numbers that nobody renews are not live, and what is held still is not what they are.
        let is_said = left.width == first.width || state_role == ColorRole::Banner;
        let left = if is_said { draw_end(&state, state_role, shown, left, buffer) } else { left };
        draw_parts(&parts(snapshot, area.width), shown, left, buffer);
        return 1;
    }
    let has_clock = area.width >= if silence.is_some() { WIDE } else { WIDTH_FOR_CLOCK };
    if let Some(snapshot) = snapshot.filter(|_| has_clock) {
        let clock = format!("{} UTC", snapshot.at.clock());
        left = draw_end(&clock, ColorRole::Faint, shown, left, buffer);
        left.width = left.width.saturating_sub(2);
    }
    draw_parts(&parts(snapshot, area.width), shown, left, buffer);
    for (place, tab, text) in tabs(screen.active, shown, area) {
        let role = if place == screen.active { ColorRole::Active } else { ColorRole::Faint };
        buffer.set_stringn(tab.x, tab.y, text, usize::from(tab.width), shown.palette.style(role));
    }
    // What is held still is said by a banner of its own, with the keys that lead on.
    let state = if screen.held().is_some() { String::new() } else { state };
    draw_end(&state, state_role, shown, Rect { y: area.y + 1, ..first }, buffer);
    if let Some((text, place)) = demo(screen, shown, area) {
        put(text, ColorRole::Faint, shown, place, buffer);
    }
    2
}

/// What must be said of a demo, and where there is room for the whole of it beside the list of panels; `None` where
/// there is none.
pub(super) fn demo<'a>(screen: &Screen, shown: &Shown<'a>, area: Rect) -> Option<(&'a str, Rect)> {
    let text = shown.status.demo.as_deref()?;
    let start = tabs(screen.active, shown, area).last()?.1.right().saturating_add(2);
    let (state, _) = state(screen, shown);
    let end = usize::from(area.right()).saturating_sub(Span::raw(state.as_str()).width() + 1);
    let room = end.saturating_sub(usize::from(start));
    let place = Rect { x: start, y: area.y + 1, width: u16::try_from(room).unwrap_or(u16::MAX), height: 1 };
    (Span::raw(text).width() <= room).then_some((text, place))
}

/// The list of panels: each one's place in the table, its cells and its text. Clicks are looked up in it too.
pub(super) fn tabs(active: usize, shown: &Shown<'_>, area: Rect) -> Vec<(usize, Rect, String)> {
    if area.height < LEAST_HEIGHT {
        return vec![];
    }
    let labels: Vec<(usize, String, &str)> = (PANELS.iter().enumerate())
        .map(|(place, row)| (place, shown.keys.label(Command::Show(place)), row.short))
        .collect();
    let wide = |text: &str| Span::raw(text).width() as u16;
    let spaced = |labels: &[(usize, String, &str)]| -> u16 {
        labels.iter().map(|(_, key, short)| wide(key) + 1 + wide(short) + SPACED_GAP).sum()
    };
    // Where not all have room, those behind a digit come first, and the one that is open.
    let is_first = |key: &str| key.len() == 1 && key.as_bytes()[0].is_ascii_digit();
    let mut listed = labels.clone();
    if spaced(&listed) + STATE > area.width {
        listed.retain(|(place, key, _)| is_first(key) || *place == active);
    }
    // One that has no digit stands behind those that have, which give up their names for its own: the last ones first.
    let tight = |labels: &[(usize, String, &str)]| -> u16 {
        labels.iter().map(|(_, key, short)| wide(key) + wide(short) + 1).sum()
    };
    let is_extra = listed.iter().any(|(place, key, _)| *place == active && !is_first(key));
    for index in (0..listed.len()).rev().filter(|_| is_extra) {
        if tight(&listed) + STATE > area.width && listed[index].0 != active {
            listed[index].2 = "";
        }
    }
    // A key is easier to tell from a name with a blank between, where that leaves room for what else is in the row.
    let is_spaced = spaced(&listed) + STATE <= area.width;
    let (blank, gap) = if is_spaced { (" ", SPACED_GAP) } else { ("", 1) };
    let mut x = area.x;
    let mut tabs = vec![];
    for (place, key, short) in listed {
        let text = format!("{key}{}{short}", if key.is_empty() { "" } else { blank });
        let width = wide(&text).min(area.right().saturating_sub(x));
        tabs.push((place, Rect { x, y: area.y + 1, width, height: 1 }, text));
        x += width + gap;
    }
    tabs
}

/// A span as a clock shows it: `03:12`, `1:03:12`.
pub(super) fn lasting(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// A text in its colour.
type Part = (String, ColorRole);

/// Texts that follow each other without a gap and are shown whole or not at all, and the cells that are kept for them.
struct Group {
    texts: Vec<Part>,
    kept: usize,
}

impl From<Vec<Part>> for Group {
    fn from(texts: Vec<Part>) -> Self {
        Self { texts, kept: 0 }
    }
}

/// What the first row says, the most important first.
fn parts(snapshot: Option<&Snapshot>, width: u16) -> Vec<Group> {
    let Some(snapshot) = snapshot else {
        let connecting = ("? connecting".to_owned(), ColorRole::Unknown);
        return vec![vec![("headwater".to_owned(), ColorRole::Label)].into(), vec![connecting].into()];
    };
    let name: String = snapshot.report.name.chars().take(LONGEST_NAME).collect();
    let own = if name == "headwater" || width < WIDE { "" } else { "headwater " };
    let mut parts: Vec<Group> = vec![
        vec![(own.to_owned(), ColorRole::Label), (name, ColorRole::Heading)].into(),
        vec![conclusion(snapshot)].into(),
    ];
    let numbers = numbers::groups(snapshot);
    let told = !numbers.is_empty();
    parts.extend(numbers);
    if !told {
        let text = if width < WIDE { "? callers not seen" } else { "? no source shows what callers see" };
        parts.push(vec![(text.to_owned(), ColorRole::Unknown)].into());
    }
    parts
}

/// What it comes to, and for how long it has.
fn conclusion(snapshot: &Snapshot) -> Part {
    let report = &snapshot.report;
    let standing = standing(snapshot);
    let mut text = format!("{} {}", standing.glyph, standing.words);
    if let (Conclusion::Guilty, Some(onset)) = (report.conclusion, report.onset()) {
        let after = if report.ended().is_some() { " after" } else { "" };
        let before = if onset.before { ">" } else { "" };
        let lasting = lasting(report.ended().unwrap_or(snapshot.at).since(onset.at));
        text.push_str(&format!("{after} {before}{lasting}"));
    }
    (text, standing.role)
}

/// What is looked at: the present or the past, moving or held still.
fn state(screen: &Screen, shown: &Shown<'_>) -> Part {
    if let Some(held) = screen.held() {
        let text = match held.gone_back_from {
            Some(_) => format!(" BACK at {} ", held.at.clock()),
            None => format!(" FROZEN {} ", lasting(shown.now.since(held.at))),
        };
        return (text, ColorRole::Banner);
    }
    match &shown.status.feed {
        Feed::Live { interval } => {
            let recording = if shown.status.recording.is_some() { "rec  " } else { "" };
            (format!("{recording}live {}", show(interval.as_secs_f64(), Unit::Seconds)), ColorRole::Label)
        }
        Feed::Replay { speed, is_paused, is_over, .. } => {
            let how = match (is_over, is_paused) {
                (true, _) => " at its end",
                (_, true) => " paused",
                _ => "",
            };
            (format!(" REPLAY x{}{how} ", show(*speed, Unit::Count)), ColorRole::Banner)
        }
    }
}

/// Writes groups from the left, as many as fit with what is kept for them.
fn draw_parts(parts: &[Group], shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) {
    let (mut left, mut kept) = (row, usize::from(row.width));
    for (place, Group { texts, kept: least }) in parts.iter().enumerate() {
        let wide: usize = texts.iter().map(|(text, _)| Span::raw(text.as_str()).width()).sum();
        let wide = wide.max(*least);
        let gap = if place == 0 { 0 } else { 3 };
        // The name is cut rather than left out: it says where one is.
        if wide + gap > kept && place > 0 {
            break;
        }
        kept = kept.saturating_sub(wide + gap);
        left = after(left, gap);
        for (text, role) in texts {
            let used = put(text, *role, shown, left, buffer);
            left = after(left, usize::from(used));
        }
    }
}

/// Writes a text at the right end of a row; returns what is left of the row before it.
fn draw_end(text: &str, role: ColorRole, shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) -> Rect {
    let wide = u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX).min(row.width);
    let end = Rect { x: row.right() - wide, width: wide, ..row };
    for x in end.x.saturating_sub(1).max(row.x)..end.right() {
        buffer[(x, row.y)].reset();
        buffer[(x, row.y)].set_style(shown.palette.ground);
    }
    put(text, role, shown, end, buffer);
    Rect { width: row.width - wide, ..row }
}

/// Writes a text from the left, cut and marked where it does not fit; returns how many cells it took.
fn put(text: &str, role: ColorRole, shown: &Shown<'_>, row: Rect, buffer: &mut Buffer) -> u16 {
    let room = usize::from(row.width);
    if room == 0 {
        return 0;
    }
    let style = shown.palette.style(role);
    let (end, _) = buffer.set_stringn(row.x, row.y, text, room, style);
    if Span::raw(text).width() > room {
        buffer[(row.right() - 1, row.y)].set_symbol(shown.palette.glyphs.ellipsis()).set_style(style);
        return row.width;
    }
    end - row.x
}

fn after(row: Rect, cells: usize) -> Rect {
    let cells = u16::try_from(cells).unwrap_or(u16::MAX).min(row.width);
    Rect { x: row.x + cells, width: row.width - cells, ..row }
}

#[cfg(test)]
mod tests;
