//! Two shards beside each other: every number of both and how many times the one is the other.

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{show, times};
use headwater_engine::wording::verdict_word;
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::MarkedLine;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::head::{self, draw_texts};
use super::lens::{LENSES, Lens};
use super::line::Line;
use super::list::row_words;
use super::rows::{give_strips, has_link, lens_of, shard_rows};
use super::{Shards, put, row_of};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::table::{Cell, Column, Row, Width};

/// One number of both.
pub(super) struct Pair {
    lens: &'static Lens,
    values: [Option<f64>; 2],
}

impl Row for Pair {
    fn id(&self) -> &str {
        self.lens.name
    }
}

impl Pair {
    fn ratio(&self) -> Option<f64> {
        let [Some(one), Some(other)] = self.values else { return None };
        (other > 0.0).then_some(one / other)
    }

    /// `time to answer 41 ms and 0.7 ms, 59x`.
    pub(super) fn words(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| show(value, self.lens.unit));
        let ratio = self.ratio().map(|ratio| format!(", {}", times(ratio))).unwrap_or_default();
        format!("{} {} and {}{ratio}", self.lens.name, shown(self.values[0]), shown(self.values[1]))
    }

    fn side(&self, side: usize) -> Cell<'_> {
        let value = self.values[side];
        let cell = Cell::number(value);
        match value {
            Some(value) => cell.shown(show(value, self.lens.unit)),
            None => cell.colored(ColorRole::Unknown),
        }
    }
}

pub(super) static COLUMNS: &[Column<Pair>] = &[
    Column {
        field: FieldRow { name: "number", kind: FieldKind::Text, help: "what is compared" },
        title: "number",
        width: Width::Cells(16),
        rank: 0,
        cell: |pair| Cell::text(pair.lens.name),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "a",
            kind: FieldKind::Number(Unit::Count),
            help: "the number of A, in its own unit",
        },
        title: "A",
        width: Width::Cells(11),
        rank: 0,
        cell: |pair| pair.side(0),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "b",
            kind: FieldKind::Number(Unit::Count),
            help: "the number of B, in its own unit",
        },
        title: "B",
        width: Width::Cells(11),
        rank: 0,
        cell: |pair| pair.side(1),
        draw: None,
    },
    Column {
        field: FieldRow {
            name: "ratio",
            kind: FieldKind::Number(Unit::Ratio),
            help: "how many times A is B",
        },
        title: "A / B",
        width: Width::Cells(8),
        rank: 1,
        cell: |pair| {
            let ratio = pair.ratio();
            let cell = Cell::number(ratio);
            match ratio {
                Some(ratio) => cell.shown(times(ratio)),
                None => cell,
            }
        },
        draw: None,
    },
];

/// Every number of two shards.
pub(super) fn pairs(snapshot: &Snapshot, one: &Subject, other: &Subject) -> Vec<Pair> {
    let lines = shard_rows(snapshot, &LENSES[0], snapshot.at);
    let line = |subject: &Subject| lines.iter().find(|line| line.subject == *subject);
    let (one, other) = (line(one), line(other));
    let usable = LENSES.iter().filter(|lens| has_link(snapshot) || !lens.needs_link());
    let value = |line: Option<&Line>, lens| line.and_then(|line| line.through(lens));
    usable.map(|lens| Pair { lens, values: [value(one, lens), value(other, lens)] }).collect()
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
