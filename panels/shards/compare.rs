//! Two shards beside each other: every number of both and how many times the one is the other.

use headwater_engine::metric::{Bad, Metric, REDIS_COMMAND_TIME, REDIS_ERRORS, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::reading::Shard;
use headwater_engine::wording::verdict_word;
use headwater_engine::{RemoteText, Snapshot, Subject};
use headwater_widgets::MarkedLine;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::facts::FACTS;
use super::head::{self, draw_texts};
use super::lens::LENSES;
use super::list::row_words;
use super::parts::{MOST_NAMED, parts, primary};
use super::rows::{give_strips, has_link, lens_of, shard_rows};
use super::{Shards, put, row_of, shard_of};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::table::{Cell, Column, Row, Width, number, text};

/// One number of both.
pub(super) struct Pair {
    id: String,
    section: &'static str,
    name: String,
    values: [Option<f64>; 2],
    texts: [String; 2],
    /// Whether it says yes or no, so that there is no ratio.
    is_flag: bool,
    /// Which way is worse.
    bad: Bad,
}

impl Row for Pair {
    fn id(&self) -> &str {
        &self.id
    }
}

/// From this ratio on, one of two numbers is marked: the worse one, or the greater where neither way is worse.
const DIFFERS: f64 = 2.0;

/// What the two are called.
const SIDES: [&str; 2] = ["A", "B"];

impl Pair {
    fn new(
        section: &'static str,
        name: impl Into<String>,
        bad: Bad,
        values: [Option<f64>; 2],
        show: impl Fn(f64) -> String,
    ) -> Self {
        let name = name.into();
        let texts = values.map(|value| value.map_or_else(|| "-".to_owned(), &show));
        Self { id: format!("{section} {name}"), section, name, values, texts, is_flag: false, bad }
    }

    fn ratio(&self) -> Option<f64> {
        let [Some(one), Some(other)] = self.values else { return None };
        (other > 0.0 && !self.is_flag).then_some(one / other)
    }

    /// The side whose number is greater by far, or says yes where the other says no; nothing where they are alike or
    /// one is not known.
    fn greater(&self) -> Option<usize> {
        let [Some(one), Some(other)] = self.values else { return None };
        let differs = if self.is_flag { self.texts[0] != self.texts[1] } else { true };
        let times = if self.is_flag { 1.0 } else { DIFFERS };
        match () {
            () if !differs => None,
            () if one > 0.0 && one >= other * times => Some(0),
            () if other > 0.0 && other >= one * times => Some(1),
            () => None,
        }
    }

    /// The side that is marked, with how: the worse one as a suspect, or the greater where neither way is worse.
    fn marked(&self) -> Option<(usize, ColorRole)> {
        let greater = self.greater()?;
        Some(match self.bad {
            Bad::High => (greater, ColorRole::Suspect),
            Bad::Low => (1 - greater, ColorRole::Suspect),
            Bad::Neither => (greater, ColorRole::Heading),
        })
    }

    /// `time to answer 41 ms and 0.7 ms, 59x`.
    pub(super) fn words(&self) -> String {
        let ratio = self.ratio().map(|ratio| format!(", {}", times(ratio))).unwrap_or_default();
        format!("{} {} and {}{ratio}", self.name, self.texts[0], self.texts[1])
    }

    fn side(&self, side: usize) -> Cell<'_> {
        let cell = Cell::number(self.values[side]).shown(self.texts[side].as_str());
        match (self.values[side], self.marked()) {
            (None, _) => cell.colored(ColorRole::Unknown),
            (Some(_), Some((marked, role))) if marked == side => cell.colored(role),
            (Some(_), _) => cell,
        }
    }
}

pub(super) static COLUMNS: &[Column<Pair>] = &[
    text("section", "what the number belongs to", Width::Cells(11), 2, |pair| {
        Cell::text(pair.section).colored(ColorRole::Label)
    }),
    text("number", "what is compared", Width::Cells(24), 0, |pair| Cell::text(pair.name.as_str())),
    Column {
        title: "A",
        ..number("a", Unit::Count, "the number of A, in its own unit", 16, 0, |pair| pair.side(0))
    },
    Column {
        title: "B",
        ..number("b", Unit::Count, "the number of B, in its own unit", 16, 0, |pair| pair.side(1))
    },
    Column {
        title: "A / B",
        ..number("ratio", Unit::Ratio, "how many times A is B", 7, 1, |pair| {
            let cell = Cell::number(pair.ratio());
            match pair.ratio() {
                Some(ratio) => cell.shown(times(ratio)),
                None => cell,
            }
        })
    },
    text(
        "differs",
        "where one is at least twice the other or yes and no differ: the worse with a mark, else the greater",
        Width::Cells(9),
        0,
        |pair| match pair.marked() {
            Some((side, ColorRole::Suspect)) => {
                Cell::text(SIDES[side]).shown(format!("! {}", SIDES[side])).colored(ColorRole::Suspect)
            }
            Some((side, role)) => Cell::text(SIDES[side]).shown(format!("  {}", SIDES[side])).colored(role),
            None => Cell::text(""),
        },
    ),
];

/// Numbers with parts that are compared part by part, and what a part is called.
static PARTS: &[(&str, Metric, &str)] =
    &[("commands", REDIS_COMMAND_TIME, "of the time in"), ("errors", REDIS_ERRORS, "error")];

/// Every number of two shards that either has.
pub(super) fn pairs(snapshot: &Snapshot, one: &Subject, other: &Subject) -> Vec<Pair> {
    let lines = shard_rows(snapshot, &LENSES[0], snapshot.at);
    let line = |subject: &Subject| lines.iter().find(|line| line.subject == *subject);
    let both = [one, other];
    let lined = both.map(line);
    let usable = LENSES.iter().filter(|lens| has_link(snapshot) || !lens.needs_link());
    let mut pairs: Vec<Pair> = usable
        .map(|lens| {
            let values = lined.map(|line| line.and_then(|line| line.through(lens)));
            Pair::new("load", lens.name, lens.bad(), values, |value| show(value, lens.unit))
        })
        .collect();
    let shards = both.map(|subject| shard_of(snapshot, subject));
    for (section, metric, words) in PARTS {
        pairs.extend(pairs_of_parts(snapshot, shards, section, *metric, words));
    }
    pairs.extend(FACTS.iter().map(|fact| {
        let values = shards.map(|shard| fact.value(snapshot, shard?));
        Pair {
            is_flag: fact.is_flag(),
            ..Pair::new(fact.section, fact.name, fact.bad, values, |value| fact.show(value))
        }
    }));
    pairs.retain(|pair| pair.section == "load" || pair.values.iter().any(Option::is_some));
    pairs
}

/// The greatest parts of either shard, each of both.
fn pairs_of_parts(
    snapshot: &Snapshot,
    shards: [Option<&Shard>; 2],
    section: &'static str,
    metric: Metric,
    words: &str,
) -> Vec<Pair> {
    let nodes = shards.map(|shard| shard.and_then(primary));
    let mut named: Vec<&RemoteText> = vec![];
    for node in nodes.into_iter().flatten() {
        for (part, _) in parts(snapshot, node, metric).into_iter().take(MOST_NAMED) {
            if !named.contains(&part) {
                named.push(part);
            }
        }
    }
    let value = |node: Option<&Subject>, part: &RemoteText| {
        snapshot.present(node?, metric, Some(part)).map(|seen| seen.value)
    };
    let pair = |part: &RemoteText| {
        let values = nodes.map(|node| value(node, part));
        Pair::new(section, format!("{words} {part}"), metric.row().bad, values, |value| {
            show(value, metric.row().unit)
        })
    };
    named.into_iter().map(pair).collect()
}

impl Shards {
    /// Draws two shards: who they are, the chosen number of both over time, and every number.
    pub(super) fn draw_pair(
        &mut self,
        view: &View<'_>,
        one: &Subject,
        other: &Subject,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let snapshot = view.snapshot;
        let lens = lens_of(self.lens, snapshot);
        let mut lines = shard_rows(snapshot, lens, snapshot.at);
        give_strips(&mut lines, snapshot, area.width.saturating_sub(2));
        let mut rest = area;
        let both = [("A", one), ("B", other)];
        let found = both.map(|(name, subject)| (name, lines.iter().find(|line| line.subject == *subject)));
        let is_high = area.height >= 12;
        for (name, line) in found {
            let Some(line) = line.filter(|_| area.height > 3) else { continue };
            let text = format!("{name} = {}", row_words(line));
            MarkedLine::new(glyph_of(line.verdict()), verdict_word(line.verdict()), &text)
                .word_width(8)
                .mark_style(view.palette.style(role_of(line.verdict())))
                .text_style(view.palette.style(ColorRole::Text))
                .glyphs(view.palette.glyphs)
                .render(row_of(&mut rest), buffer);
        }
        if let (true, [(_, Some(one)), _]) = (is_high, found) {
            draw_texts(&head::legend(view, &one.strip, one.link, None), view, row_of(&mut rest), buffer);
            for (name, line) in found {
                let row = row_of(&mut rest);
                put(name, ColorRole::Label, view, row, buffer);
                if let Some(line) = line {
                    let strip =
                        Rect { x: row.x.saturating_add(2), width: row.width.saturating_sub(2), ..row };
                    super::columns::draw_strip(line, view, strip, buffer);
                }
            }
            row_of(&mut rest);
        }
        let rows = pairs(snapshot, one, other);
        self.pairs.draw(&rows, view, rest, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_side_is_marked_and_the_greater_one_where_neither_is_worse() {
        let pair = |bad, values: [f64; 2]| {
            Pair::new("keys", "number", bad, values.map(Some), |value| show(value, Unit::Ratio)).marked()
        };
        assert_eq!(pair(Bad::High, [0.98, 0.4]), Some((0, ColorRole::Suspect)));
        assert_eq!(pair(Bad::Low, [0.98, 0.4]), Some((1, ColorRole::Suspect)));
        assert_eq!(pair(Bad::Neither, [0.98, 0.4]), Some((0, ColorRole::Heading)));
        assert_eq!(pair(Bad::Low, [0.5, 0.4]), None);
    }
}
