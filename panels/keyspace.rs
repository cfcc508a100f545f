//! The keys of each shard: which are big, which are hot, when they expire, and where any key lives.

mod big;
mod drawing;
mod expiry;
mod hot;
mod known;
mod life;
mod pane;
mod patterns;
mod place;
mod seen;
mod shard_rows;
mod sizes;
mod way;
mod ways;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldRow, Filter};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::big_key_scan;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::sentences::draw_sentences;
use drawing::{draw_foot, draw_running, draw_told, draw_views, take};
use pane::{Opened, Pane, ViewRow};
use way::{BIG, SHARDS, place_of};
pub(crate) use ways::ask_next;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "keys",
    title: "Keys",
    short: "Keys",
    help: "which keys are big, which are hot, when keys expire, and where a key lives",
    is_for_walls: false,
    make: || Box::new(Keyspace::new()),
};

/// Every view, in the order of the keys to the left and right. A view is one file and its line here.
static VIEWS: &[ViewRow] = &[
    shard_rows::VIEW,
    big::VIEW,
    patterns::VIEW,
    hot::VIEW,
    expiry::VIEW,
    sizes::VIEW,
    place::VIEW,
    ways::VIEW,
];

/// What help explains.
static WORDS: &[(&str, &str)] = &[
    (
        "big, patterns",
        "keys by size, and by the pattern of their names, as a scan found them; 'reply' and 'request' are commands that the server itself logged as large",
    ),
    ("hot", "keys by their shares of operations, CPU and bytes; '-' where the way that counted cannot say"),
    (
        "ttl",
        "the seconds in which most keys of a sample expire; a herd is one with more than 5 % of all that expire",
    ),
    ("sizes", "how many keys there are of which size, as the server counts them: free, and without names"),
    ("place", "slot, shard and node of any keys, and whether they share one"),
    (
        "ways",
        "every way to find out about keys, the gentlest first, with its cost and whether this shard offers it",
    ),
    ("freq", "the counter of OBJECT FREQ: an order, no share"),
    ("our own", "what Headwater itself asks: no caller's doing"),
];

/// From these heights on there is a head, and the row under the cursor in words.
const HEIGHT_FOR_HEAD: u16 = 5;
const HEIGHT_FOR_FOOT: u16 = 9;

struct Keyspace {
    panes: Vec<Box<dyn Pane>>,
    /// The place of the view that is open.
    at: usize,
    /// The shard that was opened.
    of: Option<Subject>,
    typed: Vec<String>,
    /// Whether the cursor was put somewhere; until then it stands on the shard that is accused most.
    is_led: bool,
}

impl Panel for Keyspace {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let (row, at, of) = (self.row(), self.at, self.of.clone());
        self.with(view, |pane, looked| {
            let mut rest = area;
            if area.height >= HEIGHT_FOR_HEAD {
                draw_views(at, of.as_ref(), view, take(&mut rest, 1), buffer);
            }
            if pane.has_page() && pane.count(looked) > 0 {
                return pane.draw(looked, rest, buffer);
            }
            if pane.count(looked) == 0 {
                draw_running(looked, &mut rest, buffer);
                return draw_sentences(&(row.empty)(looked), view, rest, buffer);
            }
            if area.height >= HEIGHT_FOR_HEAD {
                draw_told(row, looked, &mut rest, area.height / 4, buffer);
                draw_running(looked, &mut rest, buffer);
            }
            if let Some((height, draw)) = row.picture.filter(|(height, _)| area.height >= height * 4) {
                draw(looked, take(&mut rest, height), buffer);
            }
            if area.height >= HEIGHT_FOR_FOOT {
                draw_foot(pane, looked, &mut rest, area.height / 6, buffer);
            }
            pane.draw(looked, rest, buffer);
        });
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        match action {
            Action::Back => return self.back(),
            Action::Left | Action::Right => return self.turn(action == Action::Right),
            Action::Scan => return big_key_scan::act(action, self.about(view).as_ref(), view),
            Action::PauseScan | Action::CancelScan => {
                return big_key_scan::act(action, self.steered(view).as_ref(), view);
            }
            Action::SearchHot => {
                return match self.row().name {
                    "ways" => self.act(Action::Open, view),
                    _ => ask_next(self.about(view).as_ref(), view),
                };
            }
            _ => {}
        }
        let is_list = self.at == SHARDS;
        match self.with(view, |pane, looked| pane.act(action, looked)) {
            Opened::Page => Outcome::Done,
            Opened::Shard(shard) => {
                self.of = Some(shard);
                self.at = BIG;
                Outcome::Done
            }
            Opened::Other(outcome) => {
                self.is_led |= is_list && outcome == Outcome::Done;
                outcome
            }
        }
    }

    fn actions(&self) -> &'static [Action] {
        &[
            // What runs is steered first: the row of keys may be short.
            Action::PauseScan,
            Action::CancelScan,
            Action::Open,
            Action::Right,
            Action::Scan,
            Action::SearchHot,
            Action::Back,
        ]
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        match action {
            Action::Open => self.seeing(view, |pane, looked| pane.opens(looked)).then_some(self.row().opens),
            Action::Left | Action::Right => Some("other view"),
            Action::Back if self.at == SHARDS && self.of.is_none() => None,
            Action::Scan if !big_key_scan::act(action, self.about(view).as_ref(), view).does_something() => {
                None
            }
            // Among the ways this key asks for the one under the cursor, as opening does.
            Action::SearchHot if self.row().name == "ways" => {
                self.short(Action::Open, view).map(|_| action.row().short)
            }
            Action::SearchHot if !ask_next(self.about(view).as_ref(), view).does_something() => None,
            Action::PauseScan | Action::CancelScan
                if !big_key_scan::act(action, self.steered(view).as_ref(), view).does_something() =>
            {
                None
            }
            _ => Some(action.row().short),
        }
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.panes[self.at].fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.panes[self.at].set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.panes[self.at].filter()
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        self.seeing(view, |pane, looked| pane.copied(looked))
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        let is_list = self.at == SHARDS;
        let outcome = self.with(view, |pane, looked| pane.click(at, looked));
        self.is_led |= is_list && outcome == Outcome::Done;
        outcome
    }

    fn open(&mut self, subject: &Subject) {
        let shard = if subject.address().is_some() { subject.parent() } else { Some(subject.clone()) };
        self.of = shard.filter(|shard| shard.shard_index().is_some());
        self.at = if self.of.is_some() { BIG } else { SHARDS };
    }

    fn close(&mut self) {
        self.panes.iter_mut().for_each(|pane| pane.close());
        (self.at, self.of) = (SHARDS, None);
    }

    fn typed(&mut self, text: &str, _view: &View<'_>) -> Outcome {
        self.typed.clear();
        for key in text.split_whitespace().take(MOST_TYPED) {
            if !self.typed.iter().any(|known| known == key) {
                self.typed.push(key.to_owned());
            }
        }
        self.at = place_of("place");
        Outcome::Done
    }
}

/// Keys that can be typed in at once.
const MOST_TYPED: usize = 64;

#[cfg(test)]
mod tests;
