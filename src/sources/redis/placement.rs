//! Where keys live: slot, shard, primary; and what two keys have in common.

use headwater_engine::reading::{Node, Shard, Topology};
use headwater_engine::slot::slot_of;
use headwater_engine::{RemoteText, Subject};

/// Where one key lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The key.
    pub key: RemoteText,
    /// Its slot; 0 in a standalone server.
    pub slot: u16,
    /// The shard that owns the slot, or `None` while nobody does.
    pub shard: Option<Subject>,
    /// The primary of that shard.
    pub primary: Option<Subject>,
}

/// What two keys have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// One slot: commands on both keys are legal, and they always move together.
    SameSlot,
    /// Other slots of one shard: they share its CPU and its link, but a command on both is refused.
    SameShard,
    /// Different shards.
    DifferentShards,
    /// At least one of them is in a slot that nobody owns.
    Unknown,
}

impl Relation {
    /// The relation in the words that users see.
    pub fn words(self) -> &'static str {
        match self {
            Self::SameSlot => "same slot",
            Self::SameShard => "same shard, other slot",
            Self::DifferentShards => "different shards",
            Self::Unknown => "unknown: a slot has no owner",
        }
    }
}

/// Finds where a key lives.
pub fn place(topology: &Topology, key: &[u8]) -> Placement {
    let slot = if topology.clustered { slot_of(key) } else { 0 };
    let owner = if topology.clustered {
        topology.shards.iter().find(|shard| owns(shard, slot))
    } else {
        topology.shards.first()
    };
    Placement {
        key: RemoteText::from_bytes(key),
        slot,
        shard: owner.map(|shard| shard.subject.clone()),
        primary: owner.and_then(primary).map(|node| node.subject.clone()),
    }
}

/// Says what two keys of one deployment have in common.
pub fn relation(one: &Placement, other: &Placement) -> Relation {
    match (&one.shard, &other.shard) {
        (Some(_), Some(_)) if one.slot == other.slot => Relation::SameSlot,
        (Some(left), Some(right)) if left == right => Relation::SameShard,
        (Some(_), Some(_)) => Relation::DifferentShards,
        _ => Relation::Unknown,
    }
}

fn owns(shard: &Shard, slot: u16) -> bool {
    shard.slots.iter().any(|(first, last)| (*first..=*last).contains(&slot))
}

fn primary(shard: &Shard) -> Option<&Node> {
    shard.nodes.iter().find(|node| node.primary)
}

#[cfg(test)]
mod tests {
    use headwater_engine::Kind;
    use headwater_engine::reading::NodeHealth;

    use super::*;

    fn topology(clustered: bool, slots: &[&[(u16, u16)]]) -> Topology {
        let cluster = Subject::component(Kind::Redis, "features");
        let shards = slots
            .iter()
            .enumerate()
            .map(|(index, slots)| {
                let subject = cluster.shard(index);
                let node = Node {
                    subject: subject.instance(&format!("10.0.0.{index}:6379")),
                    id: "id".into(),
                    primary: true,
                    health: NodeHealth::Online,
                };
                Shard { subject, slots: slots.to_vec(), nodes: vec![node] }
            })
            .collect();
        Topology { cluster, clustered, shards }
    }

    #[test]
    fn two_keys_share_a_slot_a_shard_or_nothing() {
        let cluster =
            topology(true, &[&[(0, 5_460)], &[(5_461, 10_922), (12_182, 12_182)], &[(10_923, 12_181)]]);
        let [foo, bar, tagged, five] =
            [&b"foo"[..], b"foo{bar}{zap}", b"bar", b"foo{}{bar}"].map(|key| place(&cluster, key));
        assert_eq!(foo.shard.as_ref().unwrap().as_str(), "redis/features#1");
        assert_eq!(foo.primary.as_ref().unwrap().as_str(), "redis/features#1@10.0.0.1:6379");
        assert_eq!(relation(&bar, &tagged), Relation::SameSlot);
        assert_eq!(relation(&foo, &five), Relation::SameShard);
        assert_eq!(relation(&foo, &bar), Relation::DifferentShards);
        assert_eq!(relation(&foo, &place(&cluster, b"a")), Relation::Unknown);
    }

    #[test]
    fn a_standalone_server_holds_everything() {
        let single = topology(false, &[&[]]);
        let (one, other) = (place(&single, b"foo"), place(&single, b"a"));
        assert_eq!((one.slot, relation(&one, &other)), (0, Relation::SameSlot));
    }
}
