//! What people changed, and when.

pub(crate) mod marks;
mod row;
mod span;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use headwater_engine::metric::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines;
use crate::listing::{ListPanel, Listing, ON_A_PAGE};
use crate::palette::ColorRole;
use crate::panel::{Outcome, PanelRow, View};
use crate::sentences::draw_sentences;
use crate::table::{Cell, Column, Width};
use crate::title;
use row::{Line, rows};
use span::Span;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "changes",
    title: "Changes",
    short: "Change",
    help: "what people changed, and when",
    is_for_walls: false,
    make: || Box::new(Changes { listing: Listing::new(COLUMNS), span: Span::Day }),
};

/// From this height on there is a title, and what is said of the row under the cursor in full.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 9;

/// The most rows of the latter.
const MOST_TOLD: u16 = 4;

struct Changes {
    listing: Listing<Line>,
    span: Span,
}

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow {
            name: "at",
            kind: FieldKind::Number(Unit::UnixSeconds),
            help: "when it took effect, in UTC",
        },
        title: "at (UTC)",
        width: Width::Cells(8),
        rank: 0,
        cell: |line| Cell::number(Some(line.at_s())).shown(line.change.at.clock()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "age", kind: FieldKind::Number(Unit::Seconds), help: "how long ago" },
        title: "age",
        width: Width::Cells(9),
        rank: 2,
        cell: |line| Cell::number(Some(line.age_s)).shown(line.age.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "before",
            kind: FieldKind::Number(Unit::Seconds),
            help: "how long before the onset; below 0 after it",
        },
        title: "onset",
        width: Width::Cells(14),
        rank: 1,
        cell: |line| Cell::number(line.before_s).shown(line.before.as_str()).colored(line.before_role()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "kind",
            kind: FieldKind::Text,
            help: "deploy, config, flag, commit or change",
        },
        title: "kind",
        width: Width::Cells(6),
        rank: 3,
        cell: |line| Cell::text(line.change.kind.word()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "component",
            kind: FieldKind::Text,
            help: "what it touched, with the sign of its verdict",
        },
        title: "component",
        width: Width::Cells(20),
        rank: 0,
        cell: |line| {
            Cell::text(line.component.as_str()).shown(line.judged.as_str()).colored(line.component_role())
        },
        draw: None,
    },
    Column {
        field: FieldRow { name: "title", kind: FieldKind::Text, help: "what it says of itself" },
        title: "title",
        width: Width::Rest(12),
        rank: 0,
        cell: |line| Cell::text(line.change.title.as_str()),
        draw: None,
    },
];

impl ListPanel for Changes {
    type Row = Line;

    const NOTHING: &'static str = "there is no change";

    fn listing(&self) -> &Listing<Line> {
        &self.listing
    }

    fn listing_mut(&mut self) -> &mut Listing<Line> {
        &mut self.listing
    }

    fn rows(&self, view: &View<'_>) -> Vec<Line> {
        rows(view.snapshot, self.span.days())
    }

    fn draw_rows(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if let Some(row) = self.listing.opened(rows) {
            let heading = format!("{}: {}", row.change.kind.word(), row.change.title);
            return self.listing.page.draw(&heading, &row.lines(view.snapshot), view.palette, area, buffer);
        }
        let title_rows = u16::from(area.height >= WITH_TITLE);
        let head = Rect { height: title_rows, ..area };
        title::draw("Changes", &self.aside(view, rows), view.palette, head, buffer);
        let mut rest = Rect { y: area.y + title_rows, height: area.height - title_rows, ..area };
        let said = self.said(view, rows);
        if !said.is_empty() && (rows.is_empty() || rest.height > WITH_TOLD) {
            let height = if rows.is_empty() { rest.height } else { said_rows(&said, view, rest) };
            draw_sentences(&said, view, Rect { height, ..rest }, buffer);
            rest = Rect { y: rest.y + height, height: rest.height - height, ..rest };
        }
        if rows.is_empty() {
            return;
        }
        let selected: Vec<lines::Line> = match self.listing.table.selected(rows) {
            Some(row) if area.height >= WITH_TOLD => vec![row.told()],
            _ => vec![],
        };
        let wanted = selected.iter().map(|line| line.height(view.palette, area.width));
        let told_rows = wanted.fold(0, u16::saturating_add).min(MOST_TOLD).min(rest.height);
        let table = Rect { height: rest.height - told_rows, ..rest };
        self.listing.table.leave_out(if rows.iter().any(|row| row.before_s.is_some()) {
            &[]
        } else {
            &["before"]
        });
        self.listing.table.draw(rows, view, table, buffer);
        lines::draw(&selected, view.palette, Rect { y: table.bottom(), height: told_rows, ..area }, buffer);
    }

    fn in_words(&self, row: &Line) -> String {
        row.words()
    }

    fn act_first(&mut self, action: Action, _rows: &[Line], _view: &View<'_>) -> Option<Outcome> {
        if action != Action::Week {
            return None;
        }
        self.span = self.span.other();
        self.listing.close();
        Some(Outcome::Done)
    }

    fn turn_to(&mut self, subject: &Subject) {
        self.listing.close();
        self.span = Span::Week;
        let text = format!("component = \"{}\"", subject.component_of());
        self.listing.table.set_filter(Filter::parse(&text, &self.listing.table.fields()).ok());
    }

    fn offered(&self) -> &'static [Action] {
        if self.listing.opened_id().is_some() { ON_A_PAGE } else { &[Action::Week, Action::Open] }
    }

    fn beside_key(&self, action: Action, _view: &View<'_>) -> Option<&'static str> {
        Some(if action == Action::Week { self.span.other().word() } else { action.row().short })
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "onset",
                "when callers began to suffer, or the first suspect to stir; a change just before it is only a suspect",
            ),
            ("c", "a change on every axis of time"),
        ]
    }
}

impl Changes {
    /// `3 in the last day, W the week`.
    fn aside(&self, view: &View<'_>, rows: &[Line]) -> String {
        let key = view.keys.key_of(Action::Week);
        let other =
            if key.is_empty() { String::new() } else { format!(", {key} the {}", self.span.other().word()) };
        format!("{} in the last {}{other}", self.listing.table.count_words(rows), self.span.word())
    }

    /// What is to be said before the rows: why there are none, and that none explains what is going on.
    fn said(&self, view: &View<'_>, rows: &[Line]) -> Vec<(String, ColorRole)> {
        let snapshot = view.snapshot;
        let mut said = vec![];
        if !row::is_watched(snapshot) {
            let text = "no source tells of changes: a [[changes]] table in the configuration names a file, a git \
                        repository or a server";
            return vec![(text.to_owned(), ColorRole::Unknown)];
        }
        if let Some(text) = row::unexplained(snapshot) {
            said.push((text, ColorRole::Heading));
        }
        for fault in row::faults(snapshot) {
            said.push((fault, ColorRole::Unknown));
        }
        if rows.is_empty() {
            said.push((format!("no change in the last {}", self.span.word()), ColorRole::Text));
        }
        said
    }
}

/// The rows that sentences take above the table: two at most.
fn said_rows(said: &[(String, ColorRole)], view: &View<'_>, area: Rect) -> u16 {
    let height = |text: &str| {
        headwater_widgets::Hanging::new("", 0, text).glyphs(view.palette.glyphs).height(area.width)
    };
    said.iter().map(|(text, _)| height(text)).fold(0, u16::saturating_add).min(2)
}

#[cfg(test)]
mod tests;
