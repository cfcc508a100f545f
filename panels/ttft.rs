//! How long callers wait for the first token: percentiles and buckets instance by instance, and what our own probe waits.

mod columns;
mod heat;
mod row;
mod told;

use headwater_engine::Subject;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::listing::{ListPanel, Listing, Opens};
use crate::palette::ColorRole;
use crate::panel::{PanelRow, View};
use crate::sentences::{draw_sentences, height_of};
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
    make: || Box::new(FirstToken(Listing::new(COLUMNS))),
};

/// The heights from which on there is a title, what is said of the row under the cursor, and its buckets over time.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 7;
const WITH_HEAT: u16 = 11;

/// The width from which on there is room for whole requests beside the mean, which is all that some rows have.
const WITH_WHOLE: u16 = 84;

/// Rows that the buckets take at least, with a title.
const LEAST_HEAT: u16 = 6;

struct FirstToken(Listing<Line>);

impl ListPanel for FirstToken {
    type Row = Line;

    const ONCE_A_SNAPSHOT: bool = true;
    const NOTHING: &'static str = "no page tells how long a first token takes";

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
        let table = &mut self.0.table;
        let mut rest = area;
        if area.height >= WITH_TITLE {
            let aside = table.count_words(rows);
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
        let said = table.selected(rows).map(|row| told::of(row, view.snapshot)).unwrap_or_default();
        let told = if area.height >= WITH_TOLD { height_of(&said, view, rest.width).min(4) } else { 0 };
        let table_rows = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let spare = rest.height.saturating_sub(told);
        let heat = match area.height >= WITH_HEAT {
            true => spare.saturating_sub(table_rows).max(LEAST_HEAT).min(spare.saturating_sub(3)),
            false => 0,
        };
        let table_at = cut(&mut rest, table_rows.min(spare.saturating_sub(heat).max(2)));
        let has_means = rows.iter().any(|row| row.kept == Kept::Mean);
        table.leave_out(if has_means && area.width < WITH_WHOLE { &["whole"] } else { &[] });
        table.draw(rows, view, table_at, buffer);
        draw_sentences(&said, view, cut(&mut rest, told), buffer);
        if heat > 0
            && let Some(row) = table.selected(rows)
        {
            heat::draw(row, view, Rect { height: rest.height.min(heat), ..rest }, buffer);
        }
    }

    fn in_words(&self, row: &Line) -> String {
        row.words()
    }

    /// The queue before an instance.
    fn opens(&self, row: &Line, view: &View<'_>) -> Result<Opens, String> {
        let queue = row.queue(view.snapshot);
        let queue = queue.ok_or_else(|| format!("no page tells of a queue before {}", row.name()))?;
        Ok(Opens::Panel("queue", queue))
    }

    fn turn_to(&mut self, subject: &Subject) {
        self.0.table.select(row::id_of(subject).as_str());
    }

    fn offered(&self) -> &'static [Action] {
        &[Action::Open]
    }

    fn beside_key(&self, action: Action, _view: &View<'_>) -> Option<&'static str> {
        Some(if action == Action::Open { "queue" } else { action.row().short })
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        told::WORDS
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
