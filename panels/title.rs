//! A rule across the screen that says what stands below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::palette::{ColorRole, Palette};

/// The blanks around a title with the piece of the rule before and after it, and those of what stands beside it.
const AROUND_TITLE: usize = 4;
const AROUND_ASIDE: usize = 3;

/// How many cells there are beside a title in a row of this width.
pub(crate) fn room_beside(title: &str, width: u16) -> usize {
    usize::from(width).saturating_sub(Span::raw(title).width() + AROUND_TITLE + AROUND_ASIDE)
}

/// Draws a title in the first row of an area, with what else is to be known at its right edge where there is room.
pub(crate) fn draw(title: &str, aside: &str, palette: &Palette, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let rule = palette.glyphs.rule();
    let frame = palette.style(ColorRole::Frame);
    buffer.set_stringn(area.x, area.y, rule.repeat(width), width, frame);
    let text = format!(" {title} ");
    let room = width.saturating_sub(1);
    let start = area.x.saturating_add(1).min(area.right());
    buffer.set_stringn(start, area.y, &text, room, palette.style(ColorRole::Heading));
    let (needed, wanted) = (Span::raw(aside).width(), Span::raw(aside).width() + AROUND_ASIDE);
    if !aside.is_empty() && needed <= room_beside(title, area.width) {
        let x = area.right() - u16::try_from(wanted).unwrap_or(area.width);
        buffer.set_stringn(x, area.y, format!(" {aside} "), wanted, palette.style(ColorRole::Faint));
    }
}
