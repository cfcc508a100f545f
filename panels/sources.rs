//! How every source is, how old its numbers are and what asking costs.

use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::table::{Cell, Column, Row, Table, Width};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "sources",
    title: "Sources",
    short: "Src",
    help: "how every source is, how old its numbers are and what asking costs",
    make: || Box::new(Sources { table: Table::new(COLUMNS) }),
};

struct Sources {
    table: Table<Line>,
}

struct Line {
    id: String,
    text: String,
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow { name: "name", kind: FieldKind::Text, help: "what it is about" },
        title: "name",
        width: Width::Cells(30),
        rank: 0,
        cell: |line| Cell::text(line.id.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "text", kind: FieldKind::Text, help: "what is said of it" },
        title: "text",
        width: Width::Rest(10),
        rank: 1,
        cell: |line| Cell::text(line.text.as_str()),
        draw: None,
    },
];

fn rows(view: &View<'_>) -> Vec<Line> {
    view.snapshot
        .sources
        .iter()
        .map(|source| Line {
            id: source.source.to_string(),
            text: source.fault.as_ref().map_or_else(String::new, |(_, fault)| fault.message.to_string()),
        })
        .collect()
}

impl Panel for Sources {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        self.table.draw(&rows(view), view, area, buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        self.table.act(action, &rows(view))
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.table.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.table.filter()
    }
}
