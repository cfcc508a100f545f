//! CLUSTER SHARDS (7.0 and later) and CLUSTER SLOTS (every version).

use headwater_engine::reading::NodeHealth;
use redis::Value;

use super::super::reply::{field, integer, items, text};
use super::{Host, SLOTS, SeenNode, SeenShard};

/// Reads CLUSTER SHARDS, as maps or as flat arrays; `None` when it is neither.
pub fn read_shards(reply: &Value) -> Option<Vec<SeenShard>> {
    items(reply)?
        .iter()
        .map(|shard| {
            let bounds: Vec<_> = items(field(shard, "slots")?)?.iter().filter_map(slot).collect();
            Some(SeenShard {
                slots: bounds.chunks_exact(2).map(|range| (range[0], range[1])).collect(),
                nodes: items(field(shard, "nodes")?)?.iter().filter_map(shard_node).collect(),
            })
        })
        .collect()
}

fn shard_node(node: &Value) -> Option<SeenNode> {
    let word = |name| field(node, name).and_then(text);
    let health = match word("health").as_deref() {
        Some("online") => NodeHealth::Online,
        Some("loading") => NodeHealth::Loading,
        // Documentation says one, servers say the other.
        Some("fail" | "failed") => NodeHealth::Failed,
        _ => NodeHealth::Unknown,
    };
    let port = |name| field(node, name).and_then(integer).and_then(|port| u16::try_from(port).ok());
    Some(SeenNode {
        id: word("id")?.into_owned(),
        host: Host::of(word("endpoint").as_deref()),
        ip: word("ip").filter(|ip| !ip.is_empty()).map(|ip| ip.into_owned()),
        port: port("port").unwrap_or(0),
        tls_port: port("tls-port"),
        primary: word("role").as_deref() == Some("master"),
        health,
    })
}

/// Reads CLUSTER SLOTS: one entry a range, put together by primary; `None` when it is something else. Failed
/// replicas are missing in it.
pub fn read_slots(reply: &Value) -> Option<Vec<SeenShard>> {
    let mut shards: Vec<SeenShard> = vec![];
    for range in items(reply)? {
        let [first, last, nodes @ ..] = items(range)? else { return None };
        let range = (slot(first)?, slot(last)?);
        let nodes: Vec<_> = nodes.iter().filter_map(slots_node).collect();
        let Some(primary) = nodes.first() else { continue };
        match shards.iter_mut().find(|shard| shard.nodes.first().map(|node| &node.id) == Some(&primary.id)) {
            Some(shard) => shard.slots.push(range),
            None => {
                let nodes = nodes
                    .into_iter()
                    .enumerate()
                    .map(|(index, node)| SeenNode { primary: index == 0, ..node })
                    .collect();
                shards.push(SeenShard { slots: vec![range], nodes });
            }
        }
    }
    Some(shards)
}

fn slots_node(node: &Value) -> Option<SeenNode> {
    let [host, port, rest @ ..] = items(node)? else { return None };
    let port = u16::try_from(integer(port)?).ok()?;
    let named = rest.get(1).and_then(|metadata| field(metadata, "ip")).and_then(text);
    let host = Host::of(text(host).as_deref());
    // Servers before 4.0 send no id; the address has to do.
    let id = rest.first().and_then(text).map_or_else(|| format!("{host:?}:{port}"), |id| id.into_owned());
    let ip = named.filter(|ip| !ip.is_empty()).map(|ip| ip.into_owned());
    Some(SeenNode { id, host, ip, port, tls_port: None, primary: false, health: NodeHealth::Online })
}

fn slot(value: &Value) -> Option<u16> {
    integer(value).and_then(|slot| u16::try_from(slot).ok()).filter(|slot| *slot < SLOTS)
}
