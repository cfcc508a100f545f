//! The list of shards with what is known of the keys of each.

use std::collections::BTreeMap;

use headwater_engine::metric::{REDIS_KEYS, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{HotSearch, KeyHeat, Scan, ScanState, ShareOf};
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Moment, Snapshot, Subject};

use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{age_words, own_words, search_share};
use crate::action::Action;
use crate::big_key_scan::share;
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::Outcome;
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};
use crate::unseen_redis::nothing;

/// This view's line in the table.
pub(super) const VIEW: ViewRow = ViewRow {
    name: "shards",
    make: || Rows::boxed(&ROWS),
    told,
    empty: |looked| nothing(looked.snapshot()),
    picture: None,
    opens: "its keys",
};

static ROWS: RowsOf<ShardKeys> = RowsOf {
    columns: COLUMNS,
    rows,
    words,
    open: |row, _| match row {
        Some(row) => Opened::Shard(row.shard.clone()),
        None => Opened::Other(Outcome::Refused("no shard is known".to_owned())),
    },
    page: |_, _| vec![],
};

/// The hottest key of a shard, with its share and what that is of.
type Hottest = (Option<(f64, ShareOf)>, String);

/// What is known of the keys of one shard.
struct ShardKeys {
    shard: Subject,
    group: usize,
    name: String,
    verdict: Verdict,
    keys: Option<f64>,
    biggest: Option<(u64, String)>,
    hottest: Option<Hottest>,
    herd: Option<(Moment, f64)>,
    looked: LookedAt,
}

impl Row for ShardKeys {
    fn id(&self) -> &str {
        self.shard.as_str()
    }

    fn group(&self) -> usize {
        self.group
    }
}

fn rows(looked: &Looked<'_>) -> Vec<ShardKeys> {
    let snapshot = looked.snapshot();
    // One map of each for all rows: a fleet has a thousand shards.
    let scans = dated(&snapshot.scans, |scan: &Scan| &scan.shard);
    let results: BTreeMap<&Subject, &Scan> =
        snapshot.scan_results().map(|(scan, _)| (&scan.shard, scan)).collect();
    let searches = dated(&snapshot.searches, |search: &HotSearch| &search.shard);
    let short_of_bytes = snapshot.short_of_bytes();
    let verdicts: BTreeMap<&Subject, Verdict> =
        snapshot.report.verdicts.iter().map(|row| (&row.subject, row.verdict)).collect();
    let mut rows = vec![];
    for (group, topology) in snapshot.topologies.iter().enumerate() {
        for shard in topology.shards.iter().filter(|shard| looked.includes(&shard.subject)) {
            let scan = scans.get(&shard.subject).map_or(&[][..], Vec::as_slice);
            let searches = searches.get(&shard.subject).map_or(&[][..], Vec::as_slice);
            let scan = scan.first().copied();
            let found = results.get(&shard.subject).copied();
            let node = shard.nodes.iter().find(|node| node.primary);
            let keys = node.and_then(|node| snapshot.present(&node.subject, REDIS_KEYS, None));
            rows.push(ShardKeys {
                shard: shard.subject.clone(),
                group,
                name: whole_name(&shard.subject),
                verdict: verdicts.get(&shard.subject).copied().unwrap_or(Verdict::Unknown),
                keys: keys.map(|seen| seen.value),
                biggest: found
                    .and_then(|scan| scan.biggest.first())
                    .map(|key| (key.bytes, key.key.to_string())),
                hottest: hottest(searches, short_of_bytes.contains(&shard.subject)),
                herd: found
                    .and_then(|scan| scan.expiries.as_ref())
                    .and_then(|expiries| expiries.herd_to_come(snapshot.at))
                    .map(|(second, share)| (second.at, share)),
                looked: looked_at(scan, searches, snapshot),
            });
        }
    }
    rows
}

/// What was told of each shard, with when.
fn dated<T>(all: &[(Moment, T)], shard_of: impl Fn(&T) -> &Subject) -> BTreeMap<&Subject, Vec<(&T, Moment)>> {
    let mut dated: BTreeMap<&Subject, Vec<(&T, Moment)>> = BTreeMap::new();
    for (at, one) in all {
        dated.entry(shard_of(one)).or_default().push((one, *at));
    }
    dated
}

/// The key with the greatest share of what counts, with the share and its word; where no search can tell shares, the
/// first of one that can tell the order.
fn hottest(searches: &[(&HotSearch, Moment)], is_short_of_bytes: bool) -> Option<Hottest> {
    let keys = || searches.iter().flat_map(|(search, _)| &search.keys);
    let share = |key: &KeyHeat| key.share(is_short_of_bytes).map_or(-1.0, |(share, _)| share);
    // Of equal ones the first is hottest, and the last would be taken.
    let most = keys().rev().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some((most.share(is_short_of_bytes), most.key.to_string()))
}

/// When a shard's keys were looked at.
enum LookedAt {
    /// Never.
    Never,
    /// Now: how far that has come, and whether it stands still.
    Runs { share: Option<f64>, is_paused: bool },
    /// So long ago, in words.
    Earlier(String),
}

impl LookedAt {
    /// In a column of eleven cells.
    fn short(&self) -> String {
        match self {
            Self::Never => "not yet".to_owned(),
            Self::Runs { is_paused, .. } => {
                format!("{}{}", if *is_paused { "paused" } else { "runs" }, self.percent(" "))
            }
            Self::Earlier(age) => age.clone(),
        }
    }

    /// In a sentence.
    fn sentence(&self) -> String {
        match self {
            Self::Never => "its keys were not looked at yet".to_owned(),
            Self::Runs { is_paused: true, .. } => {
                format!("the look at its keys is paused{}", self.percent(" at "))
            }
            Self::Runs { .. } => format!("its keys are being looked at{}", self.percent(", ")),
            Self::Earlier(age) => format!("its keys were looked at {age}"),
        }
    }

    fn percent(&self, before: &str) -> String {
        match self {
            Self::Runs { share: Some(share), .. } => format!("{before}{:.0} %", (share * 100.0).floor()),
            _ => String::new(),
        }
    }
}

/// How far what runs has come, else how old what was found is.
fn looked_at(
    scan: Option<(&Scan, Moment)>,
    searches: &[(&HotSearch, Moment)],
    snapshot: &Snapshot,
) -> LookedAt {
    let scanning =
        scan.filter(|(scan, _)| !scan.state.has_ended()).map(|(scan, _)| (&scan.state, share(scan)));
    let searching = searches.iter().find(|(search, _)| !search.state.has_ended());
    let running = scanning.or_else(|| searching.map(|(search, _)| (&search.state, search_share(search))));
    if let Some((state, share)) = running {
        return LookedAt::Runs { share, is_paused: *state == ScanState::Paused };
    }
    let newest = scan.map(|(_, at)| at).into_iter().chain(searches.iter().map(|(_, at)| *at)).max();
    newest.map_or(LookedAt::Never, |at| LookedAt::Earlier(age_words(at, snapshot)))
}

static COLUMNS: &[Column<ShardKeys>] = &[
    text(
        "shard",
        "deployment and number of the shard, with the sign of its verdict",
        Width::Cells(14),
        0,
        |row| {
            let shown = format!("{} {}", glyph_of(row.verdict), short_name(&row.shard, 12));
            Cell::text(row.name.as_str()).shown(shown).colored(role_of(row.verdict))
        },
    ),
    number("keys", Unit::Count, "keys that it holds", 6, 3, |row| Cell::number(row.keys)),
    number("bytes", Unit::Bytes, "bytes of the biggest key that a scan found", 8, 0, |row| {
        Cell::number(row.biggest.as_ref().map(|(bytes, _)| *bytes as f64))
    }),
    text("biggest", "the biggest key that a scan found", Width::Rest(14), 0, |row| {
        named(row.biggest.as_ref().map(|(_, key)| key))
    }),
    number(
        "share",
        Unit::Ratio,
        "the greatest share of its shard's operations, or else CPU or bytes, that a key has; nothing where no search could say",
        6,
        1,
        |row| Cell::number(row.hottest.as_ref().and_then(|(share, _)| share.map(|(share, _)| share))),
    ),
    text("hottest", "the hottest key that a search found", Width::Cells(16), 1, |row| {
        named(row.hottest.as_ref().map(|(_, key)| key))
    }),
    Column {
        title: "herd",
        ..number(
            "herd",
            Unit::Ratio,
            "the share of the keys that expire that a herd still to come has; nothing where none is seen to come",
            6,
            2,
            |row| Cell::number(row.herd.map(|(_, share)| share)),
        )
    },
    text("at", "the second in which that herd expires, UTC", Width::Cells(8), 4, |row| {
        row.herd.map_or_else(|| Cell::text("").shown("-"), |(at, _)| Cell::text(at.clock()))
    }),
    text("looked", "how old what is known is, or how far what runs has come", Width::Cells(11), 2, |row| {
        Cell::text(row.looked.short())
    }),
];

fn named(key: Option<&String>) -> Cell<'_> {
    key.map_or_else(|| Cell::text("").shown("-").colored(ColorRole::Faint), |key| Cell::text(key.as_str()))
}

fn words(row: &ShardKeys) -> String {
    let biggest = match &row.biggest {
        Some((bytes, key)) => format!("biggest {key} {}", show(*bytes as f64, Unit::Bytes)),
        None => "no scan yet".to_owned(),
    };
    let hottest = match &row.hottest {
        Some((Some((share, of)), key)) => {
            format!("hottest {key}, {} of {}", show(*share, Unit::Ratio), of.word())
        }
        Some((None, key)) => format!("hottest {key}, share not known"),
        None => "no search for hot keys yet".to_owned(),
    };
    let herd = row.herd.map(|(at, share)| {
        format!("; {} of the keys that expire do so at {} UTC", show(share, Unit::Ratio), at.clock())
    });
    format!(
        "{} {}: {biggest}; {hottest}{}; {}",
        row.shard,
        verdict_word(row.verdict),
        herd.unwrap_or_default(),
        row.looked.sentence()
    )
}

fn told(looked: &Looked<'_>) -> Sentences {
    let keys = looked.view.keys;
    let [scan, search] = [Action::Scan, Action::SearchHot].map(|action| keys.key_of(action));
    let is_past = looked.view.is_replay || looked.snapshot().gone_back_from.is_some();
    let mut told = vec![];
    if !is_past && !scan.is_empty() && !search.is_empty() {
        let text = format!(
            "{scan}: look for big keys and expiries   {search}: look for hot keys; both say first what they cost"
        );
        told.push((text, ColorRole::Text));
    }
    told.extend(own_words(looked));
    told
}
