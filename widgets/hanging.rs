//! A label with a wrapped text beside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::glyphs::Glyphs;

/// A label in a column of its own and a text beside it, wrapped at blanks; a word that is wider than its line is
/// broken, so that nothing is lost. When the area is too low, its last row ends with the mark of a cut.
#[derive(Clone, Copy, Debug)]
pub struct Hanging<'a> {
    label: &'a str,
    indent: u16,
    text: &'a str,
    label_style: Style,
    text_style: Style,
    glyphs: Glyphs,
}

impl<'a> Hanging<'a> {
    /// A label in the first `indent` cells with a text beside it, without colour.
    pub fn new(label: &'a str, indent: u16, text: &'a str) -> Self {
        let plain = Style::new();
        Self { label, indent, text, label_style: plain, text_style: plain, glyphs: Glyphs::default() }
    }

    /// The same with this style for the label.
    pub fn label_style(mut self, style: Style) -> Self {
        self.label_style = style;
        self
    }

    /// The same with this style for the text.
    pub fn text_style(mut self, style: Style) -> Self {
        self.text_style = style;
        self
    }

    /// The same, cut with the mark of these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// How many rows it takes at this width; at least one.
    pub fn height(&self, width: u16) -> u16 {
        u16::try_from(self.rows(width).len()).unwrap_or(u16::MAX)
    }

    /// The rows of the text at this width of label and text together.
    fn rows(&self, width: u16) -> Vec<String> {
        wrap(self.text, usize::from(width.saturating_sub(self.indent)).max(1))
    }
}

impl Widget for Hanging<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let label_room = usize::from(self.indent.min(area.width));
        buffer.set_stringn(area.left(), area.top(), self.label, label_room, self.label_style);
        if self.indent >= area.width {
            return;
        }
        let rows = self.rows(area.width);
        let is_cut = rows.len() > usize::from(area.height);
        let x = area.left() + self.indent;
        for (row, y) in rows.iter().zip(area.top()..area.bottom()) {
            let room = usize::from(area.right() - x);
            let (after, _) = buffer.set_stringn(x, y, row, room, self.text_style);
            if is_cut && y + 1 == area.bottom() {
                let mark = after.min(area.right() - 1);
                buffer[(mark, y)].set_symbol(self.glyphs.ellipsis()).set_style(self.text_style);
            }
        }
    }
}

/// Breaks a text at blanks into rows of at most `width` cells, and within a word only where the word is wider.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![];
    let mut row = String::new();
    let mut taken = 0;
    for word in text.split_whitespace() {
        let cells = Span::raw(word).width();
        if taken > 0 && taken + 1 + cells > width {
            rows.push(std::mem::take(&mut row));
            taken = 0;
        }
        if taken > 0 {
            row.push(' ');
            taken += 1;
        }
        for grapheme in Line::raw(word).styled_graphemes(Style::new()) {
            let cells = Span::raw(grapheme.symbol).width();
            if taken > 0 && taken + cells > width {
                rows.push(std::mem::take(&mut row));
                taken = 0;
            }
            row.push_str(grapheme.symbol);
            taken += cells;
        }
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;
    use proptest::prelude::*;

    #[test]
    fn text_hangs_beside_its_label() {
        let part = Hanging::new("next", 6, "confirm the keys, then cache");
        assert_eq!(part.height(18), 3);
        assert_eq!(
            drawn(part, 18, 3),
            Buffer::with_lines(["next  confirm the ", "      keys, then  ", "      cache       "])
        );
    }

    #[test]
    fn a_low_area_marks_the_cut() {
        let part = Hanging::new("next", 6, "confirm the keys, then cache");
        assert_eq!(drawn(part, 18, 2), Buffer::with_lines(["next  confirm the ", "      keys, then… "]));
        assert_eq!(
            drawn(Hanging::new("", 0, "abc def").glyphs(Glyphs::Ascii), 3, 1),
            Buffer::with_lines(["ab~"])
        );
    }

    #[test]
    fn a_wide_word_is_broken_and_wide_characters_are_not() {
        assert_eq!(drawn(Hanging::new("", 0, "abcdefg h"), 3, 3), Buffer::with_lines(["abc", "def", "g h"]));
        assert_eq!(Hanging::new("", 0, "爆款爆").height(5), 2);
    }

    #[test]
    fn minimal_areas_show_what_they_can() {
        let part = Hanging::new("next", 6, "confirm");
        assert_eq!(drawn(part, 2, 1), Buffer::with_lines(["ne"]));
        assert_eq!(drawn(part, 7, 1), Buffer::with_lines(["next  …"]));
        drawn(part, 0, 0);
        assert_eq!(Hanging::new("x", 4, "").height(0), 1);
    }

    proptest! {
        #[test]
        fn rows_fit_and_no_character_is_lost(text in "[a-z爆é ]{0,60}", width in 2_usize..20) {
            let rows = wrap(&text, width);
            prop_assert!(rows.iter().all(|row| Span::raw(row.as_str()).width() <= width));
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeezed(&rows.concat()), squeezed(&text));
        }
    }
}
