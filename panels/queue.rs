//! How long requests wait, and what the queue's depth did to the latency.

mod axis;
mod row;

use headwater_engine::Subject;
use headwater_engine::metric::Unit;
use headwater_engine::wording::verdict_word;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::listing::{ListPanel, Listing, Opens};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::{PanelRow, View};
use crate::sentences::{draw_sentences, height_of};
use crate::table::{Cell, Column, Width, number, text};
use crate::title;
use row::{Line, rows};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "queue",
    title: "Queue",
    short: "Queue",
    help: "how long requests wait, how full batches are, and what that does to the latency",
    is_for_walls: true,
    make: || Box::new(Queue(Listing::new(COLUMNS))),
};

/// The heights from which on there is a title, a time axis below the rows, and what is said of the row under the cursor.
const WITH_TITLE: u16 = 4;
const WITH_AXIS: u16 = 10;
const WITH_TOLD: u16 = 7;

struct Queue(Listing<Line>);

static COLUMNS: &[Column<Line>] = &[
    text("queue", "the queue, or one instance of it", Width::Rest(16), 0, |line| {
        let shown = format!("{} {}", glyph_of(line.verdict), line.name());
        Cell::name(line.id.as_str()).shown(shown).colored(role_of(line.verdict))
    }),
    number("waiting", Unit::Count, "requests waiting for a place in a batch", 8, 0, |line| {
        Cell::number(line.waiting)
    }),
    number(
        "wait",
        Unit::Seconds,
        "how long a new request will wait: waiting requests over the rate of completion without the refused",
        8,
        0,
        |line| Cell::number(line.wait_s),
    ),
    number("done", Unit::PerSecond, "requests finished a second, whatever their outcome", 8, 1, |line| {
        Cell::number(line.done)
    }),
    number("running", Unit::Count, "requests in a batch", 8, 2, |line| Cell::number(line.running)),
    number(
        "batch",
        Unit::Count,
        "requests in a batch: the mean of the last ten seconds' batches",
        7,
        4,
        |line| Cell::number(line.batch),
    ),
    number("fill", Unit::Ratio, "requests in a batch over what it may hold", 7, 1, |line| {
        Cell::number(line.fill)
    }),
    number("kv", Unit::Ratio, "share of the KV cache in use", 7, 3, |line| Cell::number(line.kv)),
    number("pushed", Unit::PerSecond, "requests pushed out of a batch for want of KV cache", 7, 5, |line| {
        Cell::number(line.pushed)
    }),
    number("refused", Unit::PerSecond, "requests refused because the queue was full", 8, 4, |line| {
        Cell::number(line.refused)
    }),
    number(
        "gpu",
        Unit::Ratio,
        "share of time with a kernel running on the busiest GPU behind it",
        7,
        2,
        |line| Cell::number(line.gpu),
    ),
];

impl ListPanel for Queue {
    type Row = Line;

    const ONCE_A_SNAPSHOT: bool = true;
    const NOTHING: &'static str = "no page tells of a queue";

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
            title::draw("Queues, a row an instance", &aside, view.palette, cut(&mut rest, 1), buffer);
        }
        if rows.is_empty() {
            let why = "? no page tells of a queue: an inference server tells waiting and running requests on its \
                       metrics page";
            return draw_sentences(&[(why.to_owned(), ColorRole::Unknown)], view, rest, buffer);
        }
        let below = if area.height >= WITH_AXIS { axis::ROWS + 1 } else { 0 };
        let said = table.selected(rows).map(said).unwrap_or_default();
        let told = if area.height >= WITH_TOLD { height_of(&said, view, rest.width).min(3) } else { 0 };
        let wanted = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let all = rest.height.saturating_sub(below + told);
        let table_at = cut(&mut rest, wanted.min(all.max(2)));
        table.draw(rows, view, table_at, buffer);
        draw_sentences(&said, view, cut(&mut rest, told), buffer);
        if below > 0
            && let Some(row) = table.selected(rows)
        {
            axis::draw(row, view, rest, buffer);
        }
    }

    fn in_words(&self, row: &Line) -> String {
        row.words()
    }

    fn opens(&self, row: &Line, _view: &View<'_>) -> Result<Opens, String> {
        Err(format!("{} has no page of its own: all that is told of it stands here", row.id))
    }

    fn turn_to(&mut self, subject: &Subject) {
        self.0.table.select(subject.as_str());
    }

    fn offered(&self) -> &'static [Action] {
        &[]
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "wait",
                "waiting requests over the rate of completion: what a new request will wait (Little's law)",
            ),
            (
                "fill",
                "below half with a long queue, batches are starved; full and flat, compute is the limit",
            ),
        ]
    }
}

/// The verdict on a row, and why its requests wait where the page says it.
fn said(row: &Line) -> Vec<(String, ColorRole)> {
    let elsewhere = row.elsewhere.as_ref().map_or_else(String::new, |whose| format!("; {whose}"));
    let verdict = format!("{} {}: {}{elsewhere}", verdict_word(row.verdict), row.id, row.reason);
    let mut said = vec![(verdict, role_of(row.verdict))];
    if !row.reasons.is_empty() {
        said.push((format!("waiting for {}", row.reasons.join(", ")), ColorRole::Text));
    }
    said
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
