//! Sentences below each other.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::palette::ColorRole;
use crate::panel::View;

/// Draws sentences below each other, wrapped, as many as there is room for.
pub(crate) fn draw_sentences(
    sentences: &[(String, ColorRole)],
    view: &View<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut rest = area.intersection(buffer.area);
    for (text, role) in sentences {
        let told =
            Hanging::new("", 0, text).text_style(view.palette.style(*role)).glyphs(view.palette.glyphs);
        let height = told.height(rest.width).min(rest.height);
        told.render(Rect { height, ..rest }, buffer);
        rest.y += height;
        rest.height -= height;
    }
}
