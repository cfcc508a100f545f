//! This process: what it uses, for whoever says it of itself (the observer, the lab's exporters), and with whom it ends.

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this process, user and system together, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9
}

/// Memory of this process that is in use, in bytes; `None` where there is no `/proc`.
pub(crate) fn resident_bytes() -> Option<f64> {
    resident_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Has the system kill this process when `parent` ends, however that ends. `false` when it has ended already. Where a system
/// has no such thing, a child ends at its own deadline.
pub(crate) fn die_with_parent(parent: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        // Fails for no signal that there is.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
    // One that ended before the line above would send nothing any more.
    rustix::process::getppid().is_some_and(|now| now.as_raw_nonzero().get().unsigned_abs() == parent)
}

/// Reads `VmRSS:  12345 kB` of `/proc/PID/status`.
fn resident_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(resident_in("Name:\theadwater\nVmRSS:\t   2048 kB\n"), Some(2_097_152.0));
        assert_eq!(resident_in("Name:\theadwater\n"), None);
    }
}
