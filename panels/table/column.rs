//! What a table is told: columns, rows and cells.

use std::borrow::Cow;

use headwater_engine::filter::{FieldKind, FieldRow, FieldValue};
use headwater_engine::metric::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::palette::ColorRole;
use crate::panel::View;

/// A row of a table: what it is called, whatever place it has.
pub trait Row {
    /// Its identity: the cursor stays on it while rows come, go and change places.
    fn id(&self) -> &str;

    /// Rows of a lower group stand before those of a higher one, whatever they are sorted by.
    fn group(&self) -> usize {
        0
    }

    /// Called before a row in sight is drawn: the moment to look up at once what its cells will ask for. Of a thousand
    /// rows most are never in sight.
    fn look_up(&self) {}
}

/// One column.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// What filters and `sort` call it.
    pub field: FieldRow,
    /// Its head, at most as wide as the column.
    pub title: &'static str,
    /// Its width.
    pub width: Width,
    /// In a narrow area columns with a high rank are left out first; rank 0 never is.
    pub rank: u8,
    /// Its cell in a row.
    pub cell: fn(&R) -> Cell<'_>,
    /// Draws the cell instead of its text.
    pub draw: Option<DrawCell<R>>,
}

/// Draws a cell: the row, what it is drawn from, the cell's area, the buffer.
pub type DrawCell<R> = fn(&R, &View<'_>, Rect, &mut Buffer);

/// The width of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// This many cells.
    Cells(u16),
    /// What the others leave, at least this many cells; the first such column takes it all.
    Rest(u16),
}

/// What stands in a cell.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The value, for order and filters.
    pub value: FieldValue<'a>,
    /// Its text, where it is not just the value with its unit.
    pub text: Option<Cow<'a, str>>,
    /// The colour of what it means.
    pub role: ColorRole,
    /// Its place among words that have an order of their own, from the worst to the best; others stand in that of the
    /// alphabet.
    pub rank: Option<u8>,
    /// Whether it is a name, which is cut in the middle where it is too long.
    pub is_name: bool,
}

impl<'a> Cell<'a> {
    /// A number in its column's unit; `None` is drawn as a dash.
    pub fn number(value: Option<f64>) -> Self {
        let value = value.map_or(FieldValue::Absent, FieldValue::Number);
        Self { value, text: None, role: ColorRole::Text, rank: None, is_name: false }
    }

    /// Words.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let value = FieldValue::Text(text.into());
        Self { value, text: None, role: ColorRole::Text, rank: None, is_name: false }
    }

    /// A name: what tells it from those of the other rows is never cut off.
    pub fn name(text: impl Into<Cow<'a, str>>) -> Self {
        Self { is_name: true, ..Self::text(text) }
    }

    /// The same in the colour of this role.
    pub fn colored(mut self, role: ColorRole) -> Self {
        self.role = role;
        self
    }

    /// The same at this place of its words' own order; 0 is the worst.
    pub fn ranked(mut self, rank: u8) -> Self {
        self.rank = Some(rank);
        self
    }

    /// The same, shown as this text.
    pub fn shown(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.text = Some(text.into());
        self
    }
}

/// A column of words whose head is its name.
pub(crate) const fn text<R>(
    name: &'static str,
    help: &'static str,
    width: Width,
    rank: u8,
    cell: fn(&R) -> Cell<'_>,
) -> Column<R> {
    let field = FieldRow { name, kind: FieldKind::Text, help };
    Column { field, title: name, width, rank, cell, draw: None }
}

/// A column of numbers whose head is its name.
pub(crate) const fn number<R>(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    cells: u16,
    rank: u8,
    cell: fn(&R) -> Cell<'_>,
) -> Column<R> {
    let field = FieldRow { name, kind: FieldKind::Number(unit), help };
    Column { field, title: name, width: Width::Cells(cells), rank, cell, draw: None }
}
