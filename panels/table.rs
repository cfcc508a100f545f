//! A table that is told its columns: sorted, filtered, scrolled, with a cursor that stays on its row.

mod column;
mod drawing;

use std::cmp::Ordering;

use headwater_engine::filter::{FieldRow, FieldValue, Filter, Filtered};
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::panel::Outcome;
pub use column::{Cell, Column, DrawCell, Row, Width};
pub(crate) use column::{number, text};

/// The columns of a table with its cursor, order and filter.
#[derive(Debug)]
pub struct Table<R: 'static> {
    columns: &'static [Column<R>],
    /// The column it is sorted by, and whether in reverse; none is the order in which rows are given.
    order: Option<(usize, bool)>,
    filter: Option<Filter>,
    /// Fields of columns that would say nothing at present.
    left_out: &'static [&'static str],
    cursor: Option<String>,
    /// The cursor's place among the rows in sight, for when its row has gone.
    place: usize,
    top: usize,
    area: Rect,
}

struct FieldsOf<'a, R: 'static> {
    row: &'a R,
    columns: &'static [Column<R>],
}

impl<R> Filtered for FieldsOf<'_, R> {
    fn field(&self, place: usize) -> FieldValue<'_> {
        self.columns.get(place).map_or(FieldValue::Absent, |column| (column.cell)(self.row).value)
    }
}

impl<R: Row> Table<R> {
    /// A table of these columns, its rows as they are given.
    pub fn new(columns: &'static [Column<R>]) -> Self {
        Self {
            columns,
            order: None,
            filter: None,
            left_out: &[],
            cursor: None,
            place: 0,
            top: 0,
            area: Rect::ZERO,
        }
    }

    /// What a filter can ask, column by column.
    pub fn fields(&self) -> Vec<FieldRow> {
        self.columns.iter().map(|column| column.field).collect()
    }

    /// Keeps only the rows of this filter.
    pub fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
        self.top = 0;
    }

    /// The filter in force.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// Draws every column but those of these fields, because they would say the same in every row; a filter can still
    /// ask for them.
    pub fn leave_out(&mut self, fields: &'static [&'static str]) {
        self.left_out = fields;
    }

    /// Puts the cursor on the row with this identity.
    pub fn select(&mut self, id: &str) {
        self.cursor = Some(id.to_owned());
    }

    /// `sorted by cpu, reversed`; `None` for the order in which rows are given.
    pub fn order_words(&self) -> Option<String> {
        let (place, is_reversed) = self.order?;
        let reversed = if is_reversed { ", reversed" } else { "" };
        Some(format!("sorted by {}{reversed}", self.columns.get(place)?.field.name))
    }

    /// `3 of 12` under a filter, else `12`.
    pub fn count_words(&self, rows: &[R]) -> String {
        match self.filter {
            Some(_) => format!("{} of {}", rows.iter().filter(|row| self.keeps(row)).count(), rows.len()),
            None => rows.len().to_string(),
        }
    }

    fn keeps(&self, row: &R) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.keeps(&FieldsOf { row, columns: self.columns }))
    }

    /// The rows that pass the filter, group by group, in order.
    pub fn arranged<'a>(&self, rows: &'a [R]) -> Vec<&'a R> {
        let kept = rows.iter().filter(|row| self.keeps(row));
        let Some((column, is_reversed)) =
            self.order.and_then(|(place, is_reversed)| Some((self.columns.get(place)?, is_reversed)))
        else {
            return kept.collect();
        };
        // Each value is asked for once: there may be thousands of rows, at every frame.
        let mut valued: Vec<(&R, Cell<'_>)> = kept.map(|row| (row, (column.cell)(row))).collect();
        valued.sort_by(|(one, cell), (other, other_cell)| {
            let order = compare(cell, other_cell);
            one.group().cmp(&other.group()).then(if is_reversed { order.reverse() } else { order })
        });
        valued.into_iter().map(|(row, _)| row).collect()
    }

    /// The row under the cursor.
    pub fn selected<'a>(&self, rows: &'a [R]) -> Option<&'a R> {
        // The row that the cursor is on needs no order of the others.
        let own = self.cursor.as_ref().and_then(|id| rows.iter().find(|row| row.id() == id));
        own.filter(|row| self.keeps(row)).or_else(|| {
            let arranged = self.arranged(rows);
            arranged.get(self.place_in(&arranged)?).copied()
        })
    }

    fn place_in(&self, arranged: &[&R]) -> Option<usize> {
        let last = arranged.len().checked_sub(1)?;
        let found = self.cursor.as_ref().and_then(|id| arranged.iter().position(|row| row.id() == id));
        Some(found.unwrap_or(self.place.min(last)))
    }

    /// Takes the actions of tables; everything else is ignored.
    pub fn act(&mut self, action: Action, rows: &[R]) -> Outcome {
        match action {
            Action::Sort => self.sort_by_next(),
            Action::Reverse => {
                let Some((_, is_reversed)) = &mut self.order else {
                    return Outcome::Refused("nothing is sorted yet".to_owned());
                };
                *is_reversed = !*is_reversed;
            }
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::Top | Action::Bottom => {
                let arranged = self.arranged(rows);
                let Some(place) = self.place_in(&arranged) else { return Outcome::Done };
                let page = usize::from(self.area.height.saturating_sub(2)).max(1);
                let place = match action {
                    Action::Up => place.saturating_sub(1),
                    Action::Down => place + 1,
                    Action::PageUp => place.saturating_sub(page),
                    Action::PageDown => place + page,
                    Action::Top => 0,
                    _ => usize::MAX,
                };
                self.put_cursor(place, &arranged);
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    /// Puts the cursor on the row at a cell of the screen; whether there is one.
    pub fn click(&mut self, at: Position, rows: &[R]) -> bool {
        if !self.area.contains(at) || at.y == self.area.y {
            return false;
        }
        let arranged = self.arranged(rows);
        let place = self.top + usize::from(at.y - self.area.y - 1);
        let is_row = place < arranged.len();
        if is_row {
            self.put_cursor(place, &arranged);
        }
        is_row
    }

    fn put_cursor(&mut self, place: usize, arranged: &[&R]) {
        self.place = place.min(arranged.len().saturating_sub(1));
        self.cursor = arranged.get(self.place).map(|row| row.id().to_owned());
    }

    fn sort_by_next(&mut self) {
        let from = self.order.map_or(0, |(place, _)| place + 1);
        let next = (from..self.columns.len()).find(|place| self.is_to_sort_by(*place));
        self.order = next.map(|next| (next, false));
    }

    /// Whether a column is in sight, so that its order can be seen, and is more than a drawing.
    fn is_to_sort_by(&self, place: usize) -> bool {
        let is_in_sight = if self.area.is_empty() {
            !self.is_left_out(place)
        } else {
            self.layout(self.area.width).iter().any(|(shown, ..)| *shown == place)
        };
        is_in_sight && self.columns.get(place).is_some_and(|column| column.draw.is_none())
    }

    fn is_left_out(&self, place: usize) -> bool {
        self.columns.get(place).is_some_and(|column| self.left_out.contains(&column.field.name))
    }
}

/// The worst first: words by their own order or else by the alphabet; great numbers, then small ones, then what nobody
/// knows.
fn compare(one: &Cell<'_>, other: &Cell<'_>) -> Ordering {
    if let (Some(one), Some(other)) = (one.rank, other.rank) {
        return one.cmp(&other);
    }
    match (&one.value, &other.value) {
        (FieldValue::Number(one), FieldValue::Number(other)) => other.total_cmp(one),
        (FieldValue::Text(one), FieldValue::Text(other)) => one.cmp(other),
        (FieldValue::Absent, FieldValue::Absent) => Ordering::Equal,
        (FieldValue::Absent, _) | (FieldValue::Text(_), FieldValue::Number(_)) => Ordering::Greater,
        (_, FieldValue::Absent) | (FieldValue::Number(_), FieldValue::Text(_)) => Ordering::Less,
    }
}

#[cfg(test)]
mod tests;
