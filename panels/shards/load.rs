//! How full the shards of a deployment are, in the numbers of the list, for where there is one line for all of them.

use headwater_engine::metric::Unit;
use headwater_engine::peers::Peers;
use headwater_engine::{Snapshot, Subject};

use super::known::moment_of_list;
use super::lens::LENSES;
use super::rows::shard_rows;

/// How full the shards of a deployment are of one thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    /// Of what.
    pub(crate) word: &'static str,
    /// The share of the fullest shard.
    pub(crate) max: f64,
    /// The mean of the shares, which hides it.
    pub(crate) mean: f64,
    /// Shards whose share is known.
    pub(crate) seen: usize,
    /// All shards.
    pub(crate) shards: usize,
}

/// How full a deployment's shards are of each thing that can be full and was seen.
pub(crate) fn loads(snapshot: &Snapshot, cluster: &Subject) -> Vec<Load> {
    let Some(group) = snapshot.topologies.iter().position(|topology| topology.cluster == *cluster) else {
        return vec![];
    };
    let mut lines = shard_rows(snapshot, &LENSES[0], moment_of_list(snapshot));
    lines.retain(|line| line.group == group);
    let shares = LENSES.iter().filter(|lens| lens.unit == Unit::Ratio);
    let loads = shares.filter_map(|lens| {
        let known = lines.iter().enumerate().filter_map(|(place, line)| Some((place, line.through(lens)?)));
        let peers = Peers::new(known.collect());
        let (mean, max) = peers.mean_and_max()?;
        let word = if lens.needs_link() { "link" } else { "cpu" };
        Some(Load { word, max, mean, seen: peers.values().len(), shards: lines.len() })
    });
    loads.collect()
}
