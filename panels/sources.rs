//! How every source is, how old its numbers are and what asking costs.

mod row;
mod story;

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::Unit;
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines;
use crate::listing::{ListPanel, Listing, ON_A_PAGE};
use crate::panel::{PanelRow, View};
use crate::table::{Cell, Column, Width};
use crate::title;
use row::{Line, rows};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "sources",
    title: "Sources",
    short: "Src",
    help: "how every source is, how old its numbers are and what asking costs",
    is_for_walls: true,
    make: || Box::new(Sources(Listing::new(COLUMNS))),
};

/// The height from which on the part about Headwater itself is shown, and the most rows it takes below its title.
const WITH_OWN: u16 = 14;
const MOST_OWN: u16 = 5;

/// The same for what is said of the row under the cursor.
const WITH_TOLD: u16 = 9;
const MOST_TOLD: u16 = 3;

struct Sources(Listing<Line>);

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow {
            name: "state",
            kind: FieldKind::Text,
            help: "fresh, late, fault, silent or waiting",
        },
        title: "state",
        width: Width::Cells(9),
        rank: 0,
        cell: |line| {
            let shown = format!("{} {}", line.state.glyph(), line.state.word());
            Cell::text(line.state.word()).shown(shown).colored(line.state.role()).ranked(line.state as u8)
        },
        draw: None,
    },
    Column {
        field: FieldRow { name: "source", kind: FieldKind::Text, help: "the node or page that is asked" },
        title: "source",
        width: Width::Cells(31),
        rank: 0,
        cell: |line| Cell::name(line.id.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "age",
            kind: FieldKind::Number(Unit::Seconds),
            help: "age of its newest numbers",
        },
        title: "age",
        width: Width::Cells(7),
        rank: 1,
        // Whole seconds: a table that is fresh stands still.
        cell: |line| Cell::number(line.age_s.map(f64::floor)).colored(line.age_role()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "overdue",
            kind: FieldKind::Number(Unit::Seconds),
            help: "for how long an answer has been waited for, when it is late",
        },
        title: "overdue",
        width: Width::Cells(7),
        rank: 4,
        cell: |line| Cell::number(line.overdue_s).colored(line.state.role()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "commands",
            kind: FieldKind::Number(Unit::PerSecond),
            help: "commands that Headwater sends to it, per second",
        },
        title: "cmds",
        width: Width::Cells(6),
        rank: 3,
        cell: |line| Cell::number(line.commands),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "bytes",
            kind: FieldKind::Number(Unit::BytesPerSecond),
            help: "bytes that Headwater exchanges with it, per second",
        },
        title: "bytes",
        width: Width::Cells(9),
        rank: 2,
        cell: |line| Cell::number(line.bytes),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "fetch",
            kind: FieldKind::Number(Unit::Seconds),
            help: "our own time to fetch its page, or to an answer of the node",
        },
        title: "answers",
        width: Width::Cells(8),
        rank: 5,
        cell: |line| Cell::number(line.fetch_s),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "what",
            kind: FieldKind::Text,
            help: "what is wrong, or what it does not offer",
        },
        title: "what",
        width: Width::Rest(10),
        rank: 0,
        cell: |line| Cell::text(line.what.as_str()),
        draw: None,
    },
];

impl ListPanel for Sources {
    type Row = Line;

    const PAGE_OUTLIVES_ROW: bool = true;
    const NOTHING: &'static str = "there is no source yet";

    fn listing(&self) -> &Listing<Line> {
        &self.0
    }

    fn listing_mut(&mut self) -> &mut Listing<Line> {
        &mut self.0
    }

    fn rows(&self, view: &View<'_>) -> Vec<Line> {
        rows(view.snapshot)
    }

    fn draw_rows(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if let Some(id) = self.0.opened_id().map(str::to_owned) {
            let story = story::lines(&id, view.snapshot);
            self.0.page.draw(&id, &story, view.palette, area, buffer);
            return;
        }
        let own = story::own(view.snapshot);
        let own_rows = if area.height >= WITH_OWN { 1 + told(&own, view, area.width, MOST_OWN) } else { 0 };
        let selected: Vec<_> = self.0.table.selected(rows).map(row::told).into_iter().collect();
        let told_rows =
            if area.height >= WITH_TOLD { told(&selected, view, area.width, MOST_TOLD) } else { 0 };
        let mut below = area;
        let mut last = |height: u16| {
            below.height -= height.min(below.height);
            Rect { y: below.bottom(), height, ..area }
        };
        let (own_at, told_at) = (last(own_rows), last(told_rows));
        self.0.table.leave_out(left_out(rows));
        self.0.table.draw(rows, view, below, buffer);
        lines::draw(&selected, view.palette, told_at, buffer);
        let since = format!("since {} UTC", view.snapshot.began.clock());
        title::draw("Headwater itself", &since, view.palette, own_at, buffer);
        let own_at = Rect { y: own_at.y + own_rows.min(1), height: own_rows.saturating_sub(1), ..own_at };
        lines::draw(&own, view.palette, own_at, buffer);
    }

    fn in_words(&self, row: &Line) -> String {
        format!("{} {}: {}", row.state.word(), row.id, row.what)
    }

    /// The worst source of the subject.
    fn about<'r>(&self, rows: &'r [Line], subject: &Subject, _snapshot: &Snapshot) -> Option<&'r Line> {
        rows.iter().find(|row| row.id.parse().is_ok_and(|source: Subject| subject.contains(&source)))
    }

    fn offered(&self) -> &'static [Action] {
        if self.0.opened_id().is_some() { ON_A_PAGE } else { &[] }
    }
}

/// Rows that lines take in full, at most so many.
fn told(lines: &[lines::Line], view: &View<'_>, width: u16, most: u16) -> u16 {
    lines.iter().map(|line| line.height(view.palette, width)).fold(0, u16::saturating_add).min(most)
}

/// Columns that no row has anything for.
fn left_out(rows: &[Line]) -> &'static [&'static str] {
    let is_asked = rows.iter().any(|row| row.bytes.is_some());
    let is_late = rows.iter().any(|row| row.overdue_s.is_some());
    match (is_asked, is_late) {
        (true, true) => &[],
        (true, false) => &["overdue"],
        (false, true) => &["commands", "bytes", "fetch"],
        (false, false) => &["overdue", "commands", "bytes", "fetch"],
    }
}

#[cfg(test)]
mod tests;
