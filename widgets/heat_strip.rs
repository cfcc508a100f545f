//! A row of shaded cells, one a value: how full something was, over time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::glyphs::{Glyphs, share, step};

/// Values in 0..=1 as one row of shaded cells, the newest at the right edge.
///
/// Values beyond 0..=1 are drawn as the nearest end. A gap is a blank cell, so that it is never taken for a zero.
/// With more values than cells the oldest are left out: cells are never averaged, and a strip moves by whole cells.
#[derive(Clone, Copy, Debug)]
pub struct HeatStrip<'a> {
    values: &'a [Option<f64>],
    glyphs: Glyphs,
    styles: [Style; 4],
}

impl<'a> HeatStrip<'a> {
    /// A strip of these values, oldest first, without colour.
    pub fn new(values: &'a [Option<f64>]) -> Self {
        Self { values, glyphs: Glyphs::default(), styles: [Style::new(); 4] }
    }

    /// The same strip, drawn with these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// The same strip with a style for each shade, from empty to full.
    pub fn styles(mut self, styles: [Style; 4]) -> Self {
        self.styles = styles;
        self
    }
}

impl Widget for HeatStrip<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let shades = self.glyphs.shades();
        for (value, x) in self.values.iter().rev().zip((area.left()..area.right()).rev()) {
            let Some(share) = share(*value) else { continue };
            let shade = step(share, shades.len());
            buffer[(x, area.top())].set_symbol(shades[shade]).set_style(self.styles[shade]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;
    use ratatui::style::Color;

    const VALUES: [Option<f64>; 6] = [Some(0.0), Some(0.34), None, Some(0.6), Some(1.0), Some(7.0)];

    #[test]
    fn the_newest_value_stands_at_the_right_edge_and_a_gap_is_blank() {
        assert_eq!(drawn(HeatStrip::new(&VALUES), 8, 1), Buffer::with_lines(["  ░▒ ▓██"]));
        assert_eq!(
            drawn(HeatStrip::new(&VALUES).glyphs(Glyphs::Ascii), 8, 2),
            Buffer::with_lines(["  .- +##", "        "])
        );
    }

    #[test]
    fn the_oldest_values_are_left_out_when_the_row_is_short() {
        assert_eq!(drawn(HeatStrip::new(&VALUES), 3, 1), Buffer::with_lines(["▓██"]));
        assert_eq!(drawn(HeatStrip::new(&VALUES), 1, 1), Buffer::with_lines(["█"]));
    }

    #[test]
    fn each_shade_has_the_style_that_was_passed_in() {
        let hot = Style::new().fg(Color::Red);
        let plain = Style::new();
        let buffer = drawn(HeatStrip::new(&[Some(0.0), Some(1.0)]).styles([plain, plain, plain, hot]), 2, 1);
        assert_eq!((buffer[(0, 0)].fg, buffer[(1, 0)].fg), (Color::Reset, Color::Red));
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        assert_eq!(
            drawn(HeatStrip::new(&[Some(f64::NAN), Some(f64::INFINITY), Some(-1.0)]), 3, 1),
            Buffer::with_lines([" █░"])
        );
    }

    #[test]
    fn no_area_and_an_area_outside_of_the_buffer_draw_nothing() {
        drawn(HeatStrip::new(&VALUES), 0, 0);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 1));
        HeatStrip::new(&VALUES).render(Rect::new(5, 3, 9, 9), &mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["  "]));
    }
}
