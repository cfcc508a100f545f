//! Nodes of one host whose bytes go over one declared link.

use std::collections::HashMap;
use std::rc::Rc;

use headwater_engine::metric::{REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT};
use headwater_engine::reading::Topology;
use headwater_engine::store::Seen;
use headwater_engine::{Moment, Snapshot, Subject};

/// The nodes of a host that share its declared link, with the bytes of all of them.
#[derive(Debug)]
pub(super) struct SharedLink {
    /// The nodes.
    pub(super) nodes: Vec<Subject>,
    /// Their bytes together, into the link or out of it, whichever is more.
    pub(super) load: Option<Seen>,
}

/// Shared links by their hosts.
pub(super) type SharedLinks<'a> = HashMap<&'a str, Rc<SharedLink>>;

/// The hosts with more than one node, where the nodes of a host share a declared link, as they were at a moment.
pub(super) fn shared_links<'a>(
    snapshot: &Snapshot,
    topology: &'a Topology,
    shown_at: Moment,
) -> SharedLinks<'a> {
    let component = snapshot.settings.component(&topology.cluster);
    if component.is_none_or(|component| component.link.is_none() || !component.link_shared_by_host) {
        return HashMap::new();
    }
    let nodes = || topology.shards.iter().flat_map(|shard| &shard.nodes).map(|node| &node.subject);
    let mut on_host: HashMap<&str, usize> = HashMap::with_capacity(nodes().count());
    for node in nodes() {
        *on_host.entry(host_of(node)).or_insert(0) += 1;
    }
    on_host.retain(|_, count| *count > 1);
    if on_host.is_empty() {
        return HashMap::new();
    }
    let mut sharing: HashMap<&str, Vec<Subject>> = HashMap::new();
    for node in nodes().filter(|node| on_host.contains_key(host_of(node))) {
        sharing.entry(host_of(node)).or_default().push(node.clone());
    }
    let linked = sharing.into_iter().map(|(host, nodes)| {
        let load = load_of(snapshot, &nodes, shown_at);
        (host, Rc::new(SharedLink { nodes, load }))
    });
    linked.collect()
}

/// The greater of the bytes into and out of the link of these nodes together; a node without fresh numbers adds none.
fn load_of(snapshot: &Snapshot, nodes: &[Subject], shown_at: Moment) -> Option<Seen> {
    let (mut input, mut output, mut newest) = (0.0, 0.0, None);
    for node in nodes {
        let traces = snapshot.history.of(node);
        let present_from = snapshot.at - snapshot.stale_after(node);
        let mut add = |metric, way: &mut f64| {
            let seen = traces.trace(metric, None).and_then(|trace| trace.latest_at(shown_at));
            if let Some(seen) = seen.filter(|seen| seen.at >= present_from) {
                *way += seen.value;
                newest = newest.max(Some(seen.at));
            }
        };
        add(REDIS_NET_IN, &mut input);
        add(REDIS_NET_REPL_IN, &mut input);
        add(REDIS_NET_OUT, &mut output);
        add(REDIS_NET_REPL_OUT, &mut output);
    }
    Some(Seen { value: f64::max(input, output), at: newest? })
}

fn host_of(node: &Subject) -> &str {
    let address = node.as_str().split_once('@').map_or("", |(_, address)| address);
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// The link that a node shares with the others on its host; `None` where it has its own.
pub(super) fn link_of_node(node: &Subject, hosts: &SharedLinks<'_>) -> Option<Rc<SharedLink>> {
    if hosts.is_empty() { None } else { hosts.get(host_of(node)).map(Rc::clone) }
}
