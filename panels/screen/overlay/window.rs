//! The frame of what lies over a panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};

use headwater_widgets::Glyphs;

use crate::palette::{ColorRole, Palette};

/// Below this size there is no frame: the content needs every cell.
const LEAST: (u16, u16) = (16, 4);

/// Clears an area, draws a frame with this title and footer where there is room, and returns what is inside.
pub(super) fn open(title: &str, footer: &str, palette: &Palette, area: Rect, buffer: &mut Buffer) -> Rect {
    let area = area.intersection(buffer.area);
    Clear.render(area, buffer);
    buffer.set_style(area, palette.ground);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return area;
    }
    let block = Block::bordered()
        .border_set(match palette.glyphs {
            Glyphs::Unicode => border::PLAIN,
            Glyphs::Ascii => ASCII,
        })
        .border_style(palette.style(ColorRole::Frame))
        .title_style(palette.style(ColorRole::Heading))
        .title_top(Line::raw(format!(" {title} ")))
        .title_bottom(Line::styled(format!(" {footer} "), palette.style(ColorRole::Faint)));
    let inner = block.inner(area);
    block.render(area, buffer);
    inner
}

const ASCII: border::Set<'_> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// A place of at most this size in the middle of an area.
pub(super) fn centered(width: u16, height: u16, area: Rect) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}
