//! Lines and boxes on the screen.

use headwater_engine::Subject;
use headwater_engine::reading::Origin;
use headwater_widgets::{Stroke, Wires};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::facts::{Facts, cells, name};
use super::picture::{self, Picture};
use crate::lines;
use crate::palette::{ColorRole, Palette, glyph_of, role_of};

/// Words below the picture take a third of the rows, and no more than these.
const MOST_WORDS: u16 = 5;

/// Below this height there are no words.
const HEIGHT_FOR_WORDS: u16 = 7;

/// What is left below a title.
pub(super) fn below_title(area: Rect) -> Rect {
    if area.height < 3 {
        return area;
    }
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

/// The area of the picture and that of the words below it.
pub(super) fn split(area: Rect, words: &[lines::Line], palette: &Palette) -> (Rect, Rect) {
    let wanted: u16 = words.iter().map(|line| line.height(palette, area.width)).fold(0, u16::saturating_add);
    let height = if area.height < HEIGHT_FOR_WORDS { 0 } else { wanted.min(MOST_WORDS).min(area.height / 3) };
    let body = Rect { height: area.height - height, ..area };
    (body, Rect { y: body.bottom(), height, ..area })
}

pub(super) fn draw_wires(
    picture: &Picture,
    facts: &Facts<'_>,
    focus: &Subject,
    palette: &Palette,
    area: Rect,
    buffer: &mut Buffer,
) {
    let accused = facts.snapshot.report.suspects.first().map_or(ColorRole::Text, |it| role_of(it.verdict));
    let mut wires = Wires::new(palette.glyphs);
    // What is laid later is seen where lines meet.
    let rank = |line: &&picture::Line| {
        (facts.is_critical(&line.caller, &line.callee), line.caller == *focus || line.callee == *focus)
    };
    let mut lines: Vec<&picture::Line> = picture.lines.iter().collect();
    lines.sort_by_key(rank);
    for line in &lines {
        let (is_critical, is_near) = rank(line);
        let origin = facts.snapshot.graph.edge(&line.caller, &line.callee).map(|edge| edge.origin);
        let stroke = match (is_critical, origin.is_some_and(Origin::is_hint)) {
            (true, false) => Stroke::Heavy,
            (true, true) => Stroke::HeavyDashed,
            (false, true) => Stroke::Dashed,
            (false, false) => Stroke::Plain,
        };
        let role = match (is_critical, is_near) {
            (true, _) => accused,
            (false, true) => ColorRole::Label,
            (false, false) => ColorRole::Frame,
        };
        wires.lay(&line.corners, stroke, palette.style(role));
        wires.point(line.head.0, line.head.1, stroke, palette.style(role));
    }
    wires.render(area, buffer);
    for line in &lines {
        let is_alone = picture.lines.iter().filter(|other| other.head.0 == line.head.0).count() == 1;
        if is_alone || line.caller == *focus || line.callee == *focus {
            draw_words(line, facts, palette, buffer);
        }
    }
}

/// Puts what goes on a call onto its line, the longest words that leave some of the line to be seen.
fn draw_words(line: &picture::Line, facts: &Facts<'_>, palette: &Palette, buffer: &mut Buffer) {
    let room = usize::from(line.words.width);
    let words = facts.words(&line.caller, &line.callee);
    let Some(text) = words.iter().find(|text| cells(text) + 3 <= room) else { return };
    let text = format!(" {text} ");
    buffer.set_stringn(line.words.x, line.words.y, &text, room, palette.style(ColorRole::Faint));
}

pub(super) fn draw_box(
    subject: &Subject,
    place: Rect,
    facts: &Facts<'_>,
    is_focus: bool,
    palette: &Palette,
    buffer: &mut Buffer,
) {
    let place = place.intersection(buffer.area);
    if place.is_empty() {
        return;
    }
    let verdict = facts.verdict(subject);
    let role = palette.style(role_of(verdict));
    let (word, number) = facts.state(subject);
    let width = usize::from(place.width);
    let write = |x: u16, y: u16, text: &str, style, buffer: &mut Buffer| {
        let room = usize::from(place.right().saturating_sub(x));
        buffer.set_stringn(x, y, text, room, style);
        if cells(text) > room && room > 0 {
            buffer[(place.right() - 1, y)].set_symbol(palette.glyphs.ellipsis());
        }
    };
    write(place.x, place.y, glyph_of(verdict), role, buffer);
    let text = if is_focus { ColorRole::Heading } else { ColorRole::Text };
    write(place.x.saturating_add(2), place.y, name(subject), palette.style(text), buffer);
    if place.height > 1 {
        write(place.x.saturating_add(2), place.y + 1, word, role, buffer);
        // A number is told whole or not at all.
        if let Some(number) = number.filter(|number| 3 + cells(word) + cells(number) <= width) {
            let x = place.x.saturating_add(u16::try_from(3 + cells(word)).unwrap_or(u16::MAX));
            write(x, place.y + 1, &number, palette.style(ColorRole::Faint), buffer);
        }
    }
    if is_focus {
        buffer.set_style(place, palette.style(ColorRole::Selected));
    }
}
