//! The first rows: whose deployment, how it is, what is open, how old the numbers are.

use headwater_engine::Snapshot;
use headwater_engine::wording::headline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{Screen, Shown};
use crate::keys::Command;
use crate::palette::ColorRole;
use crate::panel::PANELS;

/// Below this height there is no list of panels.
const LEAST_HEIGHT: u16 = 8;

/// Draws the head; returns how many rows it took.
pub(super) fn draw(
    screen: &Screen,
    snapshot: Option<&Snapshot>,
    shown: &Shown<'_>,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let width = usize::from(area.width);
    let text = snapshot.map_or_else(
        || "headwater".to_owned(),
        |snapshot| {
            format!(
                "headwater {}   {}   {}",
                snapshot.report.name,
                headline(snapshot.report.conclusion),
                snapshot.at.clock()
            )
        },
    );
    buffer.set_stringn(area.x, area.y, text, width, shown.palette.style(ColorRole::Heading));
    if area.height < LEAST_HEIGHT {
        return 1;
    }
    for (place, tab, text) in tabs(shown, area) {
        let role = if place == screen.active { ColorRole::Active } else { ColorRole::Faint };
        buffer.set_stringn(tab.x, tab.y, text, usize::from(tab.width), shown.palette.style(role));
    }
    2
}

/// The list of panels: each one's place in the table, its cells and its text. Clicks are looked up in it too.
pub(super) fn tabs(shown: &Shown<'_>, area: Rect) -> Vec<(usize, Rect, String)> {
    if area.height < LEAST_HEIGHT {
        return vec![];
    }
    let mut x = area.x;
    let mut tabs = vec![];
    for (place, row) in PANELS.iter().enumerate() {
        let text = format!("{}{}", shown.keys.label(Command::Show(place)), row.short);
        let width = (Span::raw(text.as_str()).width() as u16).min(area.right().saturating_sub(x));
        tabs.push((place, Rect { x, y: area.y + 1, width, height: 1 }, text));
        x += width + 1;
    }
    tabs
}
