//! Words in big type.

use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use tui_big_text::{BigText, PixelSize};

/// Sizes with the cells of one character, the biggest first. Sizes that need uncommon characters are left out.
const SIZES: &[(PixelSize, u16, u16)] =
    &[(PixelSize::Full, 8, 8), (PixelSize::HalfHeight, 8, 4), (PixelSize::Quadrant, 4, 4)];

/// The size in which texts of this many characters fit side by side in these cells, and its height; `None` for plain
/// text in one row.
pub(super) fn size_for(
    characters: usize,
    width: u16,
    height: u16,
    glyphs: Glyphs,
) -> Option<(PixelSize, u16)> {
    SIZES
        .iter()
        // Without blocks only whole cells can be drawn.
        .filter(|(size, ..)| glyphs == Glyphs::Unicode || *size == PixelSize::Full)
        .find(|(_, wide, tall)| {
            characters.saturating_mul(usize::from(*wide)) <= usize::from(width) && *tall <= height
        })
        .map(|(size, _, tall)| (*size, *tall))
}

/// Draws a text at the top of an area; returns the rows that it took.
pub(super) fn draw(
    text: &str,
    size: Option<(PixelSize, u16)>,
    style: Style,
    glyphs: Glyphs,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return 0;
    }
    let Some((size, tall)) = size else {
        buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
        if Span::raw(text).width() > usize::from(area.width) {
            buffer[(area.right() - 1, area.y)].set_symbol(glyphs.ellipsis());
        }
        return 1;
    };
    let place = Rect { height: tall.min(area.height), ..area };
    let text = BigText::builder().pixel_size(size).style(style).lines(vec![Line::raw(text)]).build();
    text.render(place, buffer);
    if glyphs == Glyphs::Ascii {
        for position in place.positions() {
            if !buffer[position].symbol().is_ascii() {
                buffer[position].set_symbol("#");
            }
        }
    }
    place.height
}
