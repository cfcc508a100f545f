//! What a wall says above the panel: time, age, verdict and the five signals.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::signal::Signal;
use headwater_engine::wording::keys;
use headwater_engine::{Moment, Snapshot};
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::big::{self, Figure};
use crate::data_state::{last_data, silence};
use crate::gauge::{multiple, value};
use crate::palette::ColorRole;
use crate::screen::{Shown, connecting};
use crate::standing::standing;
use crate::title;

/// Rows that the panel below should have before anything above it is drawn bigger than it must.
const LEAST_PANEL: u16 = 10;

/// Rows of the signals in the smallest big type, with their names.
const LEAST_SIGNALS: u16 = 5;

/// Rows of the signals in plain type and of a panel that still says something: all that is kept from the verdict's sentences.
const LEAST_BELOW: u16 = 10;

/// Rows that one sentence of the verdict may take.
const MOST_OF_SENTENCE: u16 = 4;

/// Draws it; returns what is left for the panel.
pub(super) fn draw(shown: &Shown<'_>, title: &str, area: Rect, buffer: &mut Buffer) -> Rect {
    let mut rest = take(area, draw_time(shown, area, buffer));
    if let Some(since) = silence(shown.newest.map(AsRef::as_ref), shown.now) {
        rest = take(rest, draw_silence(since, shown, rest, buffer));
    }
    let Some(snapshot) = shown.newest else {
        connecting::draw(shown, rest, buffer);
        return Rect { height: 0, ..rest };
    };
    rest = take(rest, draw_verdict(snapshot, shown, rest, buffer));
    rest = take(rest, draw_signals(snapshot, shown, rest, buffer));
    // A panel of two rows under a title says less than the verdict's own lines above.
    if rest.height >= 3 {
        title::draw(title, "", shown.palette, rest, buffer);
        rest = take(rest, 1);
    }
    rest
}

/// What is below the first rows of an area.
fn take(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// The clock and the age of the data, always in sight.
fn draw_time(shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let last = shown.newest.and_then(|newest| last_data(newest));
    let age = last.map_or_else(
        || "no data yet".to_owned(),
        |at| format!("data {} old", show(shown.now.since(at).as_secs() as f64, Unit::Seconds)),
    );
    let name = shown.newest.map_or("headwater", |newest| newest.report.name.as_str());
    let text = format!("{} UTC   {age}   {name}", shown.now.clock());
    big::draw(&text, None, shown.palette.style(ColorRole::Heading), shown.palette.glyphs, area, buffer)
}

/// That nothing comes any more, as wide as the wall.
fn draw_silence(since: Moment, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let text = format!("NO DATA SINCE {}", since.clock());
    let room = area.height.saturating_sub(LEAST_PANEL) / 2;
    let size = big::size_for(text.len(), area.width.saturating_sub(2), room, shown.palette.glyphs);
    let rows = size.map_or(1, |(_, tall)| tall).min(area.height);
    let style = shown.palette.style(ColorRole::Banner);
    let place = Rect { height: rows, ..area };
    buffer.set_style(place, style);
    let inside = Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..place };
    big::draw(&text, size, style, shown.palette.glyphs, inside, buffer);
    rows
}

/// What it comes to in big type, and who is guilty of what.
fn draw_verdict(snapshot: &Snapshot, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let palette = shown.palette;
    let report = &snapshot.report;
    let standing = standing(snapshot);
    let word = standing.words.to_uppercase();
    // Across a room an incident that is over must not look like one that goes on.
    let role = if report.ended().is_some() { ColorRole::Suspect } else { standing.role };
    let is_old = silence(Some(snapshot), shown.now).is_some();
    // What was true when the data stopped is not the present.
    let (word, role) = if is_old { (format!("{word}?"), ColorRole::Stale) } else { (word, role) };
    let room = area.height.saturating_sub(LEAST_PANEL) / 2;
    let size = big::size_for(word.chars().count(), area.width, room, palette.glyphs);
    let rows = big::draw(&word, size, palette.style(role), palette.glyphs, area, buffer);
    let mut below = take(area, rows);
    // Who it is can be read from across the room as well, where that leaves all else its place.
    if let Some(first) = report.suspects.first() {
        let name = first.subject.as_str();
        let kept = LEAST_PANEL + LEAST_SIGNALS + MOST_OF_SENTENCE * 2;
        let room = below.height.saturating_sub(kept) / 2;
        let size = big::size_for(name.chars().count(), below.width, room, palette.glyphs);
        if size.is_some() {
            let style = palette.style(role);
            below = take(below, big::draw(name, size, style, palette.glyphs, below, buffer));
        }
    }
    let text = match report.suspects.first() {
        Some(first) => {
            let ended = first.until.map(|until| format!(" (it ended at {})", until.clock()));
            format!("{}{}: {}", first.subject, ended.unwrap_or_default(), first.sentence)
        }
        None => report.shape.sentence.clone(),
    };
    let mut told = vec![(text, ColorRole::Text)];
    if let Some(first) = report.suspects.first() {
        told.extend(keys(first).next().map(|key| (key, ColorRole::Text)));
        told.push((format!("next: {}", report.next_step), ColorRole::Heading));
    }
    let mut rest = below;
    for (place, (text, role)) in told.iter().enumerate() {
        let part = Hanging::new("", 0, text).text_style(palette.style(*role)).glyphs(palette.glyphs);
        let whole = part.height(rest.width).min(MOST_OF_SENTENCE);
        let is_room = rest.height >= whole + LEAST_BELOW;
        let wanted = if is_room { whole } else { whole.min(2).min(rest.height) };
        // Keys and the next step are told where they take nothing from the signals and the panel.
        if place > 0 && !is_room {
            break;
        }
        part.render(Rect { height: wanted, ..rest }, buffer);
        rest = take(rest, wanted);
    }
    area.height - rest.height
}

/// The five signals side by side: names above values, as big as all of them can be.
fn draw_signals(snapshot: &Snapshot, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let palette = shown.palette;
    let signals: Vec<&Signal> = snapshot.signals.iter().filter(|signal| signal.row.is_one_of_five).collect();
    if signals.is_empty() || area.height < 2 {
        return 0;
    }
    let figures: Vec<Figure<'_>> = signals.iter().map(|signal| figure(signal)).collect();
    let room = area.height.saturating_sub(LEAST_PANEL);
    let size = big::size_of_figures(&figures, area.width, room, palette.glyphs);
    big::draw_figures(&figures, size, palette, area, buffer)
}

/// A signal with how many times its usual value it is.
fn figure<'a>(signal: &Signal) -> Figure<'a> {
    let aside = multiple(signal);
    // `no source` and `no data` are no numbers and stay small.
    let is_told = signal.now.is_some();
    let role = match (is_told, aside.is_empty()) {
        (false, _) => ColorRole::Unknown,
        (true, true) => ColorRole::Heading,
        (true, false) => ColorRole::Guilty,
    };
    Figure { name: signal.row.name, aside, value: value(signal), role, is_told }
}
