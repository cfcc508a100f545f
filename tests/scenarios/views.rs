//! What the nodes of a healthy cluster say of it, and what a case says instead.

use headwater_engine::reading::{ClusterView, Event, Topology};
use headwater_engine::{RemoteText, Subject};

use super::script::{Case, during};

/// What a node of a cluster says of it in a second.
pub(crate) fn of(case: &Case, topology: &Topology, node: &Subject, second: u32) -> Option<Event> {
    let own = topology
        .shards
        .iter()
        .find(|shard| shard.nodes.iter().any(|one| one.primary && one.subject == *node));
    let mut view = ClusterView {
        node: node.clone(),
        says_ok: true,
        known: topology.shards.iter().map(|shard| shard.nodes.len() as u64).sum(),
        epoch: 6,
        uncovered: vec![],
        owners: 1,
        own: own.map(|shard| shard.slots.clone()).unwrap_or_default(),
        failed: vec![],
        suspected: vec![],
        migrating: vec![],
        importing: vec![],
    };
    let names = |names: &[String]| names.iter().map(|name| RemoteText::new(name)).collect::<Vec<_>>();
    let moves = |moves: &[(u16, String)]| {
        moves.iter().map(|(slot, node)| (*slot, RemoteText::new(node))).collect::<Vec<_>>()
    };
    for row in case.views.iter().filter(|row| row.node.contains(node) && during(second, row.from, row.until))
    {
        if row.absent {
            return None;
        }
        view.says_ok = row.says_ok.unwrap_or(view.says_ok);
        view.known = row.known.unwrap_or(view.known);
        view.epoch = row.epoch.unwrap_or(view.epoch);
        view.owners = row.owners.unwrap_or(view.owners);
        view.uncovered = row.uncovered.clone().unwrap_or(view.uncovered);
        view.own = row.own.clone().unwrap_or(view.own);
        view.failed = row.failed.as_deref().map_or(view.failed, names);
        view.suspected = row.suspected.as_deref().map_or(view.suspected, names);
        view.migrating = row.migrating.as_deref().map_or(view.migrating, moves);
        view.importing = row.importing.as_deref().map_or(view.importing, moves);
    }
    topology.clustered.then_some(Event::ClusterView(view))
}
