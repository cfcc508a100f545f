//! How every rule stands on every subject, and against which limits.

mod explanation;
mod row;

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::rules::by_id;
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines;
use crate::listing::{ListPanel, Listing, ON_A_PAGE};
use crate::panel::{PanelRow, View};
use crate::table::{Cell, Column, Width};
use crate::title;
use row::{Line, STATES, rows, told};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "rules",
    title: "Rules",
    short: "Rules",
    help: "how every rule stands on every subject, and against which limits",
    is_for_walls: true,
    make: || Box::new(Rules(Listing::new(COLUMNS))),
};

/// From this height on there is a title, and what is said of the row under the cursor in full.
const WITH_TITLE: u16 = 6;
const WITH_TOLD: u16 = 10;

/// The most rows of the latter.
const MOST_TOLD: u16 = 5;

struct Rules(Listing<Line>);

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
        cell: |line| Cell::name(line.state().subject.as_str()),
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

impl ListPanel for Rules {
    type Row = Line;

    const NOTHING: &'static str = "no rule has been evaluated yet";

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
        if let Some(row) = self.0.opened(rows) {
            if let Some(rule) = by_id(row.state().rule) {
                let lines = explanation::lines(rule, row, rows, view.snapshot);
                self.0.page.draw(&format!("{}: {}", rule.id, rule.title), &lines, view.palette, area, buffer);
            }
            return;
        }
        let selected = self.0.table.selected(rows).map(told).unwrap_or_default();
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
        self.0.table.draw(rows, view, table, buffer);
        let below = Rect { y: table.bottom(), height: told_rows, ..area };
        lines::draw(&selected, view.palette, below, buffer);
    }

    fn in_words(&self, row: &Line) -> String {
        let state = row.state();
        format!("{} {} on {}: {}", state.state, state.rule, state.subject, state.detail)
    }

    /// The row that accuses the subject, else its worst one. A symptom fires too, but whoever asks for a suspect wants to
    /// know what convicts it.
    fn about<'r>(&self, rows: &'r [Line], subject: &Subject, snapshot: &Snapshot) -> Option<&'r Line> {
        let suspect = snapshot.report.suspects.iter().find(|suspect| subject.contains(&suspect.subject));
        let accuses = |row: &&Line| {
            suspect.is_some_and(|suspect| {
                row.state().rule == suspect.rule && row.state().subject == suspect.subject
            })
        };
        let worst = || rows.iter().find(|row| subject.contains(&row.state().subject));
        rows.iter().find(accuses).or_else(worst)
    }

    fn offered(&self) -> &'static [Action] {
        if self.0.opened_id().is_some() { ON_A_PAGE } else { &[] }
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
