//! From what nodes tell to what Headwater shows: numbered shards, named nodes, and where to dial each.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::reading::{Node, Shard, Topology};
use headwater_engine::{RemoteText, Subject};

use super::address::{dialled, write_address};
use super::connection::Dial;
use super::topology::{Host, SeenNode, SeenShard};

/// The numbers of shards: given by lowest slot at first sight, then kept with the shard's nodes, so that a
/// failover or a moved slot renames nothing.
#[derive(Debug, Default)]
pub struct ShardNumbers {
    /// The ids of each shard's nodes, those seen last at the end.
    members: Vec<Vec<String>>,
    /// In which shard each of these ids is.
    home: BTreeMap<String, usize>,
}

/// How many nodes are remembered of one shard: pods that are replaced every day bring a new id each time.
const MEMBERS_KEPT: usize = 64;

impl ShardNumbers {
    /// Numbers the shards. One without slots whose nodes are known in another shard, such as a dead primary
    /// after its failover, becomes part of that one again; any other without slots serves nobody, is often a
    /// replica whose role has not been heard of yet, and is left out while there are shards with slots.
    pub fn number(&mut self, mut seen: Vec<SeenShard>) -> BTreeMap<usize, SeenShard> {
        seen.sort_by_key(|shard| shard.slots.iter().min().map_or(u32::MAX, |(first, _)| u32::from(*first)));
        let mut claims: Vec<_> = seen
            .iter()
            .enumerate()
            .flat_map(|(index, shard)| {
                let mut overlaps: BTreeMap<usize, usize> = BTreeMap::new();
                for number in shard.nodes.iter().filter_map(|node| self.home.get(&node.id)) {
                    *overlaps.entry(*number).or_default() += 1;
                }
                overlaps.into_iter().map(move |(number, count)| (index, count, number))
            })
            .collect();
        claims.sort_by_key(|(index, count, number)| {
            (seen[*index].slots.is_empty(), std::cmp::Reverse(*count), *number, *index)
        });
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for (index, _, number) in claims {
            let joins = seen[index].slots.is_empty();
            if !numbers.contains_key(&index) && (joins || !taken.contains(&number)) {
                numbers.insert(index, number);
                taken.insert(number);
            }
        }
        let mut numbered: BTreeMap<usize, SeenShard> = BTreeMap::new();
        let any_slots = seen.iter().any(|shard| !shard.slots.is_empty());
        for (index, shard) in seen.into_iter().enumerate() {
            if any_slots && shard.slots.is_empty() && !numbers.contains_key(&index) {
                continue;
            }
            let number = numbers.get(&index).copied().unwrap_or_else(|| {
                self.members.push(vec![]);
                self.members.len() - 1
            });
            self.remember(number, &shard);
            merge(numbered.entry(number).or_default(), shard);
        }
        numbered
    }

    fn remember(&mut self, number: usize, shard: &SeenShard) {
        for node in &shard.nodes {
            if let Some(before) = self.home.insert(node.id.clone(), number) {
                self.members[before].retain(|id| *id != node.id);
            }
            self.members[number].push(node.id.clone());
        }
        let members = &mut self.members[number];
        let kept = MEMBERS_KEPT.max(shard.nodes.len());
        for id in members.drain(..members.len().saturating_sub(kept)) {
            self.home.remove(&id);
        }
    }
}

/// Joins two groups of one shard; only the one with slots keeps its primary.
fn merge(into: &mut SeenShard, mut shard: SeenShard) {
    if into.nodes.is_empty() {
        *into = shard;
        return;
    }
    if into.slots.is_empty() {
        std::mem::swap(into, &mut shard);
    }
    into.nodes.extend(shard.nodes.into_iter().map(|node| SeenNode { primary: false, ..node }));
}

/// What is needed to place nodes: how they were found and how addresses are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Viewpoint<'a> {
    /// The deployment.
    pub cluster: &'a Subject,
    /// Whether it is a cluster.
    pub clustered: bool,
    /// The host that answered: the meaning of an empty host.
    pub asked_host: &'a str,
    /// Announced to dialled addresses.
    pub address_map: &'a BTreeMap<String, String>,
    /// Whether TLS ports are wanted.
    pub tls: bool,
}

/// Every node with where it is dialled; `None` where it cannot be.
pub type Dials = Vec<(Subject, Option<Dial>)>;

/// Names every node and says where it is dialled.
pub fn lay_out(view: Viewpoint<'_>, shards: BTreeMap<usize, SeenShard>) -> (Topology, Dials) {
    let mut dials: Dials = vec![];
    let mut named: BTreeSet<Subject> = BTreeSet::new();
    let shards = shards
        .into_iter()
        .map(|(number, seen)| {
            let shard = view.cluster.shard(number);
            let mut nodes = vec![];
            for node in seen.nodes {
                let (address, dial) = locate(view, &node);
                let mut subject = shard.instance(&address);
                if !named.insert(subject.clone()) {
                    // Nodes are told apart by id: two may announce one address.
                    let id: String = node.id.chars().take(8).collect();
                    subject = shard.instance(&format!("{address}~{id}"));
                    named.insert(subject.clone());
                }
                dials.push((subject.clone(), dial));
                let id = RemoteText::new(&node.id);
                nodes.push(Node { subject, id, primary: node.primary, health: node.health });
            }
            nodes.sort_by_key(|node| !node.primary);
            Shard { subject: shard, slots: seen.slots, nodes }
        })
        .collect();
    (Topology { cluster: view.cluster.clone(), clustered: view.clustered, shards }, dials)
}

fn locate(view: Viewpoint<'_>, node: &SeenNode) -> (String, Option<Dial>) {
    let port = if view.tls { node.tls_port.unwrap_or(node.port) } else { node.port };
    let host = match &node.host {
        Host::Known(host) | Host::Socket(host) => Some(host.as_str()),
        Host::AsAsked => Some(view.asked_host),
        Host::Unknown => None,
    };
    let address = write_address(host.or(node.ip.as_deref()).unwrap_or("unknown"), port);
    let place = match &node.host {
        Host::Socket(path) if !view.address_map.contains_key(path) => Some((path.clone(), 0)),
        _ => dialled(view.address_map, host, port, &address),
    };
    let dial = place.map(|(host, port)| Dial { shown: address.clone(), host, port });
    (address, dial)
}

#[cfg(test)]
mod tests {
    use headwater_engine::Kind;
    use headwater_engine::reading::NodeHealth;

    use super::*;

    fn node(id: &str, primary: bool, health: NodeHealth) -> SeenNode {
        let host = Host::Known("10.0.0.1".to_owned());
        let port = u16::from(id.as_bytes()[0]);
        SeenNode { id: id.to_owned(), host, ip: None, port, tls_port: None, primary, health }
    }

    fn shard(slots: &[(u16, u16)], nodes: &[(&str, bool)]) -> SeenShard {
        let nodes = nodes.iter().map(|(id, primary)| node(id, *primary, NodeHealth::Online)).collect();
        SeenShard { slots: slots.to_vec(), nodes }
    }

    fn ids(shard: &SeenShard) -> Vec<&str> {
        shard.nodes.iter().map(|node| node.id.as_str()).collect()
    }

    #[test]
    fn a_shard_keeps_its_number_through_failover_and_moved_slots() {
        let mut numbers = ShardNumbers::default();
        let first = numbers.number(vec![
            shard(&[(5_461, 10_922)], &[("c", true), ("d", false)]),
            shard(&[(0, 5_460)], &[("a", true), ("b", false)]),
        ]);
        assert_eq!(ids(&first[&0]), ["a", "b"]);
        // a died; b owns its slots and lost the lowest one; a is listed on its own, without slots.
        let second = numbers.number(vec![
            shard(&[], &[("a", true)]),
            shard(&[(0, 0), (5_461, 10_922)], &[("c", true), ("d", false)]),
            shard(&[(1, 5_460)], &[("b", true)]),
        ]);
        assert_eq!(second.len(), 2);
        assert_eq!(ids(&second[&0]), ["b", "a"]);
        assert_eq!(second[&0].nodes.iter().filter(|node| node.primary).count(), 1);
        assert_eq!(ids(&second[&1]), ["c", "d"]);
        // a returned as a replica, d moved to its shard, and a new shard was added.
        let third = numbers.number(vec![
            shard(&[(1, 5_460)], &[("b", true), ("a", false), ("d", false)]),
            shard(&[(5_461, 9_000)], &[("c", true)]),
            shard(&[(0, 0), (9_001, 10_922)], &[("e", true)]),
        ]);
        assert_eq!(ids(&third[&0]), ["b", "a", "d"]);
        assert_eq!((ids(&third[&1]), ids(&third[&2])), (vec!["c"], vec!["e"]));
    }

    #[test]
    fn a_node_without_slots_and_history_is_no_shard_unless_there_is_nothing_else() {
        let mut numbers = ShardNumbers::default();
        let seen = numbers.number(vec![shard(&[], &[("b", true)]), shard(&[(0, 9)], &[("a", true)])]);
        assert_eq!((seen.len(), ids(&seen[&0])), (1, vec!["a"]));
        let seen = numbers.number(vec![shard(&[(0, 9)], &[("a", true), ("b", false)])]);
        assert_eq!((seen.len(), ids(&seen[&0])), (1, vec!["a", "b"]));
        assert_eq!(ShardNumbers::default().number(vec![shard(&[], &[("a", true)])]).len(), 1);
    }

    #[test]
    fn nodes_are_named_as_announced_and_dialled_as_mapped() {
        let cluster = Subject::component(Kind::Redis, "features");
        let map = BTreeMap::from([("10.0.0.1:97".to_owned(), "127.0.0.1:7001".to_owned())]);
        let view = Viewpoint {
            cluster: &cluster,
            clustered: true,
            asked_host: "::1",
            address_map: &map,
            tls: false,
        };
        let mut seen = shard(&[(0, 16_383)], &[("a", true), ("b", false), ("c", false), ("d", false)]);
        seen.nodes[1].host = Host::AsAsked;
        seen.nodes[2].host = Host::Unknown;
        seen.nodes[3].port = seen.nodes[0].port;
        for host in [Host::Known("/run/announced.sock".to_owned()), Host::Socket("/run/own.sock".to_owned())]
        {
            seen.nodes.push(SeenNode { host, ..node("e", false, NodeHealth::Online) });
        }
        let (topology, dials) = lay_out(view, BTreeMap::from([(0, seen)]));
        let shown: Vec<_> = dials
            .iter()
            .map(|(subject, dial)| {
                (subject.as_str(), dial.as_ref().map(|dial| write_address(&dial.host, dial.port)))
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("redis/features#0@10.0.0.1:97", Some("127.0.0.1:7001".to_owned())),
                ("redis/features#0@[::1]:98", Some("[::1]:98".to_owned())),
                ("redis/features#0@unknown:99", None),
                ("redis/features#0@10.0.0.1:97~d", Some("127.0.0.1:7001".to_owned())),
                ("redis/features#0@/run/announced.sock", None),
                ("redis/features#0@/run/own.sock", Some("/run/own.sock".to_owned())),
            ]
        );
        assert_eq!(topology.shards[0].nodes.len(), 6);
    }

    #[test]
    fn nodes_that_are_replaced_again_and_again_keep_the_number_and_are_not_piled_up() {
        let mut numbers = ShardNumbers::default();
        for generation in 0..500 {
            let (old, new) = (format!("id{generation}"), format!("id{}", generation + 1));
            let nodes = vec![node(&old, true, NodeHealth::Online), node(&new, false, NodeHealth::Online)];
            let numbered = numbers.number(vec![SeenShard { slots: vec![(0, 16_383)], nodes }]);
            assert_eq!(numbered.into_keys().collect::<Vec<_>>(), [0]);
        }
        assert_eq!(numbers.members[0].len(), MEMBERS_KEPT);
    }
}
