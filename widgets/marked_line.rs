//! One row that says what state something is in: a glyph, a word, and what it is about.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use crate::glyphs::Glyphs;

/// A glyph and a word in one style, then a text in another: `X down     east/2  no answer for 12 s`.
///
/// The glyph and the word say the same as the colour does, so that colour never carries the meaning alone. What does
/// not fit is cut from the end of the text and marked.
#[derive(Clone, Copy, Debug)]
pub struct MarkedLine<'a> {
    glyph: &'a str,
    word: &'a str,
    word_width: u16,
    text: &'a str,
    mark_style: Style,
    text_style: Style,
    glyphs: Glyphs,
}

impl<'a> MarkedLine<'a> {
    /// A line with this mark and text, without colour.
    pub fn new(glyph: &'a str, word: &'a str, text: &'a str) -> Self {
        let plain = Style::new();
        Self {
            glyph,
            word,
            word_width: 0,
            text,
            mark_style: plain,
            text_style: plain,
            glyphs: Glyphs::default(),
        }
    }

    /// The same line whose word takes at least this many cells, so that the texts of several lines stand in a column.
    pub fn word_width(mut self, cells: u16) -> Self {
        self.word_width = cells;
        self
    }

    /// The same line with this style for glyph and word.
    pub fn mark_style(mut self, style: Style) -> Self {
        self.mark_style = style;
        self
    }

    /// The same line with this style for its text.
    pub fn text_style(mut self, style: Style) -> Self {
        self.text_style = style;
        self
    }

    /// The same line, cut with the mark of these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

impl Widget for MarkedLine<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let end = area.right();
        let mut x = put(buffer, area.left(), area.top(), end, self.glyph, self.mark_style, self.glyphs);
        let word_at = x.saturating_add(1);
        x = put(buffer, word_at, area.top(), end, self.word, self.mark_style, self.glyphs);
        x = x.max(word_at.saturating_add(self.word_width)).saturating_add(1);
        put(buffer, x, area.top(), end, self.text, self.text_style, self.glyphs);
    }
}

/// Writes a text from `x` up to `end`, marks it when it is cut, and returns the cell after it.
fn put(buffer: &mut Buffer, x: u16, y: u16, end: u16, text: &str, style: Style, glyphs: Glyphs) -> u16 {
    if x >= end {
        return end;
    }
    let room = usize::from(end - x);
    let (after, _) = buffer.set_stringn(x, y, text, room, style);
    if Span::raw(text).width() > room {
        buffer[(end - 1, y)].set_symbol(glyphs.ellipsis()).set_style(style);
        return end;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;
    use ratatui::style::{Color, Modifier};

    #[test]
    fn texts_stand_in_a_column() {
        let line = MarkedLine::new("X", "down", "east/2").word_width(6);
        assert_eq!(drawn(line, 17, 1), Buffer::with_lines(["X down   east/2  "]));
        let longer = MarkedLine::new("?", "unknown", "east/3").word_width(6);
        assert_eq!(drawn(longer, 17, 1), Buffer::with_lines(["? unknown east/3 "]));
    }

    #[test]
    fn what_does_not_fit_is_cut_and_marked() {
        let line = MarkedLine::new("X", "down", "east/2");
        assert_eq!(drawn(line, 9, 1), Buffer::with_lines(["X down e…"]));
        assert_eq!(drawn(line.glyphs(Glyphs::Ascii), 9, 1), Buffer::with_lines(["X down e~"]));
        assert_eq!(drawn(line, 4, 1), Buffer::with_lines(["X d…"]));
    }

    #[test]
    fn minimal_areas_show_the_glyph_or_nothing() {
        let line = MarkedLine::new("X", "down", "east/2");
        assert_eq!(drawn(line, 1, 1), Buffer::with_lines(["X"]));
        assert_eq!(drawn(line, 2, 1), Buffer::with_lines(["X "]));
        drawn(line, 0, 0);
        drawn(line, 0, 1);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        let line = MarkedLine::new("X", "down", "爆款爆款");
        let buffer = drawn(line, 12, 1);
        assert_eq!(buffer[(11, 0)].symbol(), "…");
        assert_eq!(buffer[(7, 0)].symbol(), "爆");
    }

    #[test]
    fn the_mark_has_its_own_style() {
        let line = MarkedLine::new("X", "down", "east/2")
            .mark_style(Style::new().fg(Color::Red))
            .text_style(Style::new().add_modifier(Modifier::DIM));
        let buffer = drawn(line, 17, 1);
        assert_eq!(
            (buffer[(0, 0)].fg, buffer[(2, 0)].fg, buffer[(7, 0)].fg),
            (Color::Red, Color::Red, Color::Reset)
        );
        assert!(buffer[(7, 0)].modifier.contains(Modifier::DIM));
    }
}
