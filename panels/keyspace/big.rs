//! Big keys: those that a scan found, and those of large commands that the server logged.

use std::collections::BTreeMap;

use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::{KeySize, LargeCommand, LargeKind};
use headwater_engine::{Moment, Subject};

use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{age_words, key_to_start, results, scans_told};
use super::{known, sizes};
use crate::action::Action;
use crate::palette::ColorRole;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};

/// This view's line in the table.
pub(super) const VIEW: ViewRow =
    ViewRow { name: "big", make: || Rows::boxed(&ROWS), told, empty, picture: None, opens: "all of it" };

static ROWS: RowsOf<BigKey> = RowsOf {
    columns: COLUMNS,
    rows,
    words,
    open: |_, _| Opened::Page,
    page: |row, looked| known::lines(&row.shard, &row.key, looked),
};

/// How a big key became known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    Scan,
    Log(LargeKind),
}

impl From {
    fn word(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Log(LargeKind::Reply) => "reply",
            Self::Log(LargeKind::Request) => "request",
        }
    }
}

/// One key.
struct BigKey {
    id: String,
    shard: Subject,
    shard_name: String,
    key: String,
    from: From,
    bytes: u64,
    elements: Option<u64>,
    kind: String,
    slot: Option<u16>,
    /// Commands that were logged for it, ours or an administrator's alone.
    logged: usize,
    is_ours: bool,
    at: Moment,
    age: String,
}

impl Row for BigKey {
    fn id(&self) -> &str {
        &self.id
    }

    fn group(&self) -> usize {
        usize::from(self.is_ours)
    }
}

fn rows(looked: &Looked<'_>) -> Vec<BigKey> {
    let mut rows: BTreeMap<(Subject, String, From), BigKey> = BTreeMap::new();
    for (scan, at) in results(looked) {
        for key in scan.biggest.iter().chain(&scan.longest) {
            let row = scanned(&scan.shard, key, at, looked);
            rows.insert((scan.shard.clone(), row.key.clone(), From::Scan), row);
        }
    }
    for (node, command) in &looked.snapshot().large_commands {
        let Some((shard, key)) = node.parent().zip(command.key.as_ref()) else { continue };
        if !looked.includes(node) {
            continue;
        }
        let from = From::Log(command.kind);
        let row = rows
            .entry((shard.clone(), key.to_string(), from))
            .or_insert_with(|| logged(shard, command, looked));
        row.logged += 1;
        row.bytes = row.bytes.max(command.bytes);
        row.is_ours &= command.excluded;
        if command.at > row.at {
            row.at = command.at;
            row.age = age_words(command.at, looked.snapshot());
        }
    }
    let mut rows: Vec<BigKey> = rows.into_values().collect();
    rows.sort_by(|one, other| one.is_ours.cmp(&other.is_ours).then(other.bytes.cmp(&one.bytes)));
    rows
}

fn scanned(shard: &Subject, key: &KeySize, at: Moment, looked: &Looked<'_>) -> BigKey {
    BigKey {
        id: format!("{shard} scan {}", key.key),
        shard: shard.clone(),
        shard_name: whole_name(shard),
        key: key.key.to_string(),
        from: From::Scan,
        bytes: key.bytes,
        // Of a string these are its bytes once more.
        elements: key.elements.filter(|_| key.kind.as_str() != "string"),
        kind: key.kind.to_string(),
        slot: key.slot,
        logged: 0,
        is_ours: false,
        at,
        age: age_words(at, looked.snapshot()),
    }
}

fn logged(shard: Subject, command: &LargeCommand, looked: &Looked<'_>) -> BigKey {
    let key = command.key.as_ref().map(ToString::to_string).unwrap_or_default();
    BigKey {
        id: format!("{shard} {} {key}", From::Log(command.kind).word()),
        shard_name: whole_name(&shard),
        from: From::Log(command.kind),
        bytes: 0,
        elements: None,
        kind: command.command.to_string(),
        // The name may have been cut or escaped: then nobody knows its slot.
        slot: super::place::slot_of_key(looked.snapshot(), &shard, &key),
        logged: 0,
        is_ours: true,
        at: command.at,
        age: age_words(command.at, looked.snapshot()),
        shard,
        key,
    }
}

static COLUMNS: &[Column<BigKey>] = &[
    number(
        "bytes",
        Unit::Bytes,
        "bytes by MEMORY USAGE; of a logged command, those of its reply or request",
        8,
        0,
        |row| Cell::number(Some(row.bytes as f64)),
    ),
    text("key", "the key", Width::Rest(20), 0, |row| {
        let cell = Cell::name(row.key.as_str());
        if row.is_ours {
            cell.shown(format!("- {} (our own)", row.key)).colored(ColorRole::Faint)
        } else {
            cell
        }
    }),
    text("type", "its type; of a logged command, the command", Width::Cells(8), 2, |row| {
        Cell::text(row.kind.as_str())
    }),
    number("elements", Unit::Count, "elements of a collection", 8, 1, |row| {
        Cell::number(row.elements.map(|elements| elements as f64))
    }),
    number("slot", Unit::Count, "its slot", 5, 3, |row| {
        Cell::number(row.slot.map(f64::from)).shown(slot_words(row.slot))
    }),
    text("shard", "the shard that holds it", Width::Cells(12), 1, |row| {
        Cell::text(row.shard_name.as_str()).shown(short_name(&row.shard, 12))
    }),
    text(
        "from",
        "how it is known: by a scan, or by a large reply or request that the server logged",
        Width::Cells(7),
        1,
        |row| Cell::text(row.from.word()),
    ),
    text("seen", "how old that is", Width::Cells(11), 4, |row| Cell::text(row.age.as_str())),
];

/// A slot as it is written, without a multiple.
pub(super) fn slot_words(slot: Option<u16>) -> String {
    slot.map_or_else(|| "-".to_owned(), |slot| slot.to_string())
}

fn words(row: &BigKey) -> String {
    let bytes = show(row.bytes as f64, Unit::Bytes);
    let elements = row.elements.map(|count| format!(", {}", counted(count, "element")));
    let slot = row.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
    let from = match row.from {
        From::Scan => "by a scan".to_owned(),
        From::Log(_) => format!(
            "by {}{}",
            counted(row.logged as u64, &format!("logged large {}", row.from.word())),
            if row.is_ours { ", all our own or an administrator's" } else { "" }
        ),
    };
    format!(
        "{}: {bytes}{} {}{slot} on {}, {from}, {}",
        row.key,
        elements.unwrap_or_default(),
        row.kind,
        row.shard,
        row.age
    )
}

/// How scans stand, and what is known without one.
fn told(looked: &Looked<'_>) -> Sentences {
    let mut told = scans_told(looked);
    if told.is_empty() {
        told.push((not_scanned(looked), ColorRole::Text));
    }
    told.extend(free(looked).into_iter().map(|text| (text, ColorRole::Faint)));
    told
}

fn not_scanned(looked: &Looked<'_>) -> String {
    let start = key_to_start(looked.view, Action::Scan, "asks for a scan, with its cost");
    let about = looked.of.or(looked.about).map(|shard| format!(" of {shard}")).unwrap_or_default();
    match (start, looked.snapshot().gone_back_from.is_some()) {
        (Some(start), _) => format!("no scan{about} yet: {start}"),
        (None, true) => format!("no scan{about} was known at this moment"),
        (None, false) => format!("no scan{about} was made in this recording"),
    }
}

/// What the server tells without being scanned.
fn free(looked: &Looked<'_>) -> Vec<String> {
    let mut free = vec![];
    free.extend(sizes::biggest_words(looked));
    let commands = looked.snapshot().large_commands.iter();
    let logged = commands.filter(|(node, one)| looked.includes(node) && !one.excluded).count();
    if logged > 0 {
        let commands = counted(logged as u64, "large command");
        free.push(format!("free: {commands} that the server logged itself (COMMANDLOG)"));
    }
    free
}

fn empty(looked: &Looked<'_>) -> Sentences {
    let mut told = vec![
        ("no big key is known".to_owned(), ColorRole::Heading),
        (not_scanned(looked), ColorRole::Text),
        (
            "a scan looks at every key of a shard, reads only, on a replica where one answers, within 1 % of a core; it can be paused and ended, and shows what it finds as it goes".to_owned(),
            ColorRole::Faint,
        ),
    ];
    let free = free(looked);
    if free.is_empty() {
        let text = "free sources, where the server has them: INFO keysizes (Redis 8.0 and later) counts keys by size, COMMANDLOG (Valkey 8.1 and later) names keys of large replies; nothing came from either here";
        told.push((text.to_owned(), ColorRole::Faint));
    }
    told.extend(free.into_iter().map(|text| (text, ColorRole::Text)));
    told
}
