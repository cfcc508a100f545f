//! What stands in the place of the panel before the first evaluation.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::Shown;
use crate::palette::ColorRole;

/// Says who is waited for.
pub(crate) fn draw(shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let palette = shown.palette;
    let text = "connecting; the first verdict comes with the first answers";
    Hanging::new("?", 2, text)
        .label_style(palette.style(ColorRole::Unknown))
        .text_style(palette.style(ColorRole::Unknown))
        .glyphs(palette.glyphs)
        .render(Rect { height: area.height.min(2), ..area }, buffer);
    let list = Rect { y: area.y + area.height.min(2), height: area.height.saturating_sub(2), ..area };
    let names = &shown.status.waiting_for;
    let room = usize::from(list.height);
    let shown_names = if names.len() > room { room.saturating_sub(1) } else { names.len() };
    let more = (shown_names < names.len()).then(|| format!("and {} more", names.len() - shown_names));
    let rows = names.iter().take(shown_names).map(|name| format!("waiting for {name}")).chain(more);
    for (text, y) in rows.zip(list.top()..list.bottom()) {
        let style = palette.style(ColorRole::Text);
        buffer.set_stringn(list.x, y, format!("  {text}"), usize::from(list.width), style);
    }
}
