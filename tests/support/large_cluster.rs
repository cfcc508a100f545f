//! What the nodes of a large cluster would say, made up: nobody starts a thousand servers for a test.

use std::fmt::Write;

use crate::stand_in::{array, bulk, integer};

/// A cluster of so many shards, each with one replica, the slots split evenly.
#[derive(Clone, Copy, Debug)]
pub struct LargeCluster {
    /// How many shards.
    pub shards: u32,
    /// The shard whose primary is dead and whose replica has taken over, if any.
    pub failed_over: Option<u32>,
}

impl LargeCluster {
    /// The id of a node: of a primary, or of the replica that it began with.
    fn id(shard: u32, is_replica: bool) -> String {
        format!("{:040x}", (u64::from(shard) * 2 + u64::from(is_replica)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The address of a node, `host:port`.
    pub fn address(shard: u32, is_replica: bool) -> String {
        format!("10.{}.{}.{}:6379", u8::from(is_replica), shard / 250, shard % 250 + 1)
    }

    /// The slots of a shard, first and last.
    pub fn slots(&self, shard: u32) -> (u16, u16) {
        let bound = |shard: u32| u16::try_from(shard * 16_384 / self.shards).expect("a slot fits");
        (bound(shard), bound(shard + 1) - 1)
    }

    /// CLUSTER NODES of the first primary.
    pub fn nodes(&self) -> String {
        let mut text = String::new();
        for shard in 0..self.shards {
            let has_failed_over = self.failed_over == Some(shard);
            for is_replica in [false, true] {
                let (first, last) = self.slots(shard);
                let owner = Self::id(shard, has_failed_over);
                let owns = is_replica == has_failed_over;
                let (role, master) = if owns { ("master", "-") } else { ("slave", owner.as_str()) };
                let (role, master) =
                    if has_failed_over && !is_replica { ("master,fail", "-") } else { (role, master) };
                let myself = if shard == 0 && !is_replica { "myself," } else { "" };
                let (id, address) = (Self::id(shard, is_replica), Self::address(shard, is_replica));
                let slots = if owns { format!(" {first}-{last}") } else { String::new() };
                writeln!(
                    text,
                    "{id} {address}@16379 {myself}{role} {master} 0 0 {} connected{slots}",
                    shard + 1
                )
                .expect("a string takes everything");
            }
        }
        text
    }

    /// CLUSTER SHARDS, as protocol version 2 sends it; a dead primary is listed first and as a master.
    pub fn shards(&self) -> Vec<u8> {
        let shards: Vec<_> = (0..self.shards)
            .map(|shard| {
                let has_failed_over = self.failed_over == Some(shard);
                let node = |is_replica: bool| {
                    let is_dead = has_failed_over && !is_replica;
                    let address = Self::address(shard, is_replica);
                    let host = address.rsplit_once(':').expect("it has a port").0;
                    let role = if is_dead || is_replica == has_failed_over { "master" } else { "replica" };
                    let words = [
                        ("id", bulk(&Self::id(shard, is_replica))),
                        ("port", integer(6_379)),
                        ("ip", bulk(host)),
                    ];
                    let more = [
                        ("endpoint", bulk(host)),
                        ("role", bulk(role)),
                        ("replication-offset", integer(1)),
                        ("health", bulk(if is_dead { "fail" } else { "online" })),
                    ];
                    array(
                        &words
                            .iter()
                            .chain(&more)
                            .flat_map(|(name, value)| [bulk(name), value.clone()])
                            .collect::<Vec<_>>(),
                    )
                };
                let (first, last) = self.slots(shard);
                let slots = array(&[integer(i64::from(first)), integer(i64::from(last))]);
                array(&[bulk("slots"), slots, bulk("nodes"), array(&[node(false), node(true)])])
            })
            .collect();
        array(&shards)
    }

    /// CLUSTER INFO.
    pub fn info(&self) -> String {
        format!(
            "cluster_state:ok\r\ncluster_known_nodes:{}\r\ncluster_current_epoch:{}\r\n",
            self.shards * 2,
            self.shards
        )
    }
}
