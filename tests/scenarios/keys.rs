//! What a case says of keys, and what its sources then tell: scans, searches, offers, large commands and sizes.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{
    Event, Expiries, ExpirySecond, HotSearch, KEY_METHODS, KeyHeat, KeyMethod, KeySize, KeySizes,
    LargeCommand, LargeKind, MethodOffer, Reading, Scan, ScanState, SizeBin, SlotHeat,
};
use headwater_engine::slot::slot_of;
use headwater_engine::{Moment, RemoteText, Subject};
use serde::Deserialize;

use super::script::Case;
use super::world::BEGAN;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scanned {
    pub(crate) shard: Subject,
    pub(crate) at: u32,
    /// `running`, `complete`, or a reason for having stopped.
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) biggest: Vec<Big>,
    /// Keys that the cluster sent it elsewhere for.
    #[serde(default)]
    pub(crate) orphans: u64,
    /// Keys in the sample of expiries; none where nobody sampled.
    pub(crate) sampled: Option<u64>,
    /// Of these, keys that never expire.
    #[serde(default)]
    pub(crate) without_expiry: u64,
    /// Seconds of the scenario in which keys of the sample expire, with how many.
    #[serde(default)]
    pub(crate) expiring: Vec<(i64, u64)>,
}

/// A search for hot keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Searched {
    pub(crate) shard: Subject,
    pub(crate) at: u32,
    pub(crate) method: KeyMethod,
    /// As of a scan.
    #[serde(default = "complete")]
    pub(crate) state: String,
    #[serde(default = "thousand")]
    pub(crate) counted: u64,
    #[serde(default)]
    pub(crate) keys: Vec<Hot>,
    #[serde(default)]
    pub(crate) slots: Vec<HotSlot>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hot {
    pub(crate) key: String,
    pub(crate) operations: Option<f64>,
    pub(crate) cpu: Option<f64>,
    pub(crate) bytes: Option<f64>,
    pub(crate) frequency: Option<u64>,
    pub(crate) command: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HotSlot {
    pub(crate) slot: u16,
    pub(crate) keys: u64,
    pub(crate) cpu: Option<f64>,
    pub(crate) bytes: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Offered {
    pub(crate) source: Subject,
    pub(crate) methods: Vec<KeyMethod>,
}

/// An entry of COMMANDLOG.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Large {
    pub(crate) source: Subject,
    #[serde(default)]
    pub(crate) at: u32,
    /// How long before `at` the command ran, in seconds.
    #[serde(default)]
    pub(crate) ago: u32,
    #[serde(default = "reply")]
    pub(crate) kind: LargeKind,
    pub(crate) bytes: u64,
    pub(crate) key: Option<String>,
    #[serde(default)]
    pub(crate) excluded: bool,
}

/// INFO keysizes of a node: rows by name, each with its bins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    pub(crate) source: Subject,
    #[serde(default)]
    pub(crate) at: u32,
    pub(crate) rows: BTreeMap<String, Vec<(u64, u64)>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Big {
    pub(crate) key: String,
    #[serde(default = "string")]
    pub(crate) kind: String,
    pub(crate) bytes: u64,
    pub(crate) elements: Option<u64>,
}

/// A scan as a row tells of it.
pub(crate) fn scan(row: &Scanned, node: &Subject) -> Scan {
    let biggest = row.biggest.iter().map(|big| KeySize {
        key: RemoteText::new(&big.key),
        slot: Some(slot_of(big.key.as_bytes())),
        kind: RemoteText::new(&big.kind),
        bytes: big.bytes,
        elements: big.elements,
    });
    let second = |at: i64| Moment(BEGAN.0 + at * 1_000);
    let expiries = row.sampled.map(|sampled| Expiries {
        at: second(row.at.into()),
        sampled,
        without: row.without_expiry,
        seconds: row
            .expiring
            .iter()
            .map(|(at, keys)| ExpirySecond { at: second(*at), keys: *keys })
            .collect(),
        spans: vec![],
    });
    Scan {
        scanned: 100,
        total: 100,
        state: state(&row.state),
        biggest: biggest.collect(),
        expiries,
        orphans: row.orphans,
        ..Scan::begun(row.shard.clone(), node.clone())
    }
}

/// Adds what a source tells of keys in a second, but for scans.
pub(crate) fn add_events(case: &Case, source: &Subject, second: u32, reading: &mut Reading) {
    for row in case.search.iter().filter(|row| row.at == second && row.shard.contains(source)) {
        reading.events.push(Event::HotSearch(search(row, source)));
    }
    for row in case.offers.iter().filter(|row| row.source.contains(source) && second == 0) {
        let offer = |method| MethodOffer {
            method,
            refusal: (!row.methods.contains(&method)).then(|| RemoteText::new("not here")),
        };
        reading.events.push(Event::Offers(KEY_METHODS.iter().map(|row| offer(row.method)).collect()));
    }
    for (id, row) in (0..).zip(&case.large) {
        if row.source != *source || row.at != second {
            continue;
        }
        reading.events.push(Event::LargeCommand(LargeCommand {
            id,
            at: reading.at - Duration::from_secs(row.ago.into()),
            kind: row.kind,
            bytes: row.bytes,
            command: RemoteText::new("GET"),
            key: row.key.as_deref().map(RemoteText::new),
            client: RemoteText::new("ranker"),
            excluded: row.excluded,
        }));
    }
    for row in case.sizes.iter().filter(|row| row.source == *source && row.at == second) {
        let bins = |bins: &[(u64, u64)]| {
            bins.iter().map(|(from, keys)| SizeBin { from: *from, keys: *keys }).collect()
        };
        let rows = row.rows.iter().map(|(name, row)| (RemoteText::new(name), bins(row)));
        reading.events.push(Event::KeySizes(KeySizes { rows: rows.collect() }));
    }
}

fn search(row: &Searched, node: &Subject) -> HotSearch {
    let keys = row.keys.iter().map(|hot| KeyHeat {
        key: RemoteText::new(&hot.key),
        slot: Some(slot_of(hot.key.as_bytes())),
        operations_share: hot.operations,
        per_second: None,
        cpu_share: hot.cpu,
        bytes_share: hot.bytes,
        frequency: hot.frequency,
        command: hot.command.as_deref().map(RemoteText::new),
    });
    let slots = row.slots.iter().map(|hot| SlotHeat {
        slot: hot.slot,
        keys: hot.keys,
        cpu_share: hot.cpu,
        bytes_share: hot.bytes,
    });
    HotSearch {
        shard: row.shard.clone(),
        node: node.clone(),
        method: row.method,
        state: state(&row.state),
        seconds: 1.0,
        seconds_in_all: 1.0,
        counted: row.counted,
        keys: keys.collect(),
        slots: slots.collect(),
    }
}

fn state(word: &str) -> ScanState {
    match word {
        "running" => ScanState::Running,
        "paused" => ScanState::Paused,
        "complete" => ScanState::Complete,
        why => ScanState::Stopped(RemoteText::new(why)),
    }
}

fn thousand() -> u64 {
    1_000
}

fn complete() -> String {
    "complete".to_owned()
}

fn reply() -> LargeKind {
    LargeKind::Reply
}

fn string() -> String {
    "string".to_owned()
}
