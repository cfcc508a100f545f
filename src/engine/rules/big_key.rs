//! A key on a troubled shard is big.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cluster_views::slot_of_key;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::Unit;
use crate::quantity::{counted as counted_in_words, show};
use crate::reading::{KeySize, LargeKind, ScanState};
use crate::report::{Confidence, KeyEvidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The id of the rule, which others ask for by name.
pub(crate) const ID: &str = "big-key";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a key on a troubled shard is big",
    doc: "On a shard that is hot, saturated, short of bandwidth, slow to answer or busy with slow commands, there is a \
          value of at least 512 KiB or a collection of at least 5000 elements. A scan names such keys: it reads on a \
          replica where there is one, within a budget of server CPU. COMMANDLOG (Valkey 8.1 and later) names those \
          that were read or written in the last 10 minutes for nothing, and INFO keysizes (Redis 8.0 and later) says \
          that there are some and not which. On a shard without trouble a big key is no finding, and alone it convicts \
          nobody, because its size does not say who reads it: it names the key behind what the shard is short of. A \
          deployment that stores KV-cache blocks sets the limit to 16 MiB.",
    next: "see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a \
           smaller encoding; delete it with UNLINK, never with DEL",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "bytes",
            default: 524_288.0,
            unit: Unit::Bytes,
            help: "size of a value; half a megabyte takes 5 ms of a gigabit link",
        },
        Threshold {
            name: "critical_bytes",
            default: 1_048_576.0,
            unit: Unit::Bytes,
            help: "size of a value from which a few reads a second fill a link",
        },
        Threshold {
            name: "elements",
            default: 5_000.0,
            unit: Unit::Count,
            help: "elements of a collection; reading it whole blocks the executing thread",
        },
    ],
    rivals: &[RivalRow { rule: "hot-key", told_by: "reads a second of the key" }],
    absorbs: &[],
    judge,
};

/// The troubles that make a big key matter, and that a scan can explain.
pub(crate) const TROUBLES: &[&str] =
    &["shard-hot", "shard-saturated", "shard-bandwidth", "slow-to-answer", "slow-commands"];

/// Commands that the server logged count for as long as slow ones do.
const LOGGED: Duration = Duration::from_secs(600);

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if !scene.findings.stirring(TROUBLES, shard) {
        return Judgement::Clear("the shard is not in trouble, so its keys are not in question".to_owned());
    }
    let big = big_keys(scene, shard, limits);
    let Some(biggest) = big.first() else { return none_named(scene, shard, limits) };
    let size = show(biggest.bytes as f64, Unit::Bytes);
    let critical = if biggest.bytes as f64 >= limits.of("critical_bytes") { ", critical" } else { "" };
    let more = if big.len() > 1 { format!(" and {} more", big.len() - 1) } else { String::new() };
    let how = if biggest.is_logged { "was read or written with" } else { "holds" };
    let mut breach = Breach::new(
        format!("{} {how} {size}{critical}{more}", biggest.key),
        format!("{} {size}", biggest.key),
        biggest.bytes as f64 / limits.of("bytes"),
        vec![named_evidence(
            format!("bytes of {}", biggest.key),
            Unit::Bytes,
            Seen { value: biggest.bytes as f64, at: biggest.at },
            Some(limits.of("bytes")),
            None,
        )],
    )
    .certain()
    // Nothing here says that anybody reads it: alone it convicts nobody.
    .with_rival(&RULE.rivals[0])
    .at_most(Confidence::Low);
    breach.keys = big.iter().take(5).map(|key| key.named(shard)).collect();
    breach.judged()
}

/// A big key, with what is known of it.
pub(super) struct BigKey {
    pub(super) key: RemoteText,
    pub(super) bytes: u64,
    /// Its slot, where the whole name is known.
    pub(super) slot: Option<u16>,
    what: String,
    /// Whether the server's log of large commands names it, and no scan.
    is_logged: bool,
    /// When a scan or a logged command last told of it.
    at: Moment,
}

impl BigKey {
    fn named(&self, shard: &Subject) -> KeyEvidence {
        KeyEvidence {
            key: self.key.clone(),
            bytes: Some(self.bytes),
            slot: self.slot,
            shard: shard.clone(),
            what: self.what.clone(),
        }
    }
}

/// The big keys of a shard that a scan or the log of large commands names, the biggest first.
pub(super) fn big_keys(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Vec<BigKey> {
    let is_big = |key: &&KeySize| {
        key.bytes as f64 >= limits.of("bytes")
            || (key.kind.as_str() != "string"
                && key.elements.is_some_and(|elements| elements as f64 >= limits.of("elements")))
    };
    let mut keys: BTreeMap<RemoteText, BigKey> = BTreeMap::new();
    if let Some((at, scan)) = scene.world.keyspace().scan(shard, scene.now) {
        for key in scan.biggest.iter().chain(&scan.longest).filter(is_big) {
            keys.entry(key.key.clone()).or_insert_with(|| scanned(key, at));
        }
    }
    let mut logged: BTreeMap<RemoteText, (u64, LargeKind, usize, Moment)> = BTreeMap::new();
    for (_, command) in scene.world.keyspace().large(shard) {
        let counts = !command.excluded
            && command.at >= scene.now - LOGGED
            && command.bytes as f64 >= limits.of("bytes");
        if let Some(key) = command.key.as_ref().filter(|_| counts) {
            let row = logged.entry(key.clone()).or_insert((0, command.kind, 0, command.at));
            if command.bytes > row.0 {
                (row.0, row.1) = (command.bytes, command.kind);
            }
            row.2 += 1;
            row.3 = row.3.max(command.at);
        }
    }
    for (key, (bytes, kind, times, at)) in logged {
        let side = if kind == LargeKind::Reply { "reply" } else { "request" };
        let what = format!("{} in 10 min", counted_in_words(times as u64, &format!("large {side}")));
        match keys.get_mut(&key) {
            Some(known) => known.what = format!("{}, {what}", known.what),
            None => {
                let slot = slot_of_key(scene, shard, &key);
                keys.insert(key.clone(), BigKey { key, bytes, slot, what, is_logged: true, at });
            }
        }
    }
    let mut keys: Vec<BigKey> = keys.into_values().collect();
    keys.sort_by(|one, other| other.bytes.cmp(&one.bytes).then(one.key.cmp(&other.key)));
    keys
}

fn scanned(key: &KeySize, at: Moment) -> BigKey {
    let what = match key.elements {
        Some(elements) if key.kind.as_str() != "string" => format!("big {}, {elements} elements", key.kind),
        _ => format!("big {}", key.kind),
    };
    BigKey { key: key.key.clone(), bytes: key.bytes, slot: key.slot, what, is_logged: false, at }
}

/// What is said where nothing names a big key: a scan's outcome, else what the server counts.
fn none_named(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let scan = scene.world.keyspace().scan(shard, scene.now).map(|(_, scan)| scan);
    let seen = scan.map(|scan| {
        format!("{} of {} looked at, none is big", scan.scanned, counted_in_words(scan.total, "key"))
    });
    if let Some((ScanState::Complete, seen)) = scan.map(|scan| &scan.state).zip(seen.clone()) {
        return Judgement::Clear(seen);
    }
    let counted = counted(scene, shard, limits);
    if let Some((big, critical)) = counted.filter(|(big, _)| *big > 0) {
        let of_them = if critical > 0 { format!(", {critical} of them critical") } else { String::new() };
        let keys = counted_in_words(big, "big key");
        return Breach::new(
            format!("{keys} by the server's own count{of_them}; a scan would say which"),
            keys,
            1.0,
            vec![named_evidence(
                "big keys by the server's own count".to_owned(),
                Unit::Count,
                Seen { value: big as f64, at: scene.now },
                Some(0.0),
                None,
            )],
        )
        .certain()
        .with_rival(&RULE.rivals[0])
        .at_most(Confidence::Low)
        .judged();
    }
    let none = if counted.is_some() { "; the server counts no big string" } else { "" };
    Judgement::Unknown(match (scan.map(|scan| &scan.state), seen) {
        (Some(ScanState::Paused), Some(seen)) => format!("{seen} so far; the scan is paused{none}"),
        (Some(ScanState::Stopped(why)), Some(seen)) => format!("{seen}; the scan ended early: {why}{none}"),
        (Some(_), Some(seen)) => format!("{seen} so far{none}"),
        _ => format!("no scan of its keys yet{none}"),
    })
}

/// How many keys the primary itself counts as big, and how many of them as critical; `None` where it does not count.
/// A bin counts where all of it is big.
fn counted(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Option<(u64, u64)> {
    let sizes = scene.world.keyspace().sizes(scene.primary(shard)?)?;
    let above = |ending: &str, limit: f64| -> u64 {
        let rows = sizes.rows.iter().filter(|(name, _)| name.as_str().ends_with(ending));
        rows.flat_map(|(_, bins)| bins).filter(|bin| bin.from as f64 >= limit).map(|bin| bin.keys).sum()
    };
    let big = above("_sizes", limits.of("bytes")) + above("_items", limits.of("elements"));
    Some((big, above("_sizes", limits.of("critical_bytes"))))
}
