//! What an exporter says of its own process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::exposition::Page;
use crate::process::{cpu_seconds, resident_bytes};

/// When the part that asks was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started(Duration);

impl Started {
    /// Now.
    pub(super) fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// Seconds since the Unix epoch.
    pub(super) fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// Writes what Prometheus client libraries write of a process.
pub(super) fn write_process(page: &mut Page, started: Started) {
    let start = started.seconds();
    page.single(
        "process_start_time_seconds",
        "gauge",
        "Start time of the process since unix epoch in seconds.",
        "",
        start,
    );
    page.single(
        "process_cpu_seconds_total",
        "counter",
        "Total user and system CPU time spent in seconds.",
        "",
        cpu_seconds(),
    );
    if let Some(bytes) = resident_bytes() {
        page.single("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", "", bytes);
    }
}
