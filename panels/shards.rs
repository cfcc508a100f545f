//! Every Redis shard over time, and which one differs.

mod columns;
mod compare;
mod copied;
mod detail;
mod facts;
mod head;
mod known;
mod lens;
mod line;
mod list;
mod load;
mod parts;
mod rows;
mod seen;
mod shared_link;
mod told;
mod way;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldRow, Filter};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::big_key_scan::{self, shard_of};
use crate::keyspace::ask_next;
use crate::palette::ColorRole;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::sentences::draw_sentences;
use crate::table::Table;
use compare::Pair;
use copied::copied_line;
use line::Line;
pub(crate) use load::loads;
use rows::{lens_of, node_rows};
use way::Open;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "shards",
    title: "Shards",
    short: "Shard",
    help: "every Redis shard over time, and which one differs",
    is_for_walls: true,
    make: || Box::new(Shards::new()),
};

/// What help explains.
static WORDS: &[(&str, &str)] = &[
    ("features#1", "shard 1 of redis/features: the line above the rows names the deployment"),
    ("max", "the greatest present number of a shard, with the shard that has it"),
    ("x others", "how many times that is the median of the other shards"),
    (
        "slow",
        "new entries of the slow log a second: commands that took longer than 'slow = over' says to execute",
    ),
    ("evenness", "how evenly the shards share it: 1 is even, 0 is all on one shard"),
];

struct Shards {
    list: Table<Line>,
    nodes: Table<Line>,
    pairs: Table<Pair>,
    /// The chosen lens; none is the one that fits what is declared.
    lens: Option<usize>,
    open: Open,
    marked: Option<Subject>,
    /// Whether the cursor was put somewhere; until then it stands on the shard that is accused most.
    is_led: bool,
    /// Lines of the detail that were scrolled away.
    scrolled: usize,
}

impl Shards {
    fn new() -> Self {
        Self {
            list: Table::new(columns::SHARDS),
            nodes: Table::new(columns::NODES),
            pairs: Table::new(compare::COLUMNS),
            lens: None,
            open: Open::List,
            marked: None,
            is_led: false,
            scrolled: 0,
        }
    }
}

impl Panel for Shards {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        match self.open.clone() {
            Open::List => self.draw_list(view, area, buffer),
            Open::Shard(shard) => match shard_of(view.snapshot, &shard) {
                Some(shard) => self.draw_shard(view, shard, area, buffer),
                None => draw_sentences(&gone(&shard), view, area, buffer),
            },
            Open::Pair(one, other) => {
                match (shard_of(view.snapshot, &one), shard_of(view.snapshot, &other)) {
                    (Some(_), Some(_)) => self.draw_pair(view, &one, &other, area, buffer),
                    (None, _) => draw_sentences(&gone(&one), view, area, buffer),
                    (_, None) => draw_sentences(&gone(&other), view, area, buffer),
                }
            }
        }
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let snapshot = view.snapshot;
        match action {
            Action::Back => self.back(),
            Action::Left => self.turn(snapshot, false),
            Action::Right => self.turn(snapshot, true),
            Action::Compare => self.compare(snapshot),
            Action::SearchHot => ask_next(self.subject(snapshot).as_ref(), view),
            Action::Scan | Action::PauseScan | Action::CancelScan => {
                big_key_scan::act(action, self.subject(snapshot).as_ref(), view)
            }
            Action::Open if self.open == Open::List => match self.subject(snapshot) {
                Some(shard) => {
                    self.open_shard(shard);
                    Outcome::Done
                }
                None => Outcome::Refused("no shard is known".to_owned()),
            },
            _ => match self.open.clone() {
                Open::List => {
                    let lines = self.rows(snapshot);
                    self.lead(&lines);
                    let outcome = self.list.act(action, &lines);
                    self.is_led |= outcome == Outcome::Done;
                    outcome
                }
                Open::Shard(shard) => self.act_in_shard(action, &shard, snapshot),
                Open::Pair(one, other) => {
                    let rows = compare::pairs(snapshot, &one, &other);
                    self.pairs.act(action, &rows)
                }
            },
        }
    }

    fn actions(&self) -> &'static [Action] {
        match self.open {
            Open::List => &[Action::Open, Action::Right, Action::Compare, Action::Scan],
            Open::Shard(_) => &[
                Action::Back,
                Action::Right,
                Action::Scan,
                Action::SearchHot,
                Action::PauseScan,
                Action::CancelScan,
                Action::Compare,
            ],
            Open::Pair(..) => &[Action::Back],
        }
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let about = || self.subject(view.snapshot);
        match action {
            Action::Left | Action::Right => Some("other number"),
            Action::Scan | Action::PauseScan | Action::CancelScan
                if !big_key_scan::act(action, about().as_ref(), view).does_something() =>
            {
                None
            }
            Action::SearchHot if !ask_next(about().as_ref(), view).does_something() => None,
            // A node and a number have no page of their own.
            Action::Open if self.open != Open::List => None,
            Action::Open | Action::Compare if about().is_none() => None,
            _ => Some(action.row().short),
        }
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }

    fn fields(&self) -> Vec<FieldRow> {
        match self.open {
            Open::List => self.list.fields(),
            Open::Shard(_) => self.nodes.fields(),
            Open::Pair(..) => self.pairs.fields(),
        }
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        match self.open {
            Open::List => self.list.set_filter(filter),
            Open::Shard(_) => self.nodes.set_filter(filter),
            Open::Pair(..) => self.pairs.set_filter(filter),
        }
    }

    fn close(&mut self) {
        self.open = Open::List;
    }

    fn filter(&self) -> Option<&Filter> {
        match self.open {
            Open::List => self.list.filter(),
            Open::Shard(_) => self.nodes.filter(),
            Open::Pair(..) => self.pairs.filter(),
        }
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let snapshot = view.snapshot;
        match &self.open {
            Open::List => {
                let lines = self.rows(snapshot);
                self.list.selected(&lines).map(copied_line)
            }
            Open::Shard(shard) => {
                let lines = node_rows(snapshot, shard_of(snapshot, shard)?, lens_of(self.lens, snapshot));
                self.nodes.selected(&lines).map(copied_line)
            }
            Open::Pair(one, other) => {
                let rows = compare::pairs(snapshot, one, other);
                let row = self.pairs.selected(&rows)?;
                Some(format!("{one} beside {other}: {}", row.words()))
            }
        }
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        let snapshot = view.snapshot;
        let is_row = match &self.open {
            Open::List => {
                let lines = self.rows(snapshot);
                let is_row = self.list.click(at, &lines);
                self.is_led |= is_row;
                is_row
            }
            Open::Shard(shard) => {
                let shard = shard_of(snapshot, shard);
                let lens = lens_of(self.lens, snapshot);
                let lines = shard.map(|shard| node_rows(snapshot, shard, lens)).unwrap_or_default();
                self.nodes.click(at, &lines)
            }
            Open::Pair(one, other) => {
                let rows = compare::pairs(snapshot, one, other);
                self.pairs.click(at, &rows)
            }
        };
        if is_row { Outcome::Done } else { Outcome::Ignored }
    }

    fn open(&mut self, subject: &Subject) {
        let shard = match subject.address() {
            Some(_) => subject.parent(),
            None => Some(subject.clone()),
        };
        match shard.filter(|shard| shard.shard_index().is_some()) {
            Some(shard) => self.open_shard(shard),
            None => self.open = Open::List,
        }
    }
}

fn gone(shard: &Subject) -> Vec<(String, ColorRole)> {
    vec![(format!("? {shard} is not known at this moment"), ColorRole::Unknown)]
}

/// Takes the first row of an area.
fn row_of(rest: &mut Rect) -> Rect {
    let row = Rect { height: rest.height.min(1), ..*rest };
    rest.y += row.height;
    rest.height -= row.height;
    row
}

/// Writes a text into an area of one row, or of none.
fn put(text: &str, role: ColorRole, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    if !area.is_empty() {
        buffer.set_stringn(area.x, area.y, text, usize::from(area.width), view.palette.style(role));
    }
}

#[cfg(test)]
mod tests;
