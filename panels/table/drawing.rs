//! How a table is drawn: which columns fit, where they stand, and what stands in them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use headwater_engine::filter::{FieldKind, FieldValue};
use headwater_engine::quantity;
use headwater_widgets::apart;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::{Cell, Column, Row, Table, Width};
use crate::palette::ColorRole;
use crate::panel::View;

/// A column that is shown: which one, its first cell and its width.
type Place = (usize, u16, u16);

impl<R: Row> Table<R> {
    /// Draws the head and the rows around the cursor.
    pub fn draw(&mut self, rows: &[R], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        self.area = area;
        if area.is_empty() {
            return;
        }
        let places = self.layout(area.width);
        let arranged = self.arranged(rows);
        self.draw_head(&places, view, area, buffer);
        let height = usize::from(area.height - 1);
        let cursor = self.place_in(&arranged);
        if let Some(cursor) = cursor {
            self.place = cursor;
            // Until somebody moves it the cursor is on whichever row is first: the worst, though it comes later.
            if self.cursor.is_some() {
                self.put_cursor(cursor, &arranged);
            }
            self.top = self.top.min(cursor).max((cursor + 1).saturating_sub(height));
            self.top = self.top.min(arranged.len().saturating_sub(height));
        }
        if let (true, Some(filter)) = (arranged.is_empty() && height > 0, &self.filter) {
            let text = format!("no row of {} matches: {}", rows.len(), filter.as_str());
            let style = view.palette.style(ColorRole::Unknown);
            put(&text, false, Rect { y: area.y + 1, height: 1, ..area }, style, view, buffer);
        }
        let in_sight = &arranged[self.top.min(arranged.len())..arranged.len().min(self.top + height)];
        in_sight.iter().for_each(|row| row.look_up());
        let names = self.names(in_sight, &places, view);
        for (place, row) in arranged.iter().enumerate().skip(self.top).take(height) {
            let line = Rect { y: area.y + 1 + (place - self.top) as u16, height: 1, ..area };
            let is_selected = cursor == Some(place);
            if is_selected {
                buffer.set_style(line, view.palette.style(ColorRole::Selected));
            }
            let names = names.iter().map(|(column, names)| (*column, names[place - self.top].as_str()));
            self.draw_row(row, (&names.collect(), &places), is_selected, view, line, buffer);
        }
    }

    /// How many cells the column of this field has in a table of this width; 0 when it has none there.
    pub fn cells_of(&self, field: &str, width: u16) -> u16 {
        let places = self.layout(width);
        let found = places.iter().find(|(place, ..)| self.columns[*place].field.name == field);
        found.map_or(0, |(_, _, cells)| *cells)
    }

    /// Where the head of this field's column was drawn last; empty when it was not.
    pub fn head_of(&self, field: &str) -> Rect {
        let places = self.layout(self.area.width);
        let found = places.iter().find(|(place, ..)| self.columns[*place].field.name == field);
        let Some((_, x, width)) = found.filter(|_| !self.area.is_empty()) else { return Rect::ZERO };
        Rect { x: self.area.x + x, y: self.area.y, width: *width, height: 1 }
    }

    fn draw_head(&self, places: &[Place], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let style = view.palette.style(ColorRole::Label);
        for (place, x, width) in places {
            let column = &self.columns[*place];
            let mark = match self.order {
                Some((sorted, is_reversed)) if sorted == *place => {
                    let [down, up] = view.palette.glyphs.arrows();
                    if is_reversed { up } else { down }
                }
                _ => "",
            };
            let text = format!("{}{mark}", column.title);
            put(
                &text,
                is_number(column),
                Rect { x: area.x + x, y: area.y, width: *width, height: 1 },
                style,
                view,
                buffer,
            );
        }
    }

    /// The texts of the columns of names, row by row in sight, cut so that they can be told apart.
    fn names(&self, in_sight: &[&R], places: &[Place], view: &View<'_>) -> BTreeMap<usize, Vec<String>> {
        let columns = places.iter().filter(|(place, ..)| {
            let column = &self.columns[*place];
            column.draw.is_none() && in_sight.iter().any(|row| (column.cell)(row).is_name)
        });
        let cut = |(place, _, width): &Place| {
            let column = &self.columns[*place];
            let texts: Vec<Cow<'_, str>> =
                in_sight.iter().map(|row| text_of((column.cell)(row), column)).collect();
            let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
            (*place, apart(&texts, usize::from(*width), view.palette.glyphs))
        };
        columns.map(cut).collect()
    }

    fn draw_row(
        &self,
        row: &R,
        (names, places): (&BTreeMap<usize, &str>, &[Place]),
        is_selected: bool,
        view: &View<'_>,
        line: Rect,
        buffer: &mut Buffer,
    ) {
        for (place, x, width) in places {
            let column = &self.columns[*place];
            let area = Rect { x: line.x + x, width: *width, ..line };
            if let Some(draw) = column.draw {
                draw(row, view, area, buffer);
                continue;
            }
            let cell = (column.cell)(row);
            let role = cell.role;
            let text = names.get(place).map_or_else(|| text_of(cell, column), |name| (*name).into());
            let own = view.palette.style(role);
            let style = if is_selected { own.patch(view.palette.style(ColorRole::Selected)) } else { own };
            put(&text, is_number(column), area, style, view, buffer);
        }
    }

    /// Which columns are shown at this width: their place, first cell and width.
    pub(super) fn layout(&self, width: u16) -> Vec<Place> {
        let least = |column: &Column<R>| match column.width {
            Width::Cells(cells) | Width::Rest(cells) => cells,
        };
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|place| !self.is_left_out(*place)).collect();
        let needed = |shown: &[usize]| {
            shown.iter().map(|place| least(&self.columns[*place]) + 1).sum::<u16>().saturating_sub(1)
        };
        while needed(&shown) > width {
            let last = shown.iter().copied().max_by_key(|place| (self.columns[*place].rank, *place));
            match last.filter(|place| self.columns[*place].rank > 0) {
                Some(last) => shown.retain(|place| *place != last),
                None => break,
            }
        }
        let mut spare = width.saturating_sub(needed(&shown));
        let mut x = 0;
        let mut places = vec![];
        for place in shown {
            let column = &self.columns[place];
            let mut cells = least(column);
            if matches!(column.width, Width::Rest(_)) {
                cells += std::mem::take(&mut spare);
            }
            if x < width {
                places.push((place, x, cells.min(width - x)));
            }
            x += cells + 1;
        }
        places
    }
}

/// What stands in a cell.
fn text_of<'a, R>(cell: Cell<'a>, column: &Column<R>) -> Cow<'a, str> {
    cell.text.unwrap_or_else(|| match (cell.value, column.field.kind) {
        (FieldValue::Text(text), _) => text,
        (FieldValue::Number(value), FieldKind::Number(unit)) => quantity::show(value, unit).into(),
        (FieldValue::Number(value), FieldKind::Text) => value.to_string().into(),
        (FieldValue::Absent, _) => "-".into(),
    })
}

fn is_number<R>(column: &Column<R>) -> bool {
    matches!(column.field.kind, FieldKind::Number(_)) && column.draw.is_none()
}

/// Numbers stand at the right edge; what is too long is cut and marked.
fn put(text: &str, is_right: bool, area: Rect, style: Style, view: &View<'_>, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let (room, wide) = (usize::from(area.width), Span::raw(text).width());
    let x = if is_right && wide < room { area.x + (room - wide) as u16 } else { area.x };
    let (end, _) = buffer.set_stringn(x, area.y, text, room, style);
    if wide > room {
        let last = end.saturating_sub(1).max(area.x);
        buffer[(last, area.y)].set_symbol(view.palette.glyphs.ellipsis());
    }
}
