//! One line that is typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Widget;
use tui_textarea::{CursorMove, TextArea};

use crate::keys::Stroke;
use crate::palette::{ColorRole, Palette};

/// Characters that one line may hold; of a longer text that is pasted the rest is left out.
pub(super) const LONGEST: usize = 500;

/// A text area in which the terminal's own cursor is used.
pub(super) fn text_area(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(lines);
    area.set_cursor_line_style(Style::new());
    area.set_cursor_style(Style::new());
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

/// Where the terminal's cursor belongs in a text area that was drawn here.
pub(super) fn cursor_in(area: &TextArea<'_>, place: Rect) -> Option<Position> {
    let (cursor, (top, left)) = (area.screen_cursor(), area.scroll_offset());
    let x = place.x + (cursor.col as u16).saturating_sub(left);
    let y = place.y + (cursor.row as u16).saturating_sub(top);
    let place = Position::new(x.min(place.right().checked_sub(1)?), y.min(place.bottom().checked_sub(1)?));
    Some(place)
}

/// One line of text with a cursor.
pub(super) struct Entry {
    area: TextArea<'static>,
    place: Rect,
}

impl Entry {
    /// A line with this text, the cursor at its end.
    pub(super) fn new(text: &str) -> Self {
        Self { area: text_area(vec![text.to_owned()]), place: Rect::ZERO }
    }

    /// What was typed.
    pub(super) fn text(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// Puts another text in its place.
    pub(super) fn set(&mut self, text: &str) {
        self.area = text_area(vec![text.to_owned()]);
    }

    /// Takes a key that means nothing else to its owner; whether the text changed.
    pub(super) fn press(&mut self, stroke: Stroke) -> bool {
        let is_changed = self.area.input(stroke.input());
        if self.area.lines().len() > 1 || self.text().chars().count() > LONGEST {
            self.area.undo();
            return false;
        }
        is_changed
    }

    /// Takes a text that was pasted, as one line.
    pub(super) fn paste(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text().chars().count());
        self.area.insert_str(one_line(text, room));
    }

    /// Draws a mark and the line behind it.
    pub(super) fn draw_behind(&mut self, mark: &str, palette: &Palette, area: Rect, buffer: &mut Buffer) {
        buffer.set_stringn(area.x, area.y, mark, usize::from(area.width), palette.style(ColorRole::Key));
        let taken = (Span::raw(mark).width() as u16).min(area.width);
        self.draw(palette, Rect { x: area.x + taken, width: area.width - taken, ..area }, buffer);
    }

    /// Draws the line; what is longer than the area scrolls with the cursor.
    pub(super) fn draw(&mut self, palette: &Palette, area: Rect, buffer: &mut Buffer) {
        self.place = area.intersection(buffer.area);
        if self.place.is_empty() {
            return;
        }
        self.area.set_style(palette.ground.patch(palette.style(ColorRole::Text)));
        self.area.render(self.place, buffer);
    }

    /// Where the terminal's cursor belongs, after it was drawn.
    pub(super) fn cursor(&self) -> Option<Position> {
        if self.place.is_empty() { None } else { cursor_in(&self.area, self.place) }
    }

    /// How many cells of the text are to the left of what is in sight.
    pub(super) fn scrolled(&self) -> u16 {
        self.area.scroll_offset().1
    }
}

/// At most so many characters of a text from outside, control characters as blanks.
pub(super) fn one_line(text: &str, room: usize) -> String {
    text.chars().take(room).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
