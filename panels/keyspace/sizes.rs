//! How many keys there are of which size, as servers count them themselves: it costs nothing, and names no key.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted as in_words, show};
use headwater_engine::reading::{KeySizes, SizeBin};
use headwater_engine::rules::{Limits, by_id};
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::Progress;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::known::said;
use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::key_to_start;
use crate::action::Action;
use crate::lines::Line;
use crate::palette::ColorRole;
use crate::panel::View;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};

/// This view's line in the table.
pub(super) const VIEW: ViewRow = ViewRow {
    name: "sizes",
    make: || Rows::boxed(&ROWS),
    told: |looked| match biggest_words(looked) {
        Some(words) => vec![(words, ColorRole::Text)],
        None => vec![],
    },
    empty,
    picture: None,
    opens: "all of it",
};

static ROWS: RowsOf<Bin> = RowsOf { columns: COLUMNS, rows, words, open: |_, _| Opened::Page, page };

/// All that is known of the keys of one size, and how to learn which they are.
fn page(row: &Bin, looked: &Looked<'_>) -> Vec<Line> {
    let mut lines =
        vec![said("keys", words(row)).text_colored(ColorRole::Heading), said("where", row.shard.to_string())];
    if row.is_big {
        lines.push(
            said("big", "the rule for big keys calls all of them big".to_owned())
                .text_colored(ColorRole::Suspect),
        );
    }
    let start = key_to_start(looked.view, Action::Scan, "asks for a scan of the shard, which names them");
    lines.extend(start.map(|start| said("which", start)));
    lines
}

/// Endings of the names of the server's rows, with the unit of their bins and the limit of the rule for big keys.
const MEASURES: &[(&str, Unit, &str)] =
    &[("_sizes", Unit::Bytes, "bytes"), ("_items", Unit::Count, "elements")];

/// The rule that says from when on a key is big.
const BIG_KEY: &str = "big-key";

/// The smallest bin of which all keys are big by the rule's limit: bins begin at powers of two.
fn least_big(looked: &Looked<'_>, shard: &Subject, limit: &str) -> u64 {
    let Some(rule) = by_id(BIG_KEY) else { return u64::MAX };
    let limits = Limits { rule, settings: &looked.snapshot().settings, subject: shard };
    (limits.of(limit).ceil() as u64).checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// One bin of one type on one shard.
struct Bin {
    id: String,
    shard: Subject,
    shard_name: String,
    /// `strings`, `hashes`.
    kind: String,
    unit: Unit,
    from: u64,
    keys: u64,
    /// The share of the keys of its type.
    share: f64,
    is_big: bool,
}

impl Row for Bin {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The sizes of each shard that is looked at: those of its primary, else of whichever node counts.
fn counted<'a>(looked: &Looked<'a>) -> impl Iterator<Item = (&'a Subject, &'a KeySizes)> {
    let snapshot: &'a Snapshot = looked.snapshot();
    let of = looked.of;
    let known: BTreeMap<&Subject, &KeySizes> =
        snapshot.key_sizes.iter().map(|(node, sizes)| (node, &**sizes)).collect();
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    shards.filter(move |shard| of.is_none_or(|of| *of == shard.subject)).filter_map(move |shard| {
        let sizes = |node: &Subject| known.get(node).copied();
        Some((&shard.subject, shard.nodes.iter().find_map(|node| sizes(&node.subject))?))
    })
}

/// The type, the unit and the limit of a row as the server names it.
fn measure(name: &str) -> (&str, Unit, &'static str) {
    let found =
        MEASURES.iter().find_map(|(ending, unit, limit)| Some((name.strip_suffix(ending)?, *unit, *limit)));
    found.unwrap_or((name, Unit::Count, "elements"))
}

fn rows(looked: &Looked<'_>) -> Vec<Bin> {
    let mut rows = vec![];
    for (shard, sizes) in counted(looked) {
        for (name, bins) in &sizes.rows {
            let (kind, unit, limit) = measure(name.as_str());
            let big = least_big(looked, shard, limit);
            let all: u64 = bins.iter().map(|bin| bin.keys).sum();
            rows.extend(bins.iter().filter(|bin| bin.keys > 0).map(|bin| Bin {
                id: format!("{shard} {name} {}", bin.from),
                shard: shard.clone(),
                shard_name: whole_name(shard),
                kind: kind.to_owned(),
                unit,
                from: bin.from,
                keys: bin.keys,
                share: bin.keys as f64 / all as f64,
                is_big: bin.from >= big,
            }));
        }
    }
    // Bytes and elements are not compared: what is big of its kind comes first, then the greatest.
    rows.sort_by(|one, other| {
        other.is_big.cmp(&one.is_big).then_with(|| one.kind.cmp(&other.kind)).then(other.from.cmp(&one.from))
    });
    rows
}

/// `512 kB to 1 MB`, `4096 to 8191 elements`.
fn span(row: &Bin) -> String {
    let (from, until) = (row.from, row.from.saturating_mul(2));
    match (row.unit, from) {
        (Unit::Bytes, 0 | 1) => "at most 1 B".to_owned(),
        (Unit::Bytes, _) => {
            format!("{} to {}", show(from as f64, Unit::Bytes), show(until as f64, Unit::Bytes))
        }
        (_, 0 | 1) => "at most 1 element".to_owned(),
        _ => format!("{from} to {} elements", until - 1),
    }
}

static COLUMNS: &[Column<Bin>] = &[
    text("type", "the type of the keys", Width::Cells(13), 0, |row| Cell::text(row.kind.as_str())),
    Column {
        title: "size",
        ..number(
            "from",
            Unit::Count,
            "the least size of a key in it: bytes of a string, elements of a collection",
            26,
            0,
            |row| {
                let cell = Cell::number(Some(row.from as f64)).shown(span(row));
                if row.is_big { cell.colored(ColorRole::Suspect) } else { cell }
            },
        )
    },
    number("keys", Unit::Count, "keys of this size", 7, 0, |row| Cell::number(Some(row.keys as f64))),
    number("share", Unit::Ratio, "their share of the keys of this type", 6, 1, |row| {
        Cell::number(Some(row.share))
    }),
    Column {
        draw: Some(draw_bar),
        title: "",
        ..text("bar", "the share, drawn; for filters 'big' or nothing", Width::Rest(6), 2, |row| {
            Cell::text(if row.is_big { "big" } else { "" })
        })
    },
    text("big", "whether the rule for big keys calls all of them big", Width::Cells(5), 1, |row| {
        if row.is_big { Cell::text("big").shown("! big").colored(ColorRole::Suspect) } else { Cell::text("") }
    }),
    text("shard", "the shard that holds them", Width::Cells(12), 1, |row| {
        Cell::text(row.shard_name.as_str()).shown(short_name(&row.shard, 12))
    }),
];

fn draw_bar(row: &Bin, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let role = if row.is_big { ColorRole::Suspect } else { ColorRole::Trend };
    Progress::new(Some(row.share))
        .glyphs(view.palette.glyphs)
        .styles(view.palette.style(role), view.palette.style(ColorRole::Frame))
        .render(area, buffer);
}

fn words(row: &Bin) -> String {
    format!(
        "{} of {} among the {} on {}, {} of that type (INFO keysizes)",
        in_words(row.keys, "key"),
        span(row),
        row.kind,
        row.shard,
        show(row.share, Unit::Ratio)
    )
}

/// How many keys are big by what servers count themselves; `None` where none counts.
pub(super) fn biggest_words(looked: &Looked<'_>) -> Option<String> {
    let mut big = 0;
    let mut limits = BTreeSet::new();
    for (shard, sizes) in counted(looked) {
        limits.insert([least_big(looked, shard, "bytes"), least_big(looked, shard, "elements")]);
        for (name, bins) in &sizes.rows {
            let least = least_big(looked, shard, measure(name.as_str()).2);
            big += bins.iter().filter(|bin: &&SizeBin| bin.from >= least).map(|bin| bin.keys).sum::<u64>();
        }
    }
    let limits: Vec<[u64; 2]> = limits.into_iter().collect();
    let words = match limits.as_slice() {
        [] => return None,
        [[bytes, elements]] => {
            let kib = show(*bytes as f64, Unit::Bytes);
            format!("{} of {kib} or {elements} elements and more", in_words(big, "key"))
        }
        _ => format!("{}, by the limits of each deployment", in_words(big, "big key")),
    };
    Some(format!("free, counted by the servers (INFO keysizes): {words}; it does not name them"))
}

fn empty(looked: &Looked<'_>) -> Sentences {
    let mut told = vec![("no server here counts its keys by size".to_owned(), ColorRole::Heading)];
    let why = match looked.snapshot().gone_back_from {
        Some(_) => "sizes are not kept for the past",
        None => {
            "INFO keysizes comes with Redis 8.0; it costs nothing, and says how many keys are big and not which"
        }
    };
    told.push((why.to_owned(), ColorRole::Text));
    told.extend(
        key_to_start(looked.view, Action::Scan, "asks for a scan instead")
            .map(|text| (text, ColorRole::Text)),
    );
    told
}
