//! What the host is, and how busy it is.

use std::fs::read_to_string;
use std::path::Path;
use std::time::Duration;

use super::caches::last_caches;
use super::memory;
use crate::bench::backend::{Opened, load};
use crate::bench::report::{Conditions, DeviceState};

/// How long the processors are watched before anything is measured.
const WATCHED: Duration = Duration::from_millis(100);

/// What is known before the first kernel.
pub(super) fn look(threads: u32) -> Opened {
    let text = |path: &str| read_to_string(path).ok();
    let model = text("/proc/cpuinfo").and_then(|text| model_in(&text)).unwrap_or_else(|| "CPU".to_owned());
    let root = Path::new("/");
    let memory = memory::memory(root);
    let begun = times();
    std::thread::sleep(WATCHED);
    let mut conditions = Conditions {
        cache_bytes: last_caches(root),
        memory_free_bytes: memory.map(|memory| memory.free),
        memory_bytes: memory.map(|memory| memory.all),
        threads: Some(threads),
        before: state_since(begun),
        ..Conditions::default()
    };
    if conditions.memory_free_bytes.is_none() {
        conditions.missing.push("free memory: there is no /proc/meminfo".to_owned());
    }
    if conditions.before.utilization.is_none() {
        conditions.missing.push("how busy the processors are: there is no /proc/stat".to_owned());
    }
    conditions.missing.push("clocks, temperature and throttling: they are not read of a CPU".to_owned());
    let mut notes = vec![];
    if memory.is_some_and(|memory| memory.is_limited) {
        notes
            .push("free memory is what the limit of a container leaves, not what the machine has".to_owned());
    }
    let plural = if threads == 1 { "" } else { "s" };
    Opened {
        device: format!("{model}, {threads} thread{plural}"),
        index: 0,
        slice: None,
        driver: None,
        conditions,
        notes,
    }
}

/// All time of all processors so far, and the idle part of it, in ticks.
pub(super) type Times = (u64, u64);

/// The processors' times now.
pub(super) fn times() -> Option<Times> {
    times_in(&read_to_string("/proc/stat").ok()?)
}

/// How busy the processors were since then.
pub(super) fn state_since(before: Option<Times>) -> DeviceState {
    let utilization = before.zip(times()).and_then(|(before, after)| busy_share(before, after));
    DeviceState { utilization, load: load(), ..DeviceState::default() }
}

fn model_in(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name = line.trim_start().strip_prefix(':')?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// Reads the first line of `/proc/stat`.
fn times_in(stat: &str) -> Option<Times> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal; guests are in user already.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|ticks| ticks.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((ticks.iter().sum(), idle))
}

fn busy_share(before: Times, after: Times) -> Option<f64> {
    let all = after.0.checked_sub(before.0).filter(|all| *all > 0)?;
    let idle = after.1.saturating_sub(before.1).min(all);
    Some(1.0 - idle as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_files_are_read_and_what_they_lack_is_none() {
        assert_eq!(
            model_in("processor\t: 0\nmodel name\t: A  Model @ 2GHz\n").as_deref(),
            Some("A Model @ 2GHz")
        );
        assert_eq!(model_in("processor\t: 0\n"), None);
        let before = times_in("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1\n").unwrap();
        let after = times_in("cpu  190 0 50 805 55 0 0 0 9 0\n").unwrap();
        assert_eq!((before, after), ((1_000, 850), (1_100, 860)));
        assert_eq!(busy_share(before, after), Some(0.9));
        assert_eq!(busy_share(after, after), None);
    }
}
