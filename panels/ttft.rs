//! How long callers wait for the first token: percentiles and buckets instance by instance, and what our own probe waits.

mod columns;
mod heat;
mod row;
mod told;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldRow, Filter};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::palette::ColorRole;
use crate::panel::{Intent, Outcome, Panel, PanelRow, View};
use crate::sentences::{draw_sentences, height_of};
use crate::table::Table;
use crate::title;
use columns::COLUMNS;
use row::{Kept, Line, rows};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "ttft",
    title: "Time to first token",
    short: "TTFT",
    help: "how long callers wait for the first token: percentiles, buckets over time, and our own probe beside them",
    is_for_walls: true,
    make: || Box::new(FirstToken { table: Table::new(COLUMNS) }),
};

/// The heights from which on there is a title, what is said of the row under the cursor, and its buckets over time.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 7;
const WITH_HEAT: u16 = 11;

/// The width from which on there is room for whole requests beside the mean, which is all that some rows have.
const WITH_WHOLE: u16 = 84;

/// Rows that the buckets take at least, with a title.
const LEAST_HEAT: u16 = 6;

struct FirstToken {
    table: Table<Line>,
}

impl Panel for FirstToken {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let rows = rows(view.snapshot);
        let mut rest = area;
        if area.height >= WITH_TITLE {
            let aside = self.table.count_words(&rows);
            title::draw(
                "Time to first token, a row an instance",
                &aside,
                view.palette,
                cut(&mut rest, 1),
                buffer,
            );
        }
        if rows.is_empty() {
            let why = "? no page tells how long a first token or a whole request takes: an inference server does on \
                       its metrics page, and a probe with kind = \"first-token\" measures it from here";
            return draw_sentences(&[(why.to_owned(), ColorRole::Unknown)], view, rest, buffer);
        }
        let said = self.table.selected(&rows).map(told::of).unwrap_or_default();
        let told = if area.height >= WITH_TOLD { height_of(&said, view, rest.width).min(4) } else { 0 };
        let table_rows = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let spare = rest.height.saturating_sub(told);
        let heat = match area.height >= WITH_HEAT {
            true => spare.saturating_sub(table_rows).max(LEAST_HEAT).min(spare.saturating_sub(3)),
            false => 0,
        };
        let table = cut(&mut rest, table_rows.min(spare.saturating_sub(heat).max(2)));
        let has_means = rows.iter().any(|row| row.kept == Kept::Mean);
        self.table.leave_out(if has_means && area.width < WITH_WHOLE { &["whole"] } else { &[] });
        self.table.draw(&rows, view, table, buffer);
        draw_sentences(&said, view, cut(&mut rest, told), buffer);
        if heat > 0
            && let Some(row) = self.table.selected(&rows)
        {
            heat::draw(row, view, Rect { height: rest.height.min(heat), ..rest }, buffer);
        }
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let rows = rows(view.snapshot);
        let selected = self.table.selected(&rows);
        match (action, selected) {
            (Action::Open, Some(row)) => match row.queue(view.snapshot) {
                Some(queue) => Outcome::Wants(Intent::Show("queue", Some(queue))),
                None => Outcome::Refused(format!("no page tells of a queue before {}", row.name())),
            },
            _ => self.table.act(action, &rows),
        }
    }

    fn actions(&self) -> &'static [Action] {
        &[Action::Open]
    }

    fn short(&self, action: Action, _view: &View<'_>) -> Option<&'static str> {
        Some(if action == Action::Open { "queue" } else { action.row().short })
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        told::WORDS
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

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let rows = rows(view.snapshot);
        self.table.selected(&rows).map(Line::words)
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        if self.table.click(at, &rows(view.snapshot)) { Outcome::Done } else { Outcome::Ignored }
    }

    fn open(&mut self, subject: &Subject) {
        self.table.select(row::id_of(subject).as_str());
    }
}

/// Cuts so many rows off the top.
fn cut(rest: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(rest.height);
    let top = Rect { height, ..*rest };
    (rest.y, rest.height) = (rest.y + height, rest.height - height);
    top
}

#[cfg(test)]
mod tests;
