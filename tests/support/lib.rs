//! Real Redis servers, clusters and terminals for tests: servers on free loopback ports and in folders of their own, all
//! of it gone with the value that started it, also when a test panics.
#![expect(clippy::panic, reason = "a test without its server cannot go on")]

pub mod certificates;
mod cluster;
pub mod http;
mod large_cluster;
pub mod oracle;
pub mod processes;
mod ran;
mod readings;
mod release;
mod running;
mod server;
pub mod socks;
pub mod stand_in;
mod stub_cuda;
mod stub_nvml;
pub mod terminal;

use std::time::{Duration, Instant};

pub use cluster::Cluster;
pub use large_cluster::LargeCluster;
pub use ran::Ran;
pub use readings::{Readings, node_at, value_of};
pub use release::ServerRelease;
pub use running::{Running, free_port};
pub use server::Server;
pub use stand_in::StandIn;
pub use stub_cuda::StubCuda;
pub use stub_nvml::{NvmlRelease, StubNvml};

/// How long a condition may take to come true on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Does something when it is dropped, so also when the test panics: a thread that a scope waits for is ended before the
/// scope is left, and a failure stays a failure instead of waiting for ever.
pub struct AtEnd<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Waits for a condition, at most [`PATIENCE`].
///
/// # Panics
/// When it has not come true by then, with `what` it was.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {} s in vain until {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}
