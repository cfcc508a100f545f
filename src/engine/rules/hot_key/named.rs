//! The keys and slots that searches call hot.

use std::collections::BTreeSet;

use super::Limits;
use crate::metric::Unit;
use crate::quantity::show;
use crate::reading::{HotSearch, KeyMethod, SlotHeat};
use crate::report::KeyEvidence;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;

/// A hot key, with what says so.
pub(in crate::rules) struct HotKey {
    pub(in crate::rules) key: RemoteText,
    pub(in crate::rules) slot: Option<u16>,
    pub(in crate::rules) share: f64,
    /// What the share is of.
    pub(in crate::rules) of: &'static str,
    pub(super) next: Option<f64>,
    pub(super) method: KeyMethod,
    command: Option<RemoteText>,
}

impl HotKey {
    pub(super) fn named(&self, shard: &Subject) -> KeyEvidence {
        let by = self.command.as_ref().map_or(String::new(), |command| format!(", mostly {command}"));
        KeyEvidence {
            key: self.key.clone(),
            bytes: None,
            slot: self.slot,
            shard: shard.clone(),
            what: format!("hot, {} of {}{by}", show(self.share, Unit::Ratio), self.of),
        }
    }
}

/// The hot keys of a shard that searches with shares name, the hottest first.
pub(in crate::rules) fn hot_keys(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Vec<HotKey> {
    let mut hot: Vec<HotKey> = vec![];
    for search in scene.world.keyspace().searches_of(shard, scene.now).filter(|search| tells(search, limits))
    {
        let of_keys = search.keys.iter().filter_map(|key| {
            let (share, of) = share_of(key.operations_share, key.cpu_share, key.bytes_share)?;
            Some((share, of, key))
        });
        let mut ranked: Vec<_> = of_keys.collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (place, (share, of, key)) in ranked.iter().enumerate() {
            let next = ranked.get(place + 1).map(|(next, ..)| *next);
            if !is_hot(*share, next, limits) {
                break;
            }
            hot.push(HotKey {
                key: key.key.clone(),
                slot: Some(key.slot),
                share: *share,
                of,
                next,
                method: search.method,
                command: key.command.clone(),
            });
        }
        // The only key of a hot slot is as hot as the slot.
        for (slot, share, of, next) in
            hot_slots(search, limits).into_iter().filter(|(slot, ..)| slot.keys == 1)
        {
            let mut in_it = search.keys.iter().filter(|key| key.slot == slot.slot);
            if let (Some(key), None) = (in_it.next(), in_it.next()) {
                hot.push(HotKey {
                    key: key.key.clone(),
                    slot: Some(slot.slot),
                    share,
                    of,
                    next,
                    method: search.method,
                    command: key.command.clone(),
                });
            }
        }
    }
    hot.sort_by(|one, other| other.share.total_cmp(&one.share).then(one.key.cmp(&other.key)));
    let mut known = BTreeSet::new();
    hot.retain(|key| known.insert(key.key.clone()));
    hot
}

/// The share that counts: of operations, else of CPU, else of bytes; with the word for it.
fn share_of(operations: Option<f64>, cpu: Option<f64>, bytes: Option<f64>) -> Option<(f64, &'static str)> {
    let known = [(operations, "operations"), (cpu, "CPU"), (bytes, "bytes")];
    known.into_iter().find_map(|(share, word)| Some((share?, word)))
}

fn is_hot(share: f64, next: Option<f64>, limits: &Limits<'_>) -> bool {
    share >= limits.of("share")
        || (share >= limits.of("least_share")
            && next.is_some_and(|next| share >= next * limits.of("stands_out")))
}

/// Whether a search can say that a key is hot: it gives shares, and of enough.
pub(super) fn tells(search: &HotSearch, limits: &Limits<'_>) -> bool {
    let counts_operations = search.keys.iter().any(|key| key.operations_share.is_some());
    search.method.row().gives_shares && (!counts_operations || search.counted as f64 >= limits.of("sample"))
}

/// The hot slots of a search, hottest first, each with its share, what it is of, and the next slot's.
pub(super) fn hot_slots<'s>(
    search: &'s HotSearch,
    limits: &Limits<'_>,
) -> Vec<(&'s SlotHeat, f64, &'static str, Option<f64>)> {
    let of_slots = search.slots.iter().filter_map(|slot| {
        let (share, of) = share_of(None, slot.cpu_share, slot.bytes_share)?;
        Some((slot, share, of))
    });
    let mut ranked: Vec<_> = of_slots.collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    let next = |place: usize| ranked.get(place + 1).map(|(_, share, _)| *share);
    let hot =
        ranked.iter().enumerate().take_while(|(place, (_, share, _))| is_hot(*share, next(*place), limits));
    hot.map(|(place, (slot, share, of))| (*slot, *share, *of, next(place))).collect()
}
