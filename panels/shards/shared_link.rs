//! Nodes of one host whose bytes go over one declared link.

use std::collections::BTreeMap;

use headwater_engine::metric::{
    MetricName, REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT,
};
use headwater_engine::reading::Topology;
use headwater_engine::store::Seen;
use headwater_engine::{Snapshot, Subject};

use super::rows::Line;

/// The nodes of a host that share its declared link, with the bytes of all of them.
pub(super) struct SharedLink<'a> {
    nodes: Vec<&'a Subject>,
    load: Option<Seen>,
}

/// The hosts with more than one node, where the nodes of a host share a declared link.
pub(super) fn shared_links<'a>(
    snapshot: &Snapshot,
    topology: &'a Topology,
) -> BTreeMap<&'a str, SharedLink<'a>> {
    let component = snapshot.settings.component(&topology.cluster);
    let mut hosts: BTreeMap<&str, SharedLink<'_>> = BTreeMap::new();
    if component.is_none_or(|component| component.link.is_none() || !component.link_shared_by_host) {
        return hosts;
    }
    for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
        let host = hosts.entry(host_of(&node.subject));
        host.or_insert(SharedLink { nodes: vec![], load: None }).nodes.push(&node.subject);
    }
    hosts.retain(|_, host| host.nodes.len() > 1);
    for host in hosts.values_mut() {
        host.load = load_of(snapshot, &host.nodes);
    }
    hosts
}

/// The greater of the bytes into and out of the link of these nodes together; a node without fresh numbers adds none.
fn load_of(snapshot: &Snapshot, nodes: &[&Subject]) -> Option<Seen> {
    let present_from = snapshot.at - snapshot.settings.stale_after();
    let (mut input, mut output, mut newest) = (0.0, 0.0, None);
    for node in nodes {
        for (name, _, trace) in snapshot.history.traces(node) {
            let way = match name {
                MetricName::Known(REDIS_NET_IN | REDIS_NET_REPL_IN) => &mut input,
                MetricName::Known(REDIS_NET_OUT | REDIS_NET_REPL_OUT) => &mut output,
                _ => continue,
            };
            if let Some(seen) = trace.latest_at(snapshot.at).filter(|seen| seen.at >= present_from) {
                *way += seen.value;
                newest = newest.max(Some(seen.at));
            }
        }
    }
    Some(Seen { value: f64::max(input, output), at: newest? })
}

fn host_of(node: &Subject) -> &str {
    let address = node.address().unwrap_or_default();
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// Counts the other nodes on its host to a row whose link they share.
pub(super) fn share_link(line: &mut Line, hosts: &BTreeMap<&str, SharedLink<'_>>) {
    let Some(host) = line.node.as_ref().and_then(|node| hosts.get(host_of(node))) else { return };
    line.on_its_link = host.nodes.iter().map(|node| (*node).clone()).collect();
    line.shared_load = host.load;
}
