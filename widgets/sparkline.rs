//! A series as columns, with its gaps left open.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::glyphs::{Glyphs, share};

/// A series as columns, one a value, the newest at the right edge.
///
/// A gap stays blank; a zero is drawn with the lowest level, so the two differ. Without a ceiling the highest value
/// in sight fills the height. Values below zero are drawn as zero.
#[derive(Clone, Copy, Debug)]
pub struct Sparkline<'a> {
    values: &'a [Option<f64>],
    ceiling: Option<f64>,
    glyphs: Glyphs,
    style: Style,
}

impl<'a> Sparkline<'a> {
    /// A line of these values, oldest first, without colour.
    pub fn new(values: &'a [Option<f64>]) -> Self {
        Self { values, ceiling: None, glyphs: Glyphs::default(), style: Style::new() }
    }

    /// The same line where this value, in the unit of the values, fills the height.
    pub fn ceiling(mut self, ceiling: f64) -> Self {
        self.ceiling = Some(ceiling);
        self
    }

    /// The same line, drawn with these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// The same line in this style.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

impl Widget for Sparkline<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let seen = &self.values[self.values.len().saturating_sub(usize::from(area.width))..];
        let highest = seen.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let ceiling = self.ceiling.unwrap_or(highest);
        let levels = self.glyphs.levels();
        let steps = usize::from(area.height) * levels.len();
        for (value, x) in seen.iter().rev().zip((area.left()..area.right()).rev()) {
            let scaled = value.map(|value| if ceiling > 0.0 { value / ceiling } else { 0.0 });
            let Some(share) = share(scaled) else { continue };
            // At least one step: what was measured can be seen.
            let filled = ((share * steps as f64).round() as usize).max(1);
            for (row, y) in (area.top()..area.bottom()).rev().enumerate() {
                let below = row * levels.len();
                let symbol = match filled.saturating_sub(below) {
                    0 => break,
                    part if filled > below + levels.len() || part > levels.len() => self.glyphs.full(),
                    part => levels[part - 1],
                };
                buffer[(x, y)].set_symbol(symbol).set_style(self.style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;

    #[test]
    fn a_gap_is_blank_and_a_zero_is_not() {
        let values = [Some(0.0), None, Some(4.0), Some(8.0), None];
        assert_eq!(drawn(Sparkline::new(&values), 6, 1), Buffer::with_lines([" ▁ ▄█ "]));
        assert_eq!(
            drawn(Sparkline::new(&values).glyphs(Glyphs::Ascii), 6, 1),
            Buffer::with_lines([" _ .^ "])
        );
    }

    #[test]
    fn columns_grow_over_the_rows() {
        let values = [Some(1.0), Some(8.0), Some(16.0), Some(f64::NAN)];
        assert_eq!(drawn(Sparkline::new(&values), 4, 2), Buffer::with_lines(["  █ ", "▁██ "]));
    }

    #[test]
    fn a_ceiling_keeps_two_lines_comparable() {
        let values = [Some(1.0), Some(2.0), Some(40.0)];
        assert_eq!(drawn(Sparkline::new(&values).ceiling(4.0), 3, 1), Buffer::with_lines(["▂▄█"]));
    }

    #[test]
    fn nothing_but_zeros_and_nothing_at_all_can_be_drawn() {
        assert_eq!(drawn(Sparkline::new(&[Some(0.0), Some(-3.0)]), 3, 1), Buffer::with_lines([" ▁▁"]));
        assert_eq!(drawn(Sparkline::new(&[]), 2, 1), Buffer::with_lines(["  "]));
        assert_eq!(drawn(Sparkline::new(&[None, Some(f64::INFINITY)]), 2, 1), Buffer::with_lines([" ▁"]));
    }

    #[test]
    fn only_what_is_in_sight_sets_the_height() {
        let values = [Some(100.0), Some(1.0), Some(2.0)];
        assert_eq!(drawn(Sparkline::new(&values), 2, 1), Buffer::with_lines(["▄█"]));
    }

    #[test]
    fn no_area_draws_nothing() {
        drawn(Sparkline::new(&[Some(1.0)]), 0, 0);
        drawn(Sparkline::new(&[Some(1.0)]), 1, 0);
        assert_eq!(drawn(Sparkline::new(&[Some(1.0)]), 1, 1), Buffer::with_lines(["█"]));
    }
}
