//! What the lab's parts counted themselves: the physical truth that a diagnosis is compared with.

use std::collections::BTreeMap;
use std::time::Instant;

use headwater_engine::histogram::Histogram;

/// All counters at one moment; every count is since the start of the lab.
#[derive(Clone, Debug)]
pub struct LabCounters {
    /// When they were read.
    pub at: Instant,
    /// One a Redis node, primaries first, in the order of their slots.
    pub links: Vec<LinkCounters>,
    /// The inference service.
    pub service: ServiceCounters,
    /// The load generator.
    pub load: LoadCounters,
}

/// What went through the link of one Redis node.
#[derive(Clone, Debug)]
pub struct LinkCounters {
    /// The node's announced address.
    pub address: String,
    /// The shard's number, in the order of slots.
    pub shard: usize,
    /// Whether the node was started as its shard's primary.
    pub is_primary: bool,
    /// What the link carries, in bytes a second, both directions together.
    pub rate: f64,
    /// Bytes towards the node.
    pub bytes_in: u64,
    /// Bytes from the node.
    pub bytes_out: u64,
}

impl LinkCounters {
    /// Bytes in both directions, which share the link.
    pub fn bytes(&self) -> u64 {
        self.bytes_in + self.bytes_out
    }
}

/// What the inference service counted.
#[derive(Clone, Debug)]
pub struct ServiceCounters {
    /// Answers by HTTP status.
    pub answers: BTreeMap<u16, u64>,
    /// How long requests took, in seconds, whatever their status.
    pub duration: Histogram,
    /// How long each stage took, in seconds.
    pub stages: BTreeMap<&'static str, Histogram>,
    /// How long Redis commands took as the service saw them, in seconds, the wait for a connection excluded.
    pub redis: Histogram,
    /// How long requests waited for a Redis connection, in seconds.
    pub pool_wait: Histogram,
    /// Requests that wait for a Redis connection now.
    pub pool_waiting: usize,
    /// Requests that wait in the queue before the model now.
    pub queue_waiting: usize,
    /// Requests refused because the queue or the service was full.
    pub refused: u64,
    /// Values of 512 KiB and more that were read from Redis.
    pub big_reads: u64,
}

/// What the load generator counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadCounters {
    /// Requests that users wanted.
    pub originals: u64,
    /// Requests sent, repeated ones included.
    pub attempts: u64,
    /// Originals that were answered well in the end.
    pub successes: u64,
    /// Attempts that the client gave up on.
    pub timeouts: u64,
}
