//! A table each of whose rows opens as a page.

use headwater_engine::filter::{FieldRow, Filter};
use ratatui::layout::Position;

use crate::action::Action;
use crate::page::Page;
use crate::panel::Outcome;
use crate::table::{Column, Row, Table};

/// A table with the page of the row that was opened, if any was.
pub(crate) struct Listing<R: 'static> {
    pub(crate) table: Table<R>,
    pub(crate) page: Page,
    /// The id of the row whose page is shown.
    opened: Option<String>,
}

impl<R: Row> Listing<R> {
    pub(crate) fn new(columns: &'static [Column<R>]) -> Self {
        Self { table: Table::new(columns), page: Page::default(), opened: None }
    }

    /// The id of the row whose page is shown, be the row still there or not.
    pub(crate) fn opened_id(&self) -> Option<&str> {
        self.opened.as_deref()
    }

    /// The row whose page is shown.
    pub(crate) fn opened<'a>(&self, rows: &'a [R]) -> Option<&'a R> {
        let opened = self.opened_id()?;
        rows.iter().find(|row| row.id() == opened)
    }

    /// Leaves the page.
    pub(crate) fn close(&mut self) {
        self.opened = None;
    }

    /// Leaves a page whose row has gone.
    pub(crate) fn settle(&mut self, rows: &[R]) {
        if self.opened(rows).is_none() {
            self.close();
        }
    }

    /// Opens the row under the cursor and leaves it; else what the page takes while it is shown, and the table otherwise.
    /// `nothing` says why none can be opened.
    pub(crate) fn act(&mut self, action: Action, rows: &[R], nothing: &str) -> Outcome {
        match (action, &self.opened) {
            (Action::Back, Some(_)) => self.close(),
            (_, Some(_)) => return self.page.act(action),
            (Action::Open, None) => {
                let Some(row) = self.table.selected(rows) else {
                    return Outcome::Refused(nothing.to_owned());
                };
                self.opened = Some(row.id().to_owned());
                self.page = Page::default();
            }
            _ => return self.table.act(action, rows),
        }
        Outcome::Done
    }

    /// What a filter can ask; nothing on a page, which has no rows, and whose table cannot be seen.
    pub(crate) fn fields(&self) -> Vec<FieldRow> {
        if self.opened.is_some() { vec![] } else { self.table.fields() }
    }

    /// The filter in force; none on a page.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.table.filter().filter(|_| self.opened.is_none())
    }

    /// Takes a click on a row; a page takes none.
    pub(crate) fn click(&mut self, at: Position, rows: &[R]) -> Outcome {
        if self.opened.is_none() && self.table.click(at, rows) { Outcome::Done } else { Outcome::Ignored }
    }
}
