//! Which commands were slow to execute, on which node.

use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::table::{Cell, Column, Row, Table, Width};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "slow-log",
    title: "Slow log",
    short: "Slow",
    help: "which commands were slow to execute, on which node",
    make: || Box::new(SlowLog { table: Table::new(COLUMNS) }),
};

struct SlowLog {
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
        .slow_commands
        .iter()
        .map(|(node, entry)| Line { id: format!("{node}/{}", entry.id), text: entry.command.to_string() })
        .collect()
}

impl Panel for SlowLog {
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
