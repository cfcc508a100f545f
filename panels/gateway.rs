//! What callers ask and what of it is asked again; what gateways make of it, upstream by upstream.

mod asked;
mod columns;
mod told;
mod trends;
mod upstream;

use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::lines::{self, Line as Told};
use crate::listing::{ListPanel, Listing};
use crate::palette::ColorRole;
use crate::panel::{PanelRow, View};
use crate::sentences::draw_sentences;
use crate::title;
use columns::{COLUMNS, STRIP};
use upstream::{Line, give_strips, rows};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "clients",
    title: "Clients & gateway",
    short: "Client",
    help: "what callers ask and ask again, and what gateways see of each upstream",
    is_for_walls: true,
    make: || Box::new(Clients(Listing::new(COLUMNS))),
};

/// What help explains.
static WORDS: &[(&str, &str)] = &[
    ("originals", "requests before any was sent again: what people really want"),
    ("attempts", "originals with all that was sent again"),
    ("amplification", "attempts an original; from 1.5 on retries are most of the trouble"),
    ("goodput", "requests that ended well"),
    ("wasted", "attempts that have ended and came to nothing; those under way are neither well nor wasted"),
    (
        "+ - ~ *",
        "how a gateway treats an upstream: in, out, unready, failing; who is guilty the verdicts say",
    ),
    ("upstream", "what a gateway sends requests to: a cluster, a pool or one address, as it names it"),
    ("out", "members of an upstream that the gateway has taken out of rotation"),
];

/// From this height on there is a line about the row under the cursor.
const WITH_FOOT: u16 = 12;

/// Rows that the upstreams keep whatever is said above them: a head and a few rows.
const LEAST_TABLE: u16 = 5;

struct Clients(Listing<Line>);

impl ListPanel for Clients {
    type Row = Line;

    const ONCE_A_SNAPSHOT: bool = true;
    const NOTHING: &'static str = "no gateway tells of its upstreams";

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
            let story = told::upstream(view.snapshot, row);
            let heading = format!("{} of {}", row.name, row.gateway);
            self.0.page.draw(&heading, &story, view.palette, area, buffer);
            return;
        }
        let asked = asked::all(view.snapshot);
        let account = told::account(view.snapshot, &asked);
        if account.is_empty() && rows.is_empty() {
            return draw_sentences(&nothing(view.snapshot), view, area, buffer);
        }
        let table_rows = match rows.len() {
            0 => 0,
            many => u16::try_from(many).unwrap_or(u16::MAX).saturating_add(1).max(LEAST_TABLE),
        };
        let mut above = area;
        let room = area.height.saturating_sub(table_rows.min(area.height / 2));
        above.height = heights(&account, view, area.width).min(room);
        lines::draw(&account, view.palette, above, buffer);
        let mut rest = Rect { y: above.bottom(), height: area.height - above.height, ..area };
        let foot: Vec<Told> = self.0.table.selected(rows).map(told::row).into_iter().collect();
        if area.height >= WITH_FOOT && !rows.is_empty() {
            let height = heights(&foot, view, area.width).min(2).min(rest.height);
            rest.height -= height;
            lines::draw(&foot, view.palette, Rect { y: rest.bottom(), height, ..area }, buffer);
        }
        let over_time = rest.height.saturating_sub(table_rows);
        let taken = trends::draw(view, &asked, Rect { height: over_time, ..rest }, buffer);
        rest = Rect { y: rest.y + taken, height: rest.height - taken, ..rest };
        if rows.is_empty() {
            let none = [("? no gateway tells of its upstreams".to_owned(), ColorRole::Unknown)];
            return draw_sentences(&none, view, rest, buffer);
        }
        if rest.height > LEAST_TABLE {
            let strips = self.0.table.cells_of(STRIP, rest.width);
            let words = give_strips(rows, view.snapshot, strips);
            title::draw("Upstreams", &words, view.palette, rest, buffer);
            rest = Rect { y: rest.y + 1, height: rest.height - 1, ..rest };
        }
        let places = self.0.table.cells_of(STRIP, rest.width);
        give_strips(rows, view.snapshot, places);
        self.0.table.draw(rows, view, rest, buffer);
    }

    fn in_words(&self, row: &Line) -> String {
        told::words(row)
    }

    fn in_all(&self, view: &View<'_>) -> Option<String> {
        asked::all(view.snapshot).first().map(asked::Asked::words)
    }

    fn about<'r>(&self, rows: &'r [Line], subject: &Subject, _snapshot: &Snapshot) -> Option<&'r Line> {
        rows.iter().find(|row| row.is_about(subject))
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }
}

/// Rows that lines take in full.
fn heights(lines: &[Told], view: &View<'_>, width: u16) -> u16 {
    lines.iter().map(|line| line.height(view.palette, width)).fold(0, u16::saturating_add)
}

/// The share of what a caller or a gateway was asked that was not answered well, whatever its attempts came to, and whether it may
/// be more; `None` where nobody tells.
pub(crate) fn unanswered(snapshot: &Snapshot, whose: &Subject) -> Option<(f64, bool)> {
    asked::of(snapshot, whose)?.unanswered()
}

/// What is said where nobody tells of callers.
fn nothing(snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let what = match snapshot.targets().next() {
        Some(_) => "? no caller and no gateway tells what is asked: not seen is not well",
        None => "? no source has told anything yet",
    };
    let how =
        "a page of a client, of Envoy, HAProxy, nginx or a service that retries would tell; see Sources";
    vec![(what.to_owned(), ColorRole::Unknown), (how.to_owned(), ColorRole::Faint)]
}

#[cfg(test)]
mod tests;
