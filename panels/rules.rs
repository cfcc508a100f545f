//! How every rule stands on every subject, and against which limits.

mod explanation;
mod row;

use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use headwater_engine::rules::by_id;
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::lines;
use crate::listing::Listing;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::table::{Cell, Column, Row, Width};
use crate::title;
use row::{Line, STATES, rows, told};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "rules",
    title: "Rules",
    short: "Rules",
    help: "how every rule stands on every subject, and against which limits",
    is_for_walls: true,
    make: || Box::new(Rules { listing: Listing::new(COLUMNS), wanted: None }),
};

/// From this height on there is a title, and what is said of the row under the cursor in full.
const WITH_TITLE: u16 = 6;
const WITH_TOLD: u16 = 10;

/// The most rows of the latter.
const MOST_TOLD: u16 = 5;

struct Rules {
    listing: Listing<Line>,
    /// A subject on whose worst row the cursor is to be put.
    wanted: Option<Subject>,
}

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow {
            name: "state",
            kind: FieldKind::Text,
            help: "firing, pending, ended, unknown or clear",
        },
        title: "state",
        width: Width::Cells(9),
        rank: 0,
        cell: |line| {
            let state = line.stands();
            let shown = format!("{} {}", state.glyph, state.word);
            Cell::text(state.word).shown(shown).colored(state.role).ranked(line.rank())
        },
        draw: None,
    },
    Column {
        field: FieldRow { name: "rule", kind: FieldKind::Text, help: "the rule's id" },
        title: "rule",
        width: Width::Cells(17),
        rank: 0,
        cell: |line| Cell::text(line.state().rule),
        draw: None,
    },
    Column {
        field: FieldRow { name: "subject", kind: FieldKind::Text, help: "what it is evaluated on" },
        title: "subject",
        width: Width::Cells(20),
        rank: 0,
        cell: |line| Cell::text(line.state().subject.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "seen", kind: FieldKind::Text, help: "what was seen, or what is missing" },
        title: "seen",
        width: Width::Rest(11),
        rank: 0,
        cell: |line| Cell::text(line.state().detail.as_ref()),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "limits",
            kind: FieldKind::Text,
            help: "the limits in force; * is not the default",
        },
        title: "limits (* not the default)",
        width: Width::Cells(40),
        rank: 1,
        cell: |line| Cell::text(line.limits()),
        draw: None,
    },
];

impl Panel for Rules {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let rows = rows(view.snapshot);
        self.settle(&rows, view.snapshot);
        if let Some(row) = self.listing.opened(&rows) {
            if let Some(rule) = by_id(row.state().rule) {
                let lines = explanation::lines(rule, row, &rows, view.snapshot);
                self.listing.page.draw(
                    &format!("{}: {}", rule.id, rule.title),
                    &lines,
                    view.palette,
                    area,
                    buffer,
                );
            }
            return;
        }
        let selected = self.listing.table.selected(&rows).map(told).unwrap_or_default();
        let told_rows = if area.height >= WITH_TOLD {
            let rows = selected.iter().map(|line| line.height(view.palette, area.width));
            rows.fold(0, u16::saturating_add).min(MOST_TOLD)
        } else {
            0
        };
        let title_rows = u16::from(area.height >= WITH_TITLE);
        title::draw(
            "Rules",
            &counts(view.snapshot),
            view.palette,
            Rect { height: title_rows, ..area },
            buffer,
        );
        let table = Rect { y: area.y + title_rows, height: area.height - title_rows - told_rows, ..area };
        self.listing.table.draw(&rows, view, table, buffer);
        let below = Rect { y: table.bottom(), height: told_rows, ..area };
        lines::draw(&selected, view.palette, below, buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let rows = rows(view.snapshot);
        self.settle(&rows, view.snapshot);
        self.listing.act(action, &rows, "no rule has been evaluated yet")
    }

    fn actions(&self) -> &'static [Action] {
        if self.listing.opened_id().is_some() { &[Action::Back, Action::Up, Action::Down] } else { &[] }
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.listing.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing.table.set_filter(filter);
    }

    fn close(&mut self) {
        self.listing.close();
    }

    fn filter(&self) -> Option<&Filter> {
        self.listing.filter()
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let rows = rows(view.snapshot);
        let row = self.listing.opened(&rows).or_else(|| self.listing.table.selected(&rows))?;
        let state = row.state();
        Some(format!("{} {} on {}: {}", state.state, state.rule, state.subject, state.detail))
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        self.listing.click(at, &rows(view.snapshot))
    }

    fn open(&mut self, subject: &Subject) {
        self.listing.close();
        self.wanted = Some(subject.clone());
    }
}

impl Rules {
    /// Puts the cursor on the row that accuses the subject that was asked for, else on its worst one, and forgets a row
    /// that has gone.
    fn settle(&mut self, rows: &[Line], snapshot: &Snapshot) {
        if let Some(wanted) = self.wanted.take() {
            // A symptom fires too, but whoever asks for a suspect wants to know what convicts it.
            let suspect = snapshot.report.suspects.iter().find(|suspect| wanted.contains(&suspect.subject));
            let accuses = |row: &&Line| {
                suspect.is_some_and(|suspect| {
                    row.state().rule == suspect.rule && row.state().subject == suspect.subject
                })
            };
            let worst = || rows.iter().find(|row| wanted.contains(&row.state().subject));
            if let Some(row) = rows.iter().find(accuses).or_else(worst) {
                self.listing.table.select(row.id());
            }
        }
        self.listing.settle(rows);
    }
}

/// `2 firing, 26 clear`.
fn counts(snapshot: &Snapshot) -> String {
    let counted = STATES.iter().filter_map(|state| {
        let count = snapshot.rules.iter().filter(|row| row.state == state.word).count();
        (count > 0).then(|| format!("{count} {}", state.word))
    });
    counted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
