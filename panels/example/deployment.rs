//! The deployment of the example: its shards and nodes.

use super::*;

pub(super) fn node(shard: usize) -> Subject {
    subject("redis/features").shard(shard).instance(&format!("10.0.3.{}:6379", 12 + shard))
}

pub(super) fn topology() -> Topology {
    let shard = |place: usize| {
        let subject = subject("redis/features").shard(place);
        let id = RemoteText::new(&format!("n{place}"));
        let node = Node { subject: node(place), id, primary: true, health: NodeHealth::Online };
        let first = place as u16 * 5_462;
        Shard { subject, slots: vec![(first, (first + 5_461).min(16_383))], nodes: vec![node] }
    };
    Topology { cluster: subject("redis/features"), clustered: true, shards: (0..3).map(shard).collect() }
}
