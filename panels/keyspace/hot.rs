//! Hot keys and slots: what searches have counted, with shares where the way can tell them.

use headwater_engine::Subject;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::{HotSearch, KEY_METHODS, KeyHeat, KeyMethod, SlotHeat};

use super::big::slot_words;
use super::known;
use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{own_words, searches, searches_told};
use super::ways::{self, Offer};
use crate::palette::ColorRole;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};

/// This view's line in the table.
pub(super) const VIEW: ViewRow =
    ViewRow { name: "hot", make: || Rows::boxed(&ROWS), told, empty, picture: None, opens: "all of it" };

static ROWS: RowsOf<Heat> = RowsOf {
    columns: COLUMNS,
    rows,
    words,
    open: |_, _| Opened::Page,
    page: |row, looked| match &row.key {
        Some(key) => known::lines(&row.shard, key, looked),
        None => vec![known::said("slot", words(row)), known::said("where", row.shard.to_string())],
    },
};

/// One key, or one slot, as one search counted it.
struct Heat {
    id: String,
    shard: Subject,
    shard_name: String,
    /// The key; `None` for a slot.
    key: Option<String>,
    name: String,
    slot: Option<u16>,
    method: KeyMethod,
    /// The share that it is ordered by, of what the shard is short of where that is known.
    ranked: Option<f64>,
    operations: Option<f64>,
    per_second: Option<f64>,
    cpu: Option<f64>,
    bytes: Option<f64>,
    frequency: Option<u64>,
    command: String,
    seconds: f64,
}

impl Row for Heat {
    fn id(&self) -> &str {
        &self.id
    }
}

fn rows(looked: &Looked<'_>) -> Vec<Heat> {
    let mut rows = vec![];
    let short_of_bytes = looked.snapshot().short_of_bytes();
    for (search, _) in searches(looked) {
        let is_short = short_of_bytes.contains(&search.shard);
        rows.extend(search.keys.iter().map(|key| of_key(search, key, is_short)));
        rows.extend(search.slots.iter().map(|slot| of_slot(search, slot, is_short)));
    }
    // What can tell shares first, the hottest first; of the others their own order, the greatest counter first.
    rows.sort_by(|one, other| {
        let shares = other.ranked.unwrap_or(-1.0).total_cmp(&one.ranked.unwrap_or(-1.0));
        shares.then(other.frequency.cmp(&one.frequency))
    });
    rows
}

fn of_key(search: &HotSearch, key: &KeyHeat, is_short_of_bytes: bool) -> Heat {
    Heat {
        id: format!("{} {} {}", search.shard, search.method.row().name, key.key),
        shard: search.shard.clone(),
        shard_name: whole_name(&search.shard),
        key: Some(key.key.to_string()),
        name: key.key.to_string(),
        slot: key.slot,
        method: search.method,
        ranked: key.share(is_short_of_bytes).map(|(share, _)| share),
        operations: key.operations_share,
        per_second: key.per_second,
        cpu: key.cpu_share,
        bytes: key.bytes_share,
        frequency: key.frequency,
        command: key.command.as_ref().map(ToString::to_string).unwrap_or_default(),
        seconds: search.seconds,
    }
}

fn of_slot(search: &HotSearch, slot: &SlotHeat, is_short_of_bytes: bool) -> Heat {
    Heat {
        id: format!("{} {} slot {}", search.shard, search.method.row().name, slot.slot),
        shard: search.shard.clone(),
        shard_name: whole_name(&search.shard),
        key: None,
        name: format!("(slot {}, {})", slot.slot, counted(slot.keys, "key")),
        slot: Some(slot.slot),
        method: search.method,
        ranked: slot.share(is_short_of_bytes).map(|(share, _)| share),
        operations: None,
        per_second: None,
        cpu: slot.cpu_share,
        bytes: slot.bytes_share,
        frequency: None,
        command: String::new(),
        seconds: search.seconds,
    }
}

static COLUMNS: &[Column<Heat>] = &[
    text("key", "the key; in brackets a slot with the keys in it", Width::Rest(16), 0, |row| {
        let cell = Cell::text(row.name.as_str());
        if row.key.is_none() { cell.colored(ColorRole::Faint) } else { cell }
    }),
    number("ops", Unit::Ratio, "its share of operations; nothing where the way cannot say", 6, 0, |row| {
        Cell::number(row.operations)
    }),
    Column {
        title: "CPU",
        ..number(
            "cpu",
            Unit::Ratio,
            "its share of execution time; nothing where the way cannot say",
            6,
            0,
            |row| Cell::number(row.cpu),
        )
    },
    number(
        "bytes",
        Unit::Ratio,
        "its share of bytes in and out; nothing where the way cannot say",
        6,
        0,
        |row| Cell::number(row.bytes),
    ),
    number("rate", Unit::PerSecond, "operations a second", 7, 2, |row| Cell::number(row.per_second)),
    number(
        "freq",
        Unit::Count,
        "the counter of OBJECT FREQ, 0 to 255 on a logarithmic scale: an order, no share",
        4,
        3,
        |row| Cell::number(row.frequency.map(|frequency| frequency as f64)),
    ),
    text("command", "what is sent for it most often", Width::Cells(8), 4, |row| {
        Cell::text(row.command.as_str())
    }),
    number("slot", Unit::Count, "its slot", 5, 5, |row| {
        Cell::number(row.slot.map(f64::from)).shown(slot_words(row.slot))
    }),
    text("shard", "the shard that holds it", Width::Cells(12), 1, |row| {
        Cell::text(row.shard_name.as_str()).shown(short_name(&row.shard, 12))
    }),
    text("way", "the way by which it was counted", Width::Cells(11), 1, |row| {
        Cell::text(row.method.row().name)
    }),
    number("counted", Unit::Seconds, "how long was counted", 7, 6, |row| Cell::number(Some(row.seconds))),
];

fn words(row: &Heat) -> String {
    let share =
        |share: Option<f64>, of: &str| share.map(|share| format!("{} of {of}", show(share, Unit::Ratio)));
    let told: Vec<String> = [
        share(row.operations, "operations"),
        share(row.cpu, "CPU"),
        share(row.bytes, "bytes"),
        row.per_second.map(|rate| show(rate, Unit::PerSecond)),
        row.frequency.map(|frequency| format!("counter {frequency} of 255, no share")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let slot = row.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
    let command = if row.command.is_empty() { String::new() } else { format!(", mostly {}", row.command) };
    format!(
        "{}: {}{command}{slot} on {}, by {} over {}",
        row.name,
        told.join(", "),
        row.shard,
        row.method.row().name,
        show(row.seconds, Unit::Seconds)
    )
}

fn told(looked: &Looked<'_>) -> Sentences {
    let mut told = likely(looked);
    told.extend(searches_told(looked));
    let is_order =
        |(search, _): (&HotSearch, _)| !search.keys.is_empty() && !search.method.row().gives_shares;
    if searches(looked).any(is_order) {
        told.push(("frequencies give an order and no shares".to_owned(), ColorRole::Faint));
    }
    told.extend(own_words(looked));
    told
}

/// What the rule for hot keys says of what is looked at while it fires, whether it can name one or not; also where
/// another cause explains it and is accused in its place.
fn likely(looked: &Looked<'_>) -> Sentences {
    let rules = looked.snapshot().rules.iter();
    let fires = rules.filter(|rule| rule.rule == "hot-key" && rule.state == "firing");
    let told = fires.filter(|rule| looked.includes(&rule.subject)).map(|rule| {
        let shard = if looked.of.is_some() { String::new() } else { format!("{}: ", rule.subject) };
        (format!("{shard}{}", rule.detail), ColorRole::Heading)
    });
    told.collect()
}

/// Why no key is named, and what would name one.
fn empty(looked: &Looked<'_>) -> Sentences {
    let mut told = likely(looked);
    if told.is_empty() {
        told.push(("no search for hot keys has named a key".to_owned(), ColorRole::Heading));
    }
    told.extend(searches_told(looked));
    let Some(shard) = looked.about else { return told };
    let offers: Vec<(&'static str, Offer)> = KEY_METHODS
        .iter()
        .filter(|row| row.method != KeyMethod::Scan)
        .map(|row| (row.name, ways::offer(looked.snapshot(), shard, row.method)))
        .collect();
    let is_refused = offers.iter().all(|(_, offer)| matches!(offer, Offer::Refused(_)));
    match ways::next_way(looked.snapshot(), shard) {
        Some(row) => {
            told.push((
                format!("the gentlest way that {shard} offers is {}: it finds {}", row.name, row.finds),
                ColorRole::Text,
            ));
            told.push((format!("its cost: {}", row.cost), ColorRole::Text));
            told.extend(ways::start_words(looked).map(|text| (text, ColorRole::Text)));
            // What would be gentler than a way that the server feels is worth knowing before it is taken.
            if row.needs_consent {
                told.extend(refusals(&offers));
            }
        }
        None if is_refused => {
            told.push((
                format!("no way may run on {shard}; to name a hot key, one of these:"),
                ColorRole::Text,
            ));
            told.extend(refusals(&offers));
        }
        None => told.push((format!("{shard} was not asked yet which ways it offers"), ColorRole::Unknown)),
    }
    told
}

/// Why each way that is not offered is not.
fn refusals(offers: &[(&'static str, Offer)]) -> Sentences {
    let refused = offers.iter().filter_map(|(name, offer)| match offer {
        Offer::Refused(why) => Some((format!("{name}: {why}"), ColorRole::Faint)),
        _ => None,
    });
    refused.collect()
}
