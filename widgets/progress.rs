//! How far something has come, as one row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::glyphs::{Glyphs, share};

/// A bar that is filled from the left; what is still to do is drawn with the lowest shade, so that a bar at its
/// beginning is not taken for an empty row.
///
/// It is full only at the end and has at least one full cell once anything was done.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    share: Option<f64>,
    glyphs: Glyphs,
    style: Style,
    rest_style: Style,
}

impl Progress {
    /// A bar at this share in 0..=1; `None` when nobody knows how much there is to do.
    pub fn new(share: Option<f64>) -> Self {
        Self { share, glyphs: Glyphs::default(), style: Style::new(), rest_style: Style::new() }
    }

    /// The same bar, drawn with these characters.
    pub fn glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// The same bar with one style for what is done and one for the rest.
    pub fn styles(mut self, done: Style, rest: Style) -> Self {
        self.style = done;
        self.rest_style = rest;
        self
    }
}

impl Widget for Progress {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let Some(share) = share(self.share).filter(|_| !area.is_empty()) else { return };
        let cells = f64::from(area.width);
        let filled = match share {
            0.0 => 0,
            1.0 => area.width,
            _ => ((share * cells) as u16).clamp(1, area.width.saturating_sub(1).max(1)),
        };
        let [rest, .., done] = self.glyphs.shades();
        for (place, x) in (area.left()..area.right()).enumerate() {
            let (symbol, style) =
                if place < usize::from(filled) { (done, self.style) } else { (rest, self.rest_style) };
            buffer[(x, area.top())].set_symbol(symbol).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;

    #[test]
    fn a_bar_is_full_only_at_the_end_and_never_empty_once_begun() {
        for (share, row) in [(0.0, "...."), (0.001, "#..."), (0.5, "##.."), (0.999, "###."), (1.0, "####")] {
            let bar = Progress::new(Some(share)).glyphs(Glyphs::Ascii);
            assert_eq!(drawn(bar, 4, 1), Buffer::with_lines([row]), "{share}");
        }
    }

    #[test]
    fn no_area_and_nothing_known_draw_nothing() {
        drawn(Progress::new(Some(0.5)), 0, 0);
        assert_eq!(drawn(Progress::new(Some(0.5)), 1, 1), Buffer::with_lines(["█"]));
        assert_eq!(drawn(Progress::new(None), 3, 1), Buffer::with_lines(["   "]));
        assert_eq!(drawn(Progress::new(Some(f64::NAN)), 3, 1), Buffer::with_lines(["   "]));
    }
}
