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
    /// The inference service, or the first of its instances.
    pub service: ServiceCounters,
    /// Its other instances.
    pub others: Vec<ServiceCounters>,
    /// The gateway, where there is one.
    pub gateway: Option<GatewayCounters>,
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
    /// Requests that were finished although their caller had gone.
    pub wasted: u64,
    /// Values of 512 KiB and more that were read from Redis.
    pub big_reads: u64,
    /// How long it took to compute features that Redis did not have, in seconds.
    pub computed: Histogram,
    /// Requests that failed because the GPU had no memory for them.
    pub out_of_memory: u64,
    /// Times that the breaker before the model opened.
    pub breaker_openings: u64,
    /// The simulated GPU of its model.
    pub gpu: GpuCounters,
}

/// The simulated GPU of one instance of the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuCounters {
    /// Bytes of memory that there are.
    pub memory: u64,
    /// Bytes in use.
    pub used: u64,
    /// Share of the last second in which kernels ran.
    pub utilization: f64,
    /// What the launch of a kernel took in the last second, in seconds.
    pub launch: f64,
    /// Bytes that each request leaves behind.
    pub left_by_request: u64,
    /// Allocations that failed.
    pub failures: u64,
    /// When the first of them did.
    pub full_since: Option<Instant>,
}

/// What the gateway counted.
#[derive(Clone, Debug)]
pub struct GatewayCounters {
    /// One an instance, in the order of the service's instances.
    pub upstreams: Vec<UpstreamCounters>,
}

/// What the gateway counted of one instance.
#[derive(Clone, Debug)]
pub struct UpstreamCounters {
    /// Where the instance listens.
    pub address: String,
    /// Attempts that were sent there.
    pub attempts: u64,
    /// Times that it was taken out.
    pub ejections: u64,
    /// Readiness checks that failed.
    pub failed_checks: u64,
    /// Whether it is out now.
    pub is_ejected: bool,
}

/// What one Redis server counted, by its own INFO past its link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCounters {
    /// Keys that expired.
    pub expired: u64,
    /// Expiry cycles that used up their time.
    pub expiry_cut_short: u64,
    /// Look-ups of keys that were not there.
    pub misses: u64,
    /// Commands refused because their keys lie in different slots.
    pub cross_slot: u64,
    /// Forks.
    pub forks: u64,
    /// How long the last fork took, in seconds.
    pub last_fork: f64,
    /// Seconds of a core that the main thread used.
    pub cpu: f64,
    /// Bytes of data.
    pub memory: u64,
}

impl LabCounters {
    /// Every instance of the service.
    pub fn instances(&self) -> impl Iterator<Item = &ServiceCounters> {
        std::iter::once(&self.service).chain(&self.others)
    }
}

impl ServerCounters {
    /// Reads them out of INFO's text; what is not there is 0.
    pub(super) fn read(info: &str) -> Self {
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = |name: &str| field(name).and_then(|text| text.trim().parse::<f64>().ok()).unwrap_or(0.0);
        let count = |name: &str| number(name) as u64;
        let refused = field("errorstat_CROSSSLOT").and_then(|text| text.strip_prefix("count="));
        Self {
            expired: count("expired_keys"),
            expiry_cut_short: count("expired_time_cap_reached_count"),
            misses: count("keyspace_misses"),
            cross_slot: refused.and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            forks: count("total_forks"),
            last_fork: number("latest_fork_usec") / 1e6,
            cpu: number("used_cpu_user_main_thread") + number("used_cpu_sys_main_thread"),
            memory: count("used_memory"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_by_its_own_words() {
        let info = "# Stats\r\nexpired_keys:7\r\nlatest_fork_usec:75055\r\nused_memory:972\r\n\
                    used_memory_human:1K\r\nerrorstat_CROSSSLOT:count=12\r\n";
        let expected = ServerCounters {
            expired: 7,
            cross_slot: 12,
            last_fork: 0.075_055,
            memory: 972,
            ..Default::default()
        };
        assert_eq!(ServerCounters::read(info), expected);
    }
}
