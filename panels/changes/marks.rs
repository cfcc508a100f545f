//! Changes, and the errors of GPUs, on the axes of time.

use headwater_engine::gpu_errors::GpuError;
use headwater_engine::{Moment, Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::palette::{ColorRole, Palette};

/// The sign of a change on an axis of time.
pub(crate) const GLYPH: &str = "c";

/// The sign of an error that the driver of a GPU logged (XID) on an axis of time.
pub(crate) const ERROR: &str = "x";

/// A mark: its moment, its sign, its colour.
pub(crate) type Mark = (Moment, &'static str, ColorRole);

/// Every one of them.
pub(crate) fn all(snapshot: &Snapshot) -> impl Iterator<Item = Mark> + '_ {
    changes(snapshot).chain(snapshot.gpu_errors.seen().map(|(_, error)| of_error(error)))
}

/// The changes, and of the errors those of one GPU.
pub(crate) fn of_gpu<'a>(snapshot: &'a Snapshot, gpu: &Subject) -> impl Iterator<Item = Mark> + 'a {
    let errors = snapshot.gpu_errors.of(gpu).iter().filter(|error| error.is_seen);
    changes(snapshot).chain(errors.map(of_error))
}

fn changes(snapshot: &Snapshot) -> impl Iterator<Item = Mark> + '_ {
    snapshot.changes.iter().map(|change| (change.at, GLYPH, ColorRole::Mark))
}

fn of_error(error: &GpuError) -> Mark {
    (error.at, ERROR, ColorRole::Suspect)
}

/// Puts the sign of every one into the cell of its moment in a row; moments that `place` knows no cell for have none.
pub(crate) fn draw(
    snapshot: &Snapshot,
    place: impl Fn(Moment) -> Option<usize>,
    palette: &Palette,
    row: Rect,
    buffer: &mut Buffer,
) {
    put(all(snapshot), place, palette, row, buffer);
}

/// Puts the signs of these marks into the cells of their moments in a row.
pub(crate) fn put(
    marks: impl Iterator<Item = Mark>,
    place: impl Fn(Moment) -> Option<usize>,
    palette: &Palette,
    row: Rect,
    buffer: &mut Buffer,
) {
    let row = row.intersection(buffer.area);
    for (at, sign, role) in marks {
        let cell = place(at).and_then(|place| u16::try_from(place).ok());
        if let Some(x) =
            cell.map(|cell| row.x.saturating_add(cell)).filter(|x| *x < row.right() && row.height > 0)
        {
            buffer[(x, row.y)].set_symbol(sign).set_style(palette.style(role));
        }
    }
}
