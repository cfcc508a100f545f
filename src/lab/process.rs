//! What an exporter says of its own process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::exposition::Page;

/// Clock ticks a second in `/proc/self/stat`: 100 on every Linux, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

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

/// Processor time of this process, in seconds.
pub(super) fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the command in parentheses and may hold spaces; user and system time are 14 and 15.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

/// Memory of this process that is in use, in bytes.
pub(super) fn resident_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kilobytes.trim().trim_end_matches(" kB").parse::<f64>().ok()? * 1_024.0)
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
    if let Some(seconds) = processor_seconds() {
        page.single(
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            "",
            seconds,
        );
    }
    if let Some(bytes) = resident_bytes() {
        page.single("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", "", bytes);
    }
}
