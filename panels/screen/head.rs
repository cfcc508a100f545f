//! The first rows: whose deployment, how it is, what is open, how old the numbers are.

use headwater_engine::Snapshot;
use headwater_engine::wording::headline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

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
    let mut x = area.x;
    for (place, row) in PANELS.iter().enumerate() {
        let role = if place == screen.active { ColorRole::Active } else { ColorRole::Faint };
        let text = format!("{}{}", shown.keys.label(Command::Show(place)), row.short);
        let room = usize::from(area.right().saturating_sub(x));
        let (end, _) = buffer.set_stringn(x, area.y + 1, text, room, shown.palette.style(role));
        x = end + 1;
    }
    2
}
