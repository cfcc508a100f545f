//! Sentences below each other.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::palette::ColorRole;
use crate::panel::View;

/// The rows that sentences take at this width.
pub(crate) fn height_of(sentences: &[(String, ColorRole)], view: &View<'_>, width: u16) -> u16 {
    let height = |text: &str| Hanging::new("", 0, text).glyphs(view.palette.glyphs).height(width);
    sentences.iter().map(|(text, _)| height(text)).fold(0, u16::saturating_add)
}

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
