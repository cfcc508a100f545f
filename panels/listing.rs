//! A table whose rows may open as a page, and what every panel that is one does with keys and views.

mod kept;
mod opening;
mod settling;

use headwater_engine::filter::{FieldRow, Filter};
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::page::Page;
use crate::panel::{Outcome, Panel, View};
use crate::table::{Column, Row, Table};
use kept::Kept;
pub(crate) use opening::Opens;
use settling::{draw_by, keep, settled};

/// A panel that is a list of rows. It says what its rows are and draws them; what lists have in common stands once, in the
/// [`Panel`] that each of these is.
pub(crate) trait ListPanel {
    /// One row.
    type Row: Row + 'static;

    /// Whether its rows follow from the snapshot alone, so that they are made once for each and not at every key.
    const ONCE_A_SNAPSHOT: bool = false;

    /// Whether a page stays open when its row has gone.
    const PAGE_OUTLIVES_ROW: bool = false;

    /// Why no row can be opened, where there is none.
    const NOTHING: &'static str;

    /// The list.
    fn listing(&self) -> &Listing<Self::Row>;

    /// The list, to be changed.
    fn listing_mut(&mut self) -> &mut Listing<Self::Row>;

    /// Every row, whatever the filter.
    fn rows(&self, view: &View<'_>) -> Vec<Self::Row>;

    /// Draws the rows, or the page of the one that is opened.
    fn draw_rows(&mut self, rows: &mut [Self::Row], view: &View<'_>, area: Rect, buffer: &mut Buffer);

    /// Draws the rows for who stands across the room.
    fn draw_rows_on_wall(
        &mut self,
        rows: &mut [Self::Row],
        view: &View<'_>,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        self.draw_rows(rows, view, area, buffer);
    }

    /// The row under the cursor, or the one that is opened, in words, for the clipboard.
    fn in_words(&self, row: &Self::Row) -> String;

    /// What there is to copy where there is no row.
    fn in_all(&self, _view: &View<'_>) -> Option<String> {
        None
    }

    /// What `open` does to a row, or why it does nothing to it.
    fn opens(&self, _row: &Self::Row, _view: &View<'_>) -> Result<Opens, String> {
        Ok(Opens::Page)
    }

    /// Takes an action in its own way; `None` for one that it takes as every list does.
    fn act_first(&mut self, _action: Action, _rows: &[Self::Row], _view: &View<'_>) -> Option<Outcome> {
        None
    }

    /// The row to put the cursor on for who wants to see a subject.
    fn about<'r>(
        &self,
        rows: &'r [Self::Row],
        subject: &Subject,
        _snapshot: &Snapshot,
    ) -> Option<&'r Self::Row> {
        rows.iter().find(|row| row.id() == subject.as_str())
    }

    /// Opens it for who wants to see a subject.
    fn turn_to(&mut self, subject: &Subject) {
        self.listing_mut().want(subject);
    }

    /// What the bar of keys offers.
    fn offered(&self) -> &'static [Action] {
        match self.listing().opened_id() {
            Some(_) => ON_A_PAGE,
            None => &[Action::Open],
        }
    }

    /// What the bar of keys says beside the key of an action; `None` while it would do nothing.
    fn beside_key(&self, action: Action, _view: &View<'_>) -> Option<&'static str> {
        Some(action.row().short)
    }

    /// Words that help explains.
    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// What the bar of keys offers while a row is opened as a page.
pub(crate) const ON_A_PAGE: &[Action] = &[Action::Back, Action::Up, Action::Down];

impl<P: ListPanel> Panel for P {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        draw_by(self, P::draw_rows, view, area, buffer);
    }

    fn draw_on_wall(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        draw_by(self, P::draw_rows_on_wall, view, area, buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let rows = settled(self, view);
        let own = self.act_first(action, &rows, view);
        let outcome = own.unwrap_or_else(|| match action {
            Action::Open if self.listing().opened.is_none() => opening::open(self, &rows, view),
            _ => self.listing_mut().act(action, &rows, P::NOTHING),
        });
        keep(self, rows, view);
        outcome
    }

    fn actions(&self) -> &'static [Action] {
        self.offered()
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let does_nothing = match action {
            Action::Open => !self.listing().leads,
            Action::Copy => !self.listing().tells,
            _ => false,
        };
        self.beside_key(action, view).filter(|_| !does_nothing)
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        self.explained()
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.listing().fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing_mut().table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.listing().filter()
    }

    fn close(&mut self) {
        self.listing_mut().close();
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let rows = self.rows(view);
        let row = self.listing().in_sight(&rows);
        row.map(|row| self.in_words(row)).or_else(|| self.in_all(view))
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        let rows = settled(self, view);
        let outcome = self.listing_mut().click(at, &rows);
        keep(self, rows, view);
        outcome
    }

    fn open(&mut self, subject: &Subject) {
        self.turn_to(subject);
    }
}

/// A table with the page of the row that was opened, if any was.
pub(crate) struct Listing<R: 'static> {
    pub(crate) table: Table<R>,
    pub(crate) page: Page,
    /// The id of the row whose page is shown.
    opened: Option<String>,
    /// Whether `open` does something to the row under the cursor, as of the last look.
    leads: bool,
    /// Whether there is something to copy, as of the last look: to ask anew would make all rows at every frame.
    tells: bool,
    /// A subject on whose row the cursor is to be put.
    wanted: Option<Subject>,
    /// The rows of the last look, where they are worth keeping.
    kept: Option<Kept<R>>,
}

impl<R: Row> Listing<R> {
    pub(crate) fn new(columns: &'static [Column<R>]) -> Self {
        let (table, page) = (Table::new(columns), Page::default());
        Self { table, page, opened: None, leads: true, tells: true, wanted: None, kept: None }
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

    /// The row whose page is shown, else the one under the cursor.
    fn in_sight<'a>(&self, rows: &'a [R]) -> Option<&'a R> {
        match self.opened {
            Some(_) => self.opened(rows),
            None => self.table.selected(rows),
        }
    }

    /// Leaves the page, and puts the cursor on the row of a subject at the next look.
    pub(crate) fn want(&mut self, subject: &Subject) {
        self.close();
        self.wanted = Some(subject.clone());
    }

    /// Opens the page of a row, from its top.
    fn turn_to_page(&mut self, id: String) {
        self.opened = Some(id);
        self.page = Page::default();
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
                self.turn_to_page(row.id().to_owned());
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

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counted;

    use headwater_engine::metric::Unit;

    use super::*;
    use crate::example::{World, drawn, keys, live};
    use crate::palette::Palette;
    use crate::table::{Cell, number};

    struct Line(String, f64);

    impl Row for Line {
        fn id(&self) -> &str {
            &self.0
        }
    }

    static COLUMNS: &[Column<Line>] =
        &[number("size", Unit::Count, "how great it is", 8, 0, |line| Cell::number(Some(line.1)))];

    /// Ten rows, and how often they were made.
    struct Ten {
        listing: Listing<Line>,
        made: Counted<usize>,
    }

    impl ListPanel for Ten {
        type Row = Line;

        const ONCE_A_SNAPSHOT: bool = true;
        const NOTHING: &'static str = "there is none";

        fn listing(&self) -> &Listing<Line> {
            &self.listing
        }

        fn listing_mut(&mut self) -> &mut Listing<Line> {
            &mut self.listing
        }

        fn rows(&self, _view: &View<'_>) -> Vec<Line> {
            self.made.set(self.made.get() + 1);
            (0..10).map(|index| Line(format!("queue/q{index}"), f64::from(index))).collect()
        }

        fn draw_rows(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
            self.listing.table.draw(rows, view, area, buffer);
        }

        fn in_words(&self, row: &Line) -> String {
            row.0.clone()
        }
    }

    #[test]
    fn rows_are_made_once_a_snapshot_whatever_is_pressed_and_the_cursor_goes_where_it_is_wanted() {
        let mut world = World::new();
        world.run(3);
        let (palette, keys) = (Palette::mono(headwater_widgets::Glyphs::Ascii), keys());
        let mut panel = Ten { listing: Listing::new(COLUMNS), made: Counted::new(0) };
        for snapshots in 1..3 {
            world.run(1);
            let snapshot = world.snapshot();
            let view = live(&snapshot, &palette, &keys);
            panel.open(&"queue/q7".parse().unwrap());
            for _ in 0..3 {
                drawn(&mut panel, &snapshot, &palette, 40, 12);
                panel.act(Action::Down, &view);
                panel.act(Action::Up, &view);
            }
            assert_eq!(panel.made.get(), snapshots * 2 - 1, "and once to copy");
            assert_eq!(panel.copied(&view).as_deref(), Some("queue/q7"));
            assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
            assert_eq!((panel.actions(), panel.fields().len()), (ON_A_PAGE, 0));
            assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
            assert_eq!(panel.fields().len(), 1);
        }
    }
}
