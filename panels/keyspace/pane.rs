//! One view of the panel: rows of one kind in a table, each of which opens as a page or leads somewhere.

use headwater_engine::filter::{FieldRow, Filter};
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::lines::Line;
use crate::listing::Listing;
use crate::palette::ColorRole;
use crate::panel::{Outcome, View};
use crate::table::{Column, Row};

/// What rows are made from: what is shown, and what was asked for.
#[derive(Clone, Copy)]
pub(super) struct Looked<'a> {
    /// What the panel is drawn from.
    pub(super) view: &'a View<'a>,
    /// The shard that was opened; all where none was.
    pub(super) of: Option<&'a Subject>,
    /// The shard that actions are about: the one that was opened, else the one under the cursor of the list.
    pub(super) about: Option<&'a Subject>,
    /// Keys that were typed in to be placed.
    pub(super) typed: &'a [String],
}

impl<'a> Looked<'a> {
    /// What is known.
    pub(super) fn snapshot(&self) -> &'a Snapshot {
        self.view.snapshot
    }

    /// Whether a shard, or a node of it, is looked at.
    pub(super) fn includes(&self, subject: &Subject) -> bool {
        self.of.is_none_or(|of| of.contains(subject))
    }
}

/// Sentences with the role of each.
pub(super) type Sentences = Vec<(String, ColorRole)>;

/// Draws a picture of what is looked at.
pub(super) type DrawPicture = fn(&Looked<'_>, Rect, &mut Buffer);

/// One row of the table of views.
pub(super) struct ViewRow {
    /// Its name, as the line of views has it.
    pub(super) name: &'static str,
    /// Makes its rows as they are when Headwater starts.
    pub(super) make: fn() -> Box<dyn Pane>,
    /// What is said above its rows, the most important first.
    pub(super) told: fn(&Looked<'_>) -> Sentences,
    /// What is said where it has no row: why, and what would give some.
    pub(super) empty: fn(&Looked<'_>) -> Sentences,
    /// A picture above the rows, where there is room for so many lines of it.
    pub(super) picture: Option<(u16, DrawPicture)>,
    /// What `open` does, in two words at most.
    pub(super) opens: &'static str,
}

/// What opening a row comes to.
pub(super) enum Opened {
    /// Its page is shown.
    Page,
    /// This shard is looked at alone.
    Shard(Subject),
    /// Something else.
    Other(Outcome),
}

/// What a pane's rows are and what they do.
pub(super) struct RowsOf<R: 'static> {
    /// Their columns.
    pub(super) columns: &'static [Column<R>],
    /// The rows, in the order in which they are shown first.
    pub(super) rows: fn(&Looked<'_>) -> Vec<R>,
    /// A row in one sentence: what is said of the one under the cursor, and what is copied.
    pub(super) words: fn(&R) -> String,
    /// What opening a row does, or opening while there is none.
    pub(super) open: fn(Option<&R>, &Looked<'_>) -> Opened,
    /// All that is known of a row.
    pub(super) page: fn(&R, &Looked<'_>) -> Vec<Line>,
}

/// The rows of a view with their cursor, order and filter.
pub(super) trait Pane {
    /// How many rows there are, before any filter.
    fn count(&self, looked: &Looked<'_>) -> usize;
    /// Draws the rows, or the page that is open.
    fn draw(&mut self, looked: &Looked<'_>, area: Rect, buffer: &mut Buffer);
    /// Whether a page is open.
    fn has_page(&self) -> bool;
    /// Whether opening does something.
    fn opens(&self, looked: &Looked<'_>) -> bool;
    /// Takes an action; whatever leads to another shard is for the panel.
    fn act(&mut self, action: Action, looked: &Looked<'_>) -> Opened;
    /// The row under the cursor in one sentence.
    fn copied(&self, looked: &Looked<'_>) -> Option<String>;
    /// The identity of the row under the cursor.
    fn selected(&self, looked: &Looked<'_>) -> Option<String>;
    /// Puts the cursor on a row.
    fn select(&mut self, id: &str);
    /// How rows are ordered and filtered.
    fn order_words(&self, looked: &Looked<'_>) -> Vec<String>;
    /// What a filter can ask.
    fn fields(&self) -> Vec<FieldRow>;
    /// Keeps only the rows of this filter.
    fn set_filter(&mut self, filter: Option<Filter>);
    /// The filter in force.
    fn filter(&self) -> Option<&Filter>;
    /// Takes a click.
    fn click(&mut self, at: Position, looked: &Looked<'_>) -> Outcome;
    /// Leaves the page.
    fn close(&mut self);
}

/// A pane of rows of one kind.
pub(super) struct Rows<R: 'static> {
    of: &'static RowsOf<R>,
    listing: Listing<R>,
}

impl<R: Row> Rows<R> {
    /// A pane of these rows.
    pub(super) fn boxed(of: &'static RowsOf<R>) -> Box<dyn Pane> {
        Box::new(Self { of, listing: Listing::new(of.columns) })
    }

    fn rows(&self, looked: &Looked<'_>) -> Vec<R> {
        (self.of.rows)(looked)
    }
}

impl<R: Row> Pane for Rows<R> {
    fn count(&self, looked: &Looked<'_>) -> usize {
        self.rows(looked).len()
    }

    fn draw(&mut self, looked: &Looked<'_>, area: Rect, buffer: &mut Buffer) {
        let rows = self.rows(looked);
        self.listing.settle(&rows);
        if let Some(row) = self.listing.opened(&rows) {
            let (heading, lines) = (row.id().to_owned(), (self.of.page)(row, looked));
            return self.listing.page.draw(&heading, &lines, looked.view.palette, area, buffer);
        }
        self.listing.table.draw(&rows, looked.view, area, buffer);
    }

    fn has_page(&self) -> bool {
        self.listing.opened_id().is_some()
    }

    fn opens(&self, looked: &Looked<'_>) -> bool {
        let rows = self.rows(looked);
        let row = self.listing.table.selected(&rows);
        !self.has_page()
            && match (self.of.open)(row, looked) {
                Opened::Page => row.is_some(),
                Opened::Shard(_) => true,
                Opened::Other(outcome) => outcome.does_something(),
            }
    }

    fn act(&mut self, action: Action, looked: &Looked<'_>) -> Opened {
        let rows = self.rows(looked);
        self.listing.settle(&rows);
        if action == Action::Open && !self.has_page() {
            match (self.of.open)(self.listing.table.selected(&rows), looked) {
                Opened::Page => {}
                other => return other,
            }
        }
        Opened::Other(self.listing.act(action, &rows, "there is no row to open"))
    }

    fn copied(&self, looked: &Looked<'_>) -> Option<String> {
        self.listing.table.selected(&self.rows(looked)).map(self.of.words)
    }

    fn selected(&self, looked: &Looked<'_>) -> Option<String> {
        self.listing.table.selected(&self.rows(looked)).map(|row| row.id().to_owned())
    }

    fn select(&mut self, id: &str) {
        self.listing.table.select(id);
    }

    fn order_words(&self, looked: &Looked<'_>) -> Vec<String> {
        let table = &self.listing.table;
        let filtered = table.filter().map(|_| format!("{} rows", table.count_words(&self.rows(looked))));
        table.order_words().into_iter().chain(filtered).collect()
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.listing.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing.table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.listing.filter()
    }

    fn click(&mut self, at: Position, looked: &Looked<'_>) -> Outcome {
        self.listing.click(at, &self.rows(looked))
    }

    fn close(&mut self) {
        self.listing.close();
    }
}
