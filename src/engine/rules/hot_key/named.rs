//! The keys and slots that searches call hot.

use std::collections::BTreeSet;

use super::Limits;
use crate::metric::Unit;
use crate::quantity::show;
use crate::reading::{HotSearch, KeyHeat, KeyMethod, ScanState, ShareOf, SlotHeat};
use crate::report::KeyEvidence;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// A hot key, with what says so.
pub(in crate::rules) struct HotKey {
    pub(in crate::rules) key: RemoteText,
    pub(in crate::rules) slot: Option<u16>,
    pub(in crate::rules) share: f64,
    /// What the share is of.
    pub(in crate::rules) of: &'static str,
    /// When it was counted.
    pub(in crate::rules) at: Moment,
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

/// Whether a search has named a hot key of a shard.
pub(crate) fn is_named(scene: &Scene<'_>, shard: &Subject) -> bool {
    let limits = Limits { rule: &super::RULE, settings: scene.settings, subject: shard };
    !hot_keys(scene, shard, &limits).is_empty()
}

/// By which shares keys of a shard are ranked, as [`KeyHeat::share`] is asked: by bytes where it is short of them, by
/// work where it has too much to do, by both where it is short of both.
pub(super) fn measures(scene: &Scene<'_>, shard: &Subject) -> &'static [bool] {
    let stirs = |rules: &[&str]| scene.findings.stirring(rules, shard);
    match (stirs(&["shard-bandwidth"]), stirs(&["shard-hot", "shard-saturated"])) {
        (false, _) => &[false],
        (true, false) => &[true],
        (true, true) => &[false, true],
    }
}

/// The hot keys of a shard that searches with shares name, the hottest first.
pub(in crate::rules) fn hot_keys(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Vec<HotKey> {
    let mut hot: Vec<HotKey> = vec![];
    let searches = || scene.world.keyspace().searches_of(shard, scene.now);
    for (at, search) in searches().filter(|(_, search)| tells(search, limits)) {
        for by_bytes in measures(scene, shard) {
            hot.extend(of_search(search, at, *by_bytes, limits));
        }
    }
    hot.sort_by(|one, other| other.share.total_cmp(&one.share).then(one.key.cmp(&other.key)));
    let mut known = BTreeSet::new();
    hot.retain(|key| known.insert(key.key.clone()));
    hot
}

fn of_search(search: &HotSearch, at: Moment, by_bytes: bool, limits: &Limits<'_>) -> Vec<HotKey> {
    let named = |key: &KeyHeat, share: f64, of: ShareOf, next: Option<f64>| HotKey {
        key: key.key.clone(),
        slot: key.slot,
        share,
        of: of.word(),
        at,
        next,
        method: search.method,
        command: key.command.clone(),
    };
    let mut ranked: Vec<_> = search.keys.iter().filter_map(|key| Some((key.share(by_bytes)?, key))).collect();
    ranked.sort_by(|one, other| other.0.0.total_cmp(&one.0.0));
    let mut hot = vec![];
    for (place, ((share, of), key)) in ranked.iter().enumerate() {
        let next = ranked.get(place + 1).map(|((next, _), _)| *next);
        if !is_hot(*share, next, limits) {
            break;
        }
        // The sample is of operations: other shares are the server's own sums.
        if *of != ShareOf::Operations || is_beyond_chance(*share, search.counted, limits) {
            hot.push(named(key, *share, *of, next));
        }
    }
    // The only key of a hot slot is as hot as the slot.
    let of_slots = hot_slots(search, by_bytes, limits);
    for (slot, share, of, next) in of_slots.into_iter().filter(|(slot, ..)| slot.keys == 1) {
        let mut in_it = search.keys.iter().filter(|key| key.slot == Some(slot.slot));
        if let (Some(key), None) = (in_it.next(), in_it.next()) {
            hot.push(HotKey { of, ..named(key, share, ShareOf::Cpu, next) });
        }
    }
    hot
}

fn is_hot(share: f64, next: Option<f64>, limits: &Limits<'_>) -> bool {
    share >= limits.of("share")
        || (share >= limits.of("least_share")
            && next.is_some_and(|next| share >= next * limits.of("stands_out")))
}

/// Whether a share of this many operations cannot well be that of a key that is not hot: the lower end of its Wilson
/// score interval at 95 % (Wilson 1927) is above half of the limit by which it is hot.
fn is_beyond_chance(share: f64, counted: u64, limits: &Limits<'_>) -> bool {
    let limit = if share >= limits.of("share") { limits.of("share") } else { limits.of("least_share") };
    wilson_lower(share, counted as f64) > limit / 2.0
}

/// The lower end of the Wilson score interval at 95 % of a share of `counted`.
fn wilson_lower(share: f64, counted: f64) -> f64 {
    const Z: f64 = 1.96;
    if counted <= 0.0 {
        return 0.0;
    }
    let square = Z * Z / counted;
    let middle = share + square / 2.0;
    let width = Z * (share * (1.0 - share) / counted + square / (4.0 * counted)).max(0.0).sqrt();
    (middle - width) / (1.0 + square)
}

fn counts_operations(search: &HotSearch) -> bool {
    search.keys.iter().any(|key| key.operations_share.is_some())
}

/// Whether a search can say that a key is hot: it gives shares, and of enough.
pub(super) fn tells(search: &HotSearch, limits: &Limits<'_>) -> bool {
    search.method.row().gives_shares
        && (!counts_operations(search) || search.counted as f64 >= limits.of("sample"))
}

/// Whether a search can say that no key is hot: it has ended, and counted twice of what a hot key needs to show.
pub(super) fn clears(search: &HotSearch, limits: &Limits<'_>) -> bool {
    search.state == ScanState::Complete
        && tells(search, limits)
        && (!counts_operations(search) || search.counted as f64 >= limits.of("sample") * 2.0)
}

/// The hot slots of a search, hottest first, each with its share, what it is of, and the next slot's.
pub(super) fn hot_slots<'s>(
    search: &'s HotSearch,
    by_bytes: bool,
    limits: &Limits<'_>,
) -> Vec<(&'s SlotHeat, f64, &'static str, Option<f64>)> {
    let of_slots = search.slots.iter().filter_map(|slot| {
        let (share, of) = slot.share(by_bytes)?;
        Some((slot, share, of.word()))
    });
    let mut ranked: Vec<_> = of_slots.collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    let next = |place: usize| ranked.get(place + 1).map(|(_, share, _)| *share);
    let hot =
        ranked.iter().enumerate().take_while(|(place, (_, share, _))| is_hot(*share, next(*place), limits));
    hot.map(|(place, (slot, share, of))| (*slot, *share, *of, next(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        assert!((wilson_lower(0.5, 100.0) - 0.4038).abs() < 1e-4);
        assert!((wilson_lower(0.2, 50.0) - 0.1124).abs() < 1e-4);
        assert!(wilson_lower(0.0, 50.0).abs() < 1e-12 && wilson_lower(0.5, 0.0).abs() < 1e-12);
    }
}
