//! The scan for big keys: reads only, within a budget of the server's CPU.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What a scan may cost. The budget is the server's CPU: a slow link slows a scan and never cancels it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanBudget {
    /// The share of one core that the scan's commands may use on the scanned node.
    pub core_share: f64,
    /// The most keys that are looked at.
    pub most_keys: u64,
    /// The longest time the scan may take.
    pub longest: Duration,
    /// How many of the biggest keys are kept.
    pub keep: usize,
}

impl Default for ScanBudget {
    fn default() -> Self {
        Self { core_share: 0.01, most_keys: 10_000_000, longest: Duration::from_secs(600), keep: 32 }
    }
}

/// A running scan.
#[derive(Debug)]
pub struct ScanHandle {
    /// Ends the scan early; what it has found so far is still reported.
    pub cancel: CancellationToken,
    /// Done when the last event was sent.
    pub task: JoinHandle<()>,
}
