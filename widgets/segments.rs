//! One row of short texts, each in a style of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use crate::glyphs::Glyphs;

/// Texts in a row with blanks between them, the most important first: one that does not fit is left out whole, with
/// all after it, so that no number is cut in its middle. Only the first may be cut.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    texts: &'a [(String, Style)],
    between: u16,
    glyphs: Glyphs,
}

impl<'a> Segments<'a> {
    /// A row of these texts, two blanks between them.
    pub fn new(texts: &'a [(String, Style)]) -> Self {
        Self { texts, between: 2, glyphs: Glyphs::default() }
    }

    /// The same row, cut with the mark of these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }
}

impl Widget for Segments<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let mut x = area.left();
        for (place, (text, style)) in self.texts.iter().filter(|(text, _)| !text.is_empty()).enumerate() {
            let room = usize::from(area.right().saturating_sub(x));
            let wide = Span::raw(text.as_str()).width();
            if wide > room && place > 0 {
                return;
            }
            let (end, _) = buffer.set_stringn(x, area.top(), text, room, *style);
            if wide > room {
                buffer[(area.right() - 1, area.top())].set_symbol(self.glyphs.ellipsis()).set_style(*style);
                return;
            }
            x = end.saturating_add(self.between);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;

    fn texts() -> Vec<(String, Style)> {
        ["max 96 %", "", "mean 26 %"].map(|text| (text.to_owned(), Style::new())).into()
    }

    #[test]
    fn what_does_not_fit_is_left_out_whole() {
        assert_eq!(drawn(Segments::new(&texts()), 20, 1), Buffer::with_lines(["max 96 %  mean 26 % "]));
        assert_eq!(drawn(Segments::new(&texts()), 18, 1), Buffer::with_lines(["max 96 %          "]));
    }

    #[test]
    fn only_the_first_is_cut() {
        assert_eq!(drawn(Segments::new(&texts()), 5, 1), Buffer::with_lines(["max …"]));
        assert_eq!(drawn(Segments::new(&texts()).glyphs(Glyphs::Ascii), 1, 1), Buffer::with_lines(["~"]));
        drawn(Segments::new(&texts()), 0, 0);
        assert_eq!(drawn(Segments::new(&[]), 2, 1), Buffer::with_lines(["  "]));
    }
}
