//! Past incidents that look like this one.

mod row;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines::{self, Weight};
use crate::listing::{ListPanel, Listing};
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, PanelRow, View};
use crate::table::{Cell, Column, Row, Width};
use crate::title;
use row::{Line, rows, told};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "cases",
    title: "Cases",
    short: "Cases",
    help: "past incidents that look like this one",
    is_for_walls: false,
    make: || Box::new(Cases(Listing::new(COLUMNS))),
};

/// From this height on there is a title, and what is said of the row under the cursor in full.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 9;

/// The most rows of the latter.
const MOST_TOLD: u16 = 8;

struct Cases(Listing<Line>);

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow {
            name: "alike",
            kind: FieldKind::Number(Unit::Ratio),
            help: "how much of what fires here fired there too; nothing when it does not look like this",
        },
        title: "alike",
        width: Width::Cells(6),
        rank: 0,
        cell: |line| Cell::number(line.share).shown(line.percent.as_str()).colored(line.role()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "case", kind: FieldKind::Text, help: "what the case is called" },
        title: "case",
        width: Width::Rest(20),
        rank: 0,
        cell: |line| Cell::text(line.title.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "why", kind: FieldKind::Text, help: "what is alike, and what is clear here" },
        title: "why",
        width: Width::Cells(34),
        rank: 1,
        cell: |line| Cell::text(line.why.as_str()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "id", kind: FieldKind::Text, help: "the name of its file" },
        title: "id",
        width: Width::Cells(18),
        rank: 2,
        cell: |line| Cell::text(line.id()),
        draw: None,
    },
    Column {
        field: FieldRow { name: "text", kind: FieldKind::Text, help: "everything that the case says" },
        title: "text",
        width: Width::Cells(20),
        rank: 9,
        cell: |line| Cell::text(line.text.as_str()),
        draw: None,
    },
];

impl ListPanel for Cases {
    type Row = Line;

    const NOTHING: &'static str = "there is no case";

    fn listing(&self) -> &Listing<Line> {
        &self.0
    }

    fn listing_mut(&mut self) -> &mut Listing<Line> {
        &mut self.0
    }

    fn rows(&self, view: &View<'_>) -> Vec<Line> {
        rows(view)
    }

    fn draw_rows(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if let Some(row) = self.0.opened(rows) {
            let heading = row.title.clone();
            return self.0.page.draw(&heading, &row.lines(), view.palette, area, buffer);
        }
        let title_rows = u16::from(area.height >= WITH_TITLE);
        let head = Rect { height: title_rows, ..area };
        title::draw("Cases", &told(view, rows), view.palette, head, buffer);
        let selected = self.0.table.selected(rows).map(Line::summary).unwrap_or_default();
        let selected = match (rows.is_empty(), area.height >= WITH_TOLD) {
            (true, _) => vec![nothing()],
            (false, true) => selected,
            (false, false) => vec![],
        };
        let wanted = selected.iter().map(|line| line.height(view.palette, area.width));
        let told_rows = wanted.fold(0, u16::saturating_add).min(MOST_TOLD).min(area.height - title_rows);
        let table = Rect { y: area.y + title_rows, height: area.height - title_rows - told_rows, ..area };
        self.0.table.leave_out(&["text"]);
        if !rows.is_empty() {
            self.0.table.draw(rows, view, table, buffer);
        }
        lines::draw(&selected, view.palette, Rect { y: table.bottom(), height: told_rows, ..area }, buffer);
    }

    /// All of a case that is opened, and of another the row.
    fn in_words(&self, row: &Line) -> String {
        if self.0.opened_id().is_some() { row.written() } else { row.words() }
    }

    fn act_first(&mut self, action: Action, _rows: &[Line], view: &View<'_>) -> Option<Outcome> {
        (action == Action::SaveCase).then(|| save(view))
    }

    /// A case is of no subject.
    fn turn_to(&mut self, _subject: &Subject) {}

    fn offered(&self) -> &'static [Action] {
        match self.0.opened_id() {
            Some(_) => &[Action::Back, Action::SaveCase, Action::Up, Action::Down],
            None => &[Action::Open, Action::SaveCase],
        }
    }

    fn beside_key(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let does_nothing = action == Action::SaveCase && !save(view).does_something();
        (!does_nothing).then(|| action.row().short)
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "alike",
                "the weight of what fires here and fired there, of all that can be compared: a mechanism weighs 3, evidence 1.5, the form of the failure 1, a symptom or a recent change 0.5",
            ),
            (
                "clear here",
                "a rule that fired then was looked at here and is clear: it speaks against the case",
            ),
            (
                "unseen",
                "nobody can judge that rule here, or this version does not have it: it counts on neither side",
            ),
        ]
    }
}

/// Asks before the incident becomes a case.
fn save(view: &View<'_>) -> Outcome {
    let report = &view.snapshot.report;
    if report.symptom.is_none() && report.suspects.is_empty() {
        return Outcome::Refused("nothing to save: no symptom and no suspect is seen".to_owned());
    }
    let stage = match report.ended() {
        Some(_) => "",
        None => " The incident is not over: what is known so far is saved.",
    };
    let text = format!(
        "Write this incident as a case into cases/ of your Headwater configuration folder? Only you can read it; it \
         names keys and addresses, no passwords; nothing is replaced.{stage}"
    );
    Outcome::Wants(Intent::Ask(text, Effect::SaveCase))
}

fn nothing() -> lines::Line {
    let text = "no case is known: the built-in ones were left out, and there is none of your own".to_owned();
    lines::Line::new(Weight::Core, "", text).text_colored(ColorRole::Unknown)
}

#[cfg(test)]
mod tests;
