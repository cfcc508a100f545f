//! When keys expire: the seconds of a sample in which most do, and the herd among them.

use headwater_engine::metric::{REDIS_EXPIRED, REDIS_KEYS, REDIS_KEYS_VOLATILE, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{Expiries, Scan, ToCome};
use headwater_engine::{Moment, Subject};
use headwater_widgets::Progress;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::known::said;
use super::life;
use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{age_words, key_to_start, results, scans_told};
use crate::action::Action;
use crate::lines::Line;
use crate::palette::ColorRole;
use crate::panel::View;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};

/// This view's line in the table.
pub(super) const VIEW: ViewRow = ViewRow {
    name: "ttl",
    make: || Rows::boxed(&ROWS),
    told,
    empty,
    picture: Some((5, life::draw)),
    opens: "all of it",
};

static ROWS: RowsOf<Second> = RowsOf { columns: COLUMNS, rows, words, open: |_, _| Opened::Page, page };

/// All that is known of a second in which keys expire.
fn page(row: &Second, looked: &Looked<'_>) -> Vec<Line> {
    let mut lines = vec![
        said("second", words(row)).text_colored(ColorRole::Heading),
        said("where", row.shard.to_string()),
    ];
    if row.is_herd {
        lines.push(
            said("herd", "it stands out from the other seconds".to_owned()).text_colored(ColorRole::Suspect),
        );
    }
    let of_shard = samples(looked).filter(|(scan, _)| scan.shard == row.shard);
    lines.extend(of_shard.map(|(scan, expiries)| said("sample", sampled(scan, expiries, looked).0)));
    lines
}

/// One second in which keys of one shard expire.
struct Second {
    id: String,
    shard: Subject,
    shard_name: String,
    at: Moment,
    /// Seconds until it comes, below zero once it has passed.
    in_s: f64,
    keys: u64,
    share: Option<f64>,
    is_herd: bool,
}

impl Row for Second {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The samples that are looked at.
pub(super) fn samples<'a>(looked: &Looked<'a>) -> impl Iterator<Item = (&'a Scan, &'a Expiries)> {
    results(looked).filter_map(|(scan, _)| Some((scan, scan.expiries.as_ref()?)))
}

fn rows(looked: &Looked<'_>) -> Vec<Second> {
    let now = looked.snapshot().at;
    let mut rows = vec![];
    for (scan, expiries) in samples(looked) {
        let volatile = expiries.volatile();
        let herd = expiries.herd_to_come(now).map(|(second, _)| second.at);
        rows.extend(expiries.seconds.iter().map(|second| Second {
            id: format!("{} {}", scan.shard, second.at.0),
            shard: scan.shard.clone(),
            shard_name: whole_name(&scan.shard),
            at: second.at,
            in_s: second.at.seconds_after(now),
            keys: second.keys,
            share: (volatile > 0).then(|| second.keys as f64 / volatile as f64),
            is_herd: herd == Some(second.at),
        }));
    }
    // What is still to come first, the soonest first.
    rows.sort_by_key(|row| (row.at <= now, row.at));
    rows
}

static COLUMNS: &[Column<Second>] = &[
    text("second", "the second, UTC", Width::Cells(8), 0, |row| Cell::text(row.at.clock())),
    number("in", Unit::Seconds, "how long until then; below 0 once it has passed", 9, 1, |row| {
        let cell = Cell::number(Some(row.in_s));
        if row.in_s < 0.0 { cell.shown("passed").colored(ColorRole::Faint) } else { cell }
    }),
    number("keys", Unit::Count, "keys of the sample that expire in it", 7, 0, |row| {
        Cell::number(Some(row.keys as f64))
    }),
    number("share", Unit::Ratio, "its share of the keys of the sample that expire at all", 6, 0, |row| {
        Cell::number(row.share)
    }),
    Column {
        draw: Some(draw_bar),
        title: "",
        ..text("bar", "the share, drawn; for filters 'herd' or nothing", Width::Rest(8), 0, |row| {
            Cell::text(if row.is_herd { "herd" } else { "" })
        })
    },
    text(
        "herd",
        "the second still to come in which a herd expires: more than 5 % of the keys that expire",
        Width::Cells(6),
        1,
        |row| {
            if row.is_herd {
                Cell::text("herd").shown("! herd").colored(ColorRole::Suspect)
            } else {
                Cell::text("")
            }
        },
    ),
    text("shard", "the shard that holds them", Width::Cells(12), 1, |row| {
        Cell::text(row.shard_name.as_str()).shown(short_name(&row.shard, 12))
    }),
];

fn draw_bar(row: &Second, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let role = if row.is_herd { ColorRole::Suspect } else { ColorRole::Trend };
    Progress::new(row.share)
        .glyphs(view.palette.glyphs)
        .styles(view.palette.style(role), view.palette.style(ColorRole::Frame))
        .render(area, buffer);
}

fn words(row: &Second) -> String {
    let share = row.share.map(|share| format!(", {} of those that expire", show(share, Unit::Ratio)));
    let when = match row.in_s {
        passed if passed < 0.0 => "passed".to_owned(),
        until => format!("in {}", show(until, Unit::Seconds)),
    };
    format!(
        "{}: {} sampled keys expire at {} UTC ({when}){}",
        row.shard,
        show(row.keys as f64, Unit::Count),
        row.at.clock(),
        share.unwrap_or_default()
    )
}

fn told(looked: &Looked<'_>) -> Sentences {
    let mut told: Sentences =
        samples(looked).map(|(scan, expiries)| sampled(scan, expiries, looked)).take(3).collect();
    told.extend(counted(looked).map(|text| (text, ColorRole::Faint)));
    told
}

/// What a sample says of a shard: how many keys expire, how many never do, and the herd.
fn sampled(scan: &Scan, expiries: &Expiries, looked: &Looked<'_>) -> (String, ColorRole) {
    let count = |keys: u64| show(keys as f64, Unit::Count);
    let share_words = |share: f64| show(share, Unit::Ratio);
    let (forecast, role) = match expiries.to_come(looked.snapshot().at) {
        ToCome::Herd { at, share } => (
            format!("! herd to come: {} of them at {} UTC", share_words(share), at.clock()),
            ColorRole::Suspect,
        ),
        _ if expiries.volatile() == 0 => ("o none expires".to_owned(), ColorRole::Innocent),
        ToCome::Even { share, .. } => (
            format!("o no herd to come: no second has more than {}", share_words(share)),
            ColorRole::Innocent,
        ),
        ToCome::Passed => (
            "? every second that was sampled has passed: a new scan tells more".to_owned(),
            ColorRole::Unknown,
        ),
        ToCome::TooFew => ("? too few keys that expire to tell a herd".to_owned(), ColorRole::Unknown),
    };
    let text = format!(
        "{}: {forecast}; of {} sampled keys {} expire, {} never; {}",
        scan.shard,
        count(expiries.sampled),
        count(expiries.volatile()),
        count(expiries.without),
        age_words(expiries.at, looked.snapshot())
    );
    (text, role)
}

/// What the servers count themselves, without a sample.
fn counted(looked: &Looked<'_>) -> Option<String> {
    let snapshot = looked.snapshot();
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let primaries = shards
        .filter(|shard| looked.includes(&shard.subject))
        .filter_map(|shard| shard.nodes.iter().find(|node| node.primary));
    let mut sums = [None::<f64>; 3];
    for node in primaries {
        for (sum, metric) in sums.iter_mut().zip([REDIS_KEYS, REDIS_KEYS_VOLATILE, REDIS_EXPIRED]) {
            if let Some(seen) = snapshot.present(&node.subject, metric, None) {
                *sum = Some(sum.unwrap_or(0.0) + seen.value);
            }
        }
    }
    let [Some(keys), Some(volatile), expired] = sums else { return None };
    let expired = expired.map(|expired| format!("; {} expire now", show(expired, Unit::PerSecond)));
    Some(format!(
        "free, counted by the servers: {} of {} keys have an expiry{}",
        show(volatile, Unit::Count),
        show(keys, Unit::Count),
        expired.unwrap_or_default()
    ))
}

fn empty(looked: &Looked<'_>) -> Sentences {
    // A sample in which no key expires has no rows, and is an answer.
    let mut told: Sentences =
        samples(looked).map(|(scan, expiries)| sampled(scan, expiries, looked)).take(3).collect();
    if told.is_empty() {
        told.push(("no expiry of keys is known".to_owned(), ColorRole::Heading));
        let start = key_to_start(looked.view, Action::Scan, "asks for a scan, which samples expiries too");
        told.extend(start.map(|start| (start, ColorRole::Text)));
    }
    told.extend(scans_told(looked));
    told.push((
        "keys that were written together with one TTL expire together: then all are missed in one second, and the store behind them is asked for all".to_owned(),
        ColorRole::Faint,
    ));
    told.extend(counted(looked).map(|text| (text, ColorRole::Text)));
    told
}
