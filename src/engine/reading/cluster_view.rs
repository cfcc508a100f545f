//! What one node of a cluster says of the whole.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The cluster as one node sees it: CLUSTER INFO and CLUSTER NODES. Nodes can disagree, and each can be late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The node that says so.
    pub node: Subject,
    /// Whether it calls the cluster's state ok.
    pub says_ok: bool,
    /// Nodes that it knows.
    pub known: u64,
    /// The configuration epoch that it is at.
    pub epoch: u64,
    /// Ranges of slots that no node owns, or whose owner has failed, first and last of each.
    pub uncovered: Vec<(u16, u16)>,
    /// A number that is equal for views that give each slot the same owner.
    pub owners: u64,
    /// The slots that it says it owns itself.
    pub own: Vec<(u16, u16)>,
    /// Nodes that it takes for failed, by address.
    pub failed: Vec<RemoteText>,
    /// Nodes that it suspects to have failed, by address.
    pub suspected: Vec<RemoteText>,
    /// Slots that it is giving away, with the address of the node that takes each.
    pub migrating: Vec<(u16, RemoteText)>,
    /// Slots that it is taking, with the address of the node that gives each.
    pub importing: Vec<(u16, RemoteText)>,
}

/// Views are asked for every ten seconds, and in clusters of more than this many nodes that much less often: three of
/// these times may pass.
const HOLDS: Duration = Duration::from_secs(30);
const NODES: u64 = 64;

impl ClusterView {
    /// Whether a view that was given at a moment is young enough to speak of the present: not older than three rounds
    /// of asking.
    pub fn is_fresh(&self, given: Moment, now: Moment) -> bool {
        let rounds = u32::try_from(self.known.div_ceil(NODES).max(1)).unwrap_or(u32::MAX);
        now.since(given) <= HOLDS.saturating_mul(rounds)
    }
}
