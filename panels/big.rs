//! Words in big type.

use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use tui_big_text::{BigText, PixelSize};

use crate::palette::{ColorRole, Palette};

/// Sizes with the cells of one character, the biggest first. Sizes that need uncommon characters are left out.
const SIZES: &[(PixelSize, u16, u16)] =
    &[(PixelSize::Full, 8, 8), (PixelSize::HalfHeight, 8, 4), (PixelSize::Quadrant, 4, 4)];

/// The size in which texts of this many characters fit side by side in these cells, and its height; `None` for plain
/// text in one row.
pub(crate) fn size_for(
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
pub(crate) fn draw(
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

/// A value with its name above it.
#[derive(Clone, Debug)]
pub(crate) struct Figure<'a> {
    pub(crate) name: &'a str,
    /// What stands beside the name; empty for nothing.
    pub(crate) aside: String,
    pub(crate) value: String,
    pub(crate) role: ColorRole,
    /// Whether it is a number: what says that there is none stays small.
    pub(crate) is_told: bool,
}

/// The size in which the values of all figures fit side by side in these cells, with their names above them.
pub(crate) fn size_of_figures(
    figures: &[Figure<'_>],
    width: u16,
    height: u16,
    glyphs: Glyphs,
) -> Option<(PixelSize, u16)> {
    let cell = width / u16::try_from(figures.len()).unwrap_or(u16::MAX).max(1);
    let told = figures.iter().filter(|figure| figure.is_told);
    let longest = told.map(|figure| figure.value.chars().count()).max()?;
    size_for(longest, cell.saturating_sub(2), height.saturating_sub(1), glyphs)
}

/// Draws figures side by side, the names above the values; returns the rows that they took.
pub(crate) fn draw_figures(
    figures: &[Figure<'_>],
    size: Option<(PixelSize, u16)>,
    palette: &Palette,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let Some(width) = u16::try_from(figures.len()).ok().and_then(|count| area.width.checked_div(count))
    else {
        return 0;
    };
    let mut rows = 1;
    for (place, figure) in (0_u16..).zip(figures) {
        let cell = Rect { x: area.x + width * place, width: width.saturating_sub(1), ..area };
        let mut x = put(figure.name, palette.style(ColorRole::Label), cell, cell.x, buffer);
        if !figure.aside.is_empty() {
            x = put(" ", Style::new(), cell, x, buffer);
            put(&figure.aside, palette.style(figure.role), cell, x, buffer);
        }
        let size = size.filter(|_| figure.is_told);
        let below = Rect { y: cell.y + 1.min(cell.height), height: cell.height.saturating_sub(1), ..cell };
        let drawn = draw(&figure.value, size, palette.style(figure.role), palette.glyphs, below, buffer);
        rows = rows.max(1 + drawn);
    }
    rows
}

/// Writes a text within a cell from `x` on; returns the cell after it.
fn put(text: &str, style: Style, cell: Rect, x: u16, buffer: &mut Buffer) -> u16 {
    let room = usize::from(cell.right().saturating_sub(x));
    if room == 0 || cell.height == 0 || Span::raw(text).width() > room && x > cell.x {
        return x;
    }
    buffer.set_stringn(x, cell.y, text, room, style).0
}
