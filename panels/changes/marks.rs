//! Changes on the axes of time.

use headwater_engine::{Moment, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::palette::{ColorRole, Palette};

/// The sign of a change on an axis of time.
pub(crate) const GLYPH: &str = "c";

/// Puts the sign of each change into the cell of its moment in a row; cells that `place` knows none for have none.
pub(crate) fn draw(
    snapshot: &Snapshot,
    place: impl Fn(Moment) -> Option<usize>,
    palette: &Palette,
    row: Rect,
    buffer: &mut Buffer,
) {
    let row = row.intersection(buffer.area);
    if row.is_empty() {
        return;
    }
    for change in snapshot.changes.iter() {
        let cell = place(change.at).and_then(|place| u16::try_from(place).ok());
        if let Some(x) = cell.map(|cell| row.x.saturating_add(cell)).filter(|x| *x < row.right()) {
            buffer[(x, row.y)].set_symbol(GLYPH).set_style(palette.style(ColorRole::Mark));
        }
    }
}
