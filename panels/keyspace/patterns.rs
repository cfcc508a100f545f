//! Keys by the pattern of their names: which kind of data fills a shard.

use headwater_engine::Subject;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted, show};

use super::known::said;
use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{results, scans_told};
use crate::lines::Line;
use crate::palette::ColorRole;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};

/// This view's line in the table.
pub(super) const VIEW: ViewRow = ViewRow {
    name: "patterns",
    make: || Rows::boxed(&ROWS),
    told: scans_told,
    empty,
    picture: None,
    opens: "all of it",
};

static ROWS: RowsOf<Pattern> = RowsOf { columns: COLUMNS, rows, words, open: |_, _| Opened::Page, page };

/// All that is known of a pattern, with the biggest keys of its shard below.
fn page(row: &Pattern, looked: &Looked<'_>) -> Vec<Line> {
    let bytes = |bytes: u64| show(bytes as f64, Unit::Bytes);
    let mut lines = vec![
        said("pattern", row.pattern.clone()).text_colored(ColorRole::Heading),
        said("where", row.shard.to_string()),
        said("keys", counted(row.keys, "key")),
        said("bytes", format!("{}, the biggest {}", bytes(row.bytes), bytes(row.biggest))),
    ];
    let of_shard = results(looked).filter(|(scan, _)| scan.shard == row.shard);
    let biggest = of_shard.flat_map(|(scan, _)| &scan.biggest).take(BIGGEST);
    let labels = std::iter::once("biggest there").chain(std::iter::repeat(""));
    lines.extend(
        labels.zip(biggest).map(|(label, key)| said(label, format!("{} {}", bytes(key.bytes), key.key))),
    );
    lines
}

/// How many of the biggest keys of its shard the page of a pattern names.
const BIGGEST: usize = 8;

/// Keys of one pattern on one shard.
struct Pattern {
    id: String,
    shard: Subject,
    shard_name: String,
    pattern: String,
    keys: u64,
    bytes: u64,
    biggest: u64,
    /// The share of the bytes of all patterns of its shard.
    share: Option<f64>,
}

impl Row for Pattern {
    fn id(&self) -> &str {
        &self.id
    }
}

fn rows(looked: &Looked<'_>) -> Vec<Pattern> {
    let mut rows = vec![];
    for (scan, _) in results(looked) {
        let all: u64 = scan.patterns.iter().map(|pattern| pattern.bytes).sum();
        rows.extend(scan.patterns.iter().map(|pattern| Pattern {
            id: format!("{} {}", scan.shard, pattern.pattern),
            shard: scan.shard.clone(),
            shard_name: whole_name(&scan.shard),
            pattern: pattern.pattern.to_string(),
            keys: pattern.keys,
            bytes: pattern.bytes,
            biggest: pattern.biggest,
            share: (all > 0).then(|| pattern.bytes as f64 / all as f64),
        }));
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}

static COLUMNS: &[Column<Pattern>] = &[
    number("bytes", Unit::Bytes, "bytes of all its keys", 8, 0, |row| Cell::number(Some(row.bytes as f64))),
    number(
        "share",
        Unit::Ratio,
        "its share of the bytes of the patterns that are listed of its shard",
        6,
        1,
        |row| Cell::number(row.share),
    ),
    text("pattern", "the names, with * for what differs", Width::Rest(20), 0, |row| {
        Cell::name(row.pattern.as_str())
    }),
    number("keys", Unit::Count, "keys of this pattern", 7, 0, |row| Cell::number(Some(row.keys as f64))),
    number("mean", Unit::Bytes, "bytes of one of its keys on average", 8, 3, |row| {
        Cell::number((row.keys > 0).then(|| row.bytes as f64 / row.keys as f64))
    }),
    number("biggest", Unit::Bytes, "bytes of its biggest key", 8, 2, |row| {
        Cell::number(Some(row.biggest as f64))
    }),
    text("shard", "the shard that holds them", Width::Cells(12), 1, |row| {
        Cell::text(row.shard_name.as_str()).shown(short_name(&row.shard, 12))
    }),
];

fn words(row: &Pattern) -> String {
    let [bytes, biggest] = [row.bytes, row.biggest].map(|bytes| show(bytes as f64, Unit::Bytes));
    let keys = counted(row.keys, "key");
    format!("{}: {keys}, {bytes} together, the biggest {biggest}, on {}", row.pattern, row.shard)
}

fn empty(looked: &Looked<'_>) -> Sentences {
    let mut told = vec![("no pattern of keys is known".to_owned(), ColorRole::Heading)];
    told.extend(scans_told(looked));
    told.push((
        "a scan groups the keys that it looks at by their names: user:8812 and user:9 are user:*".to_owned(),
        ColorRole::Text,
    ));
    told
}
