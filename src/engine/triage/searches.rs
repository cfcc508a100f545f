//! Where a search for hot keys would tell more.

use std::collections::BTreeSet;

use crate::report::{Report, Suspect};
use crate::rules::BIG_KEY;
use crate::scene::Scene;
use crate::subject::Subject;

/// The troubles that a hot key would explain.
const TROUBLES: &[&str] = &["shard-hot", "shard-saturated", "shard-bandwidth", "hot-key"];

/// From this share of a shard's work on a key is hot.
const HOT: f64 = 0.2;

/// Shards that are suspected of something a hot key would explain, and of which nothing has named a key that would: no
/// search, and no scan that found a big one.
pub fn searches_wanted(scene: &Scene<'_>, report: &Report) -> Vec<Subject> {
    let of_load = |suspect: &&Suspect| {
        TROUBLES.contains(&suspect.rule.as_str())
            && suspect.until.is_none()
            && suspect.subject.shard_index().is_some()
    };
    let is_explained = |shard: &Subject| {
        let mut searches = scene.world.keyspace().searches_of(shard, scene.now);
        let is_hot = |share: Option<f64>| share.is_some_and(|share| share >= HOT);
        searches.any(|search| search.keys.iter().any(|key| is_hot(key.greatest_share())))
            || report.suspects.iter().any(|suspect| suspect.rule == BIG_KEY && suspect.subject == *shard)
    };
    let shards: BTreeSet<_> =
        report.suspects.iter().filter(of_load).map(|suspect| &suspect.subject).collect();
    shards.into_iter().filter(|shard| !is_explained(shard)).cloned().collect()
}
