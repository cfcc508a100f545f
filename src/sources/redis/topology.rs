//! A deployment's shape as one node tells it: shards, their nodes, who owns the slots, who is well.

mod nodes;
mod replies;

use std::collections::BTreeMap;

use headwater_engine::reading::NodeHealth;

pub use nodes::{NodeLine, read_nodes};
pub use replies::{read_shards, read_slots};

/// Slots in a cluster.
pub(super) const SLOTS: u16 = 16_384;

/// The host that a node announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Known(String),
    /// "The endpoint you used, with this port": the server sent NULL or an empty host.
    AsAsked,
    /// The Unix socket of this machine by which the node itself was dialled; never what somebody announces.
    Socket(String),
    /// `?` or `noaddr`: the cluster does not know it either, so it is not dialled.
    Unknown,
}

impl Host {
    /// The meaning of a host field: NULL and empty are the endpoint that was asked, `?` is nobody.
    pub fn of(field: Option<&str>) -> Self {
        match field {
            None | Some("") => Self::AsAsked,
            Some("?") => Self::Unknown,
            Some(host) => Self::Known(host.to_owned()),
        }
    }
}

/// One node as seen by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenNode {
    /// The cluster's node id.
    pub id: String,
    /// The host to dial.
    pub host: Host,
    /// The bare address, where the reply gives it beside the host.
    pub ip: Option<String>,
    /// The port for plain connections; 0 when the node has none.
    pub port: u16,
    /// The port for TLS, where the reply tells them apart.
    pub tls_port: Option<u16>,
    /// Whether it owns the shard's slots.
    pub primary: bool,
    /// What the cluster says of it.
    pub health: NodeHealth,
}

/// One shard: some ranges of slots and the nodes that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenShard {
    /// First and last slot of each range, in order.
    pub slots: Vec<(u16, u16)>,
    /// The primary first.
    pub nodes: Vec<SeenNode>,
}

/// Puts what CLUSTER SHARDS or CLUSTER SLOTS says together with CLUSTER NODES.
///
/// The former know the endpoints that clients should use; the latter alone knows flags and who really owns the
/// slots: after a failover CLUSTER SHARDS lists two masters in one shard, the dead one first.
pub fn combine(seen: Option<Vec<SeenShard>>, lines: &[NodeLine]) -> Vec<SeenShard> {
    let mut shards = seen.unwrap_or_default();
    let mut home: BTreeMap<String, usize> = BTreeMap::new();
    for (index, shard) in shards.iter().enumerate() {
        home.extend(shard.nodes.iter().map(|node| (node.id.clone(), index)));
    }
    // Masters come first so that their replicas find them.
    let (masters, replicas): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.master.is_none());
    for line in masters.into_iter().chain(replicas) {
        let index = home.get(&line.id).or_else(|| home.get(line.master.as_ref()?)).copied();
        let index = index.unwrap_or_else(|| {
            shards.push(SeenShard::default());
            shards.len() - 1
        });
        home.insert(line.id.clone(), index);
        let shard = &mut shards[index];
        match shard.nodes.iter_mut().find(|node| node.id == line.id) {
            Some(node) => node.health = worse(node.health, line.health),
            None => shard.nodes.push(line.seen()),
        }
    }
    let owned: BTreeMap<&str, &NodeLine> =
        lines.iter().filter(|line| !line.slots.is_empty()).map(|line| (line.id.as_str(), line)).collect();
    for shard in &mut shards {
        crown(shard, &owned);
    }
    shards.sort_by_key(|shard| shard.slots.first().map_or(u32::MAX, |(first, _)| u32::from(*first)));
    shards
}

/// Decides which node of a shard is the primary: the owner of the slots; else a healthy master; else any.
fn crown(shard: &mut SeenShard, owned: &BTreeMap<&str, &NodeLine>) {
    let owner = shard.nodes.iter().position(|node| owned.contains_key(node.id.as_str()));
    let healthy = || shard.nodes.iter().position(|node| node.primary && node.health == NodeHealth::Online);
    let any = || shard.nodes.iter().position(|node| node.primary);
    let primary = owner.or_else(healthy).or_else(any);
    if let Some(line) = owner.and_then(|index| owned.get(shard.nodes[index].id.as_str())) {
        shard.slots.clone_from(&line.slots);
    }
    for (index, node) in shard.nodes.iter_mut().enumerate() {
        node.primary = Some(index) == primary;
    }
    shard.slots.sort_unstable();
    shard.nodes.sort_by(|a, b| b.primary.cmp(&a.primary).then_with(|| a.id.cmp(&b.id)));
}

fn worse(one: NodeHealth, other: NodeHealth) -> NodeHealth {
    let badness = |health| match health {
        NodeHealth::Online => 0,
        NodeHealth::Unknown => 1,
        NodeHealth::Loading => 2,
        NodeHealth::Suspected => 3,
        NodeHealth::Failed => 4,
    };
    if badness(other) > badness(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::super::{fixture, reply_fixture};
    use super::*;

    fn nodes(path: &str) -> Option<Vec<NodeLine>> {
        fixture(path).map(|bytes| read_nodes(&String::from_utf8(bytes).unwrap()))
    }

    #[test]
    fn after_a_failover_the_living_owner_is_the_primary_and_the_dead_one_is_still_there() {
        let Some(reply) = reply_fixture("redis-wire/c82.shards.after_failover.resp2") else { return };
        let lines = nodes("redis-wire/c82.nodes.after_failover.txt").unwrap();
        for lines in [&lines[..], &[]] {
            let shards = combine(read_shards(&reply), lines);
            let last = shards.last().unwrap();
            assert_eq!(last.slots, [(10_923, 16_383)]);
            assert_eq!((last.nodes[0].port, last.nodes[0].primary), (7_215, true));
            assert_eq!(
                (last.nodes[1].port, last.nodes[1].primary, last.nodes[1].health),
                (7_212, false, NodeHealth::Failed)
            );
        }
    }

    #[test]
    fn shards_and_nodes_give_the_same_shape_in_both_protocols() {
        for folder in ["redis-7.0.15", "redis-8.2.3", "valkey-9.1"] {
            let path = |name: &str| format!("redis-samples/{folder}/{name}");
            let Some(two) = reply_fixture(&path("cluster-shards-healthy.resp2")) else { return };
            let three = reply_fixture(&path("cluster-shards-healthy.resp3")).unwrap();
            let slots = reply_fixture(&path("cluster-slots-healthy.resp2")).unwrap();
            assert_eq!(read_shards(&two), read_shards(&three), "{folder}");
            for shards in [combine(read_shards(&two), &[]), combine(read_slots(&slots), &[])] {
                assert_eq!(
                    shards.iter().map(|s| s.slots[0].0).collect::<Vec<_>>(),
                    [0, 5_461, 10_923],
                    "{folder}"
                );
                let primaries = shards.iter().map(|s| s.nodes.iter().filter(|node| node.primary).count());
                assert!(primaries.eq([1, 1, 1]) && shards.iter().all(|s| s.nodes[0].primary), "{folder}");
            }
        }
    }

    #[test]
    fn a_cluster_from_nodes_alone_has_owners_replicas_and_the_dead() {
        for folder in ["redis-6.2.16", "redis-7.0.15", "redis-8.2.3", "valkey-9.1"] {
            let Some(lines) = nodes(&format!("redis-samples/{folder}/cluster-nodes-fragmented.txt")) else {
                return;
            };
            let shards = combine(None, &lines);
            assert_eq!(shards.len(), 3, "{folder}");
            assert_eq!(shards[0].slots[..3], [(0, 99), (101, 101), (103, 103)], "{folder}");
            let covered: u32 =
                shards.iter().flat_map(|shard| &shard.slots).map(|(a, b)| u32::from(b - a) + 1).sum();
            assert_eq!(covered, 16_384, "{folder}");
        }
    }

    #[test]
    fn a_dead_pair_keeps_its_slots_and_its_health() {
        let Some(lines) = nodes("redis-samples/redis-6.2.16/cluster-nodes-fail-uncovered.txt") else {
            return;
        };
        let slots = None;
        let shards = combine(slots, &lines);
        let dead = shards.iter().find(|shard| shard.slots == [(10_923, 16_383)]).unwrap();
        assert!(dead.nodes.iter().all(|node| node.health == NodeHealth::Failed));
        assert_eq!(dead.nodes.len(), 2);
    }

    #[test]
    fn hosts_that_are_null_empty_or_a_question_mark_keep_their_meaning() {
        for name in ["c7210.shards.unknown_endpoint.resp3", "c7220.shards.unknown_endpoint.resp3"] {
            let Some(reply) = reply_fixture(&format!("redis-wire/{name}")) else { return };
            let shards = read_shards(&reply).unwrap();
            let mut ids: Vec<_> = shards.iter().flat_map(|shard| &shard.nodes).collect();
            assert!(ids.iter().all(|node| node.host == Host::AsAsked), "{name}");
            ids.sort_by_key(|node| &node.id);
            ids.dedup_by_key(|node| &node.id);
            assert_eq!(ids.len(), 6, "{name}");
        }
        for name in ["c7210.slots.unknown_endpoint.resp2", "c82.single_node_empty_ip.slots.resp2"] {
            let shards = read_slots(&reply_fixture(&format!("redis-wire/{name}")).unwrap()).unwrap();
            assert!(
                shards.iter().flat_map(|shard| &shard.nodes).all(|node| node.host == Host::AsAsked),
                "{name}"
            );
        }
        let partial = reply_fixture("redis-wire/c7210.slots.hostname_partial.resp2").unwrap();
        let hosts: Vec<_> =
            read_slots(&partial).unwrap().into_iter().flat_map(|shard| shard.nodes).map(|n| n.host).collect();
        assert_eq!(hosts.iter().filter(|host| **host == Host::Unknown).count(), 5);
        assert!(hosts.contains(&Host::Known("node-1.redis.example.com".to_owned())));
        let missing = reply_fixture("redis-wire/c7210.shards.hostname_missing.resp2").unwrap();
        let node = &read_shards(&missing).unwrap()[0].nodes[0];
        assert_eq!((&node.host, node.ip.as_deref()), (&Host::Unknown, Some("127.0.0.1")));
    }

    #[test]
    fn the_two_sources_agree_where_both_are_there() {
        let Some(reply) = reply_fixture("redis-wire/c82.shards.during_fail.resp2") else { return };
        let lines = nodes("redis-wire/c82.nodes.fail_0.txt").unwrap();
        let shards = combine(read_shards(&reply), &lines);
        assert_eq!(shards.len(), 3);
        assert_eq!(shards.iter().map(|shard| shard.nodes.len()).sum::<usize>(), 6);
    }
}
