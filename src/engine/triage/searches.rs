//! Where a search for hot keys would tell more.

use std::collections::BTreeSet;

use crate::report::{Report, Suspect};
use crate::rules::{BIG_KEY, HOT_KEY, LOADED, hot_key_is_named};
use crate::scene::Scene;
use crate::subject::Subject;

/// Shards that are suspected of something a hot key would explain, and of which nothing has named a key that would: no
/// search, and no scan that found a big one.
pub fn searches_wanted(scene: &Scene<'_>, report: &Report) -> Vec<Subject> {
    let of_load = |suspect: &&Suspect| {
        (LOADED.contains(&suspect.rule.as_str()) || suspect.rule == HOT_KEY)
            && suspect.goes_on()
            && suspect.subject.shard_index().is_some()
    };
    let is_explained = |shard: &Subject| {
        hot_key_is_named(scene, shard)
            || report.suspects.iter().any(|suspect| suspect.rule == BIG_KEY && suspect.subject == *shard)
    };
    let shards: BTreeSet<_> =
        report.suspects.iter().filter(of_load).map(|suspect| &suspect.subject).collect();
    shards.into_iter().filter(|shard| !is_explained(shard)).cloned().collect()
}
