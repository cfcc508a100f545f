//! The last caches before memory: a large machine has several, one for each socket or for each group of cores.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// The bytes of all last caches together that the processors of this process share, by a folder that has `proc` and `sys`. `None`
/// where the system does not tell.
pub(super) fn last_caches(root: &Path) -> Option<u64> {
    let status = read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(numbers_in);
    let processors = read_dir(root.join("sys/devices/system/cpu")).ok()?.flatten();
    let mut caches: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for processor in processors {
        let number =
            processor.file_name().to_str()?.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok());
        let Some(number) = number else { continue };
        if allowed.as_ref().is_some_and(|allowed| !allowed.contains(&number)) {
            continue;
        }
        let folders = read_dir(processor.path().join("cache")).into_iter().flatten().flatten();
        caches.extend(folders.filter_map(|folder| cache(&folder.path(), number)));
    }
    let last = caches.keys().map(|(level, _)| *level).max().filter(|level| *level > 1)?;
    Some(caches.iter().filter(|((level, _), _)| *level == last).map(|(_, bytes)| bytes).sum())
}

/// The level of a cache, by whom it is shared, and its bytes: what two processors share is told by both.
fn cache(folder: &Path, processor: u32) -> Option<((u32, String), u64)> {
    let text = |name: &str| read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    if text("type").is_some_and(|kind| kind == "Instruction") {
        return None;
    }
    let shared_by = text("shared_cpu_list").unwrap_or_else(|| processor.to_string());
    Some(((text("level")?.parse().ok()?, shared_by), size_in(&text("size")?)?))
}

/// Reads `0-3,8`.
fn numbers_in(list: &str) -> Vec<u32> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Reads `32768K` or `32M`.
fn size_in(text: &str) -> Option<u64> {
    let (number, factor) = match text.strip_suffix('K') {
        Some(number) => (number, 1_024),
        None => (text.strip_suffix('M')?, 1_024 * 1_024),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of these processors with a second-level cache each, and third-level caches shared as told.
    fn bytes(allowed: &str, shared: &[(u32, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/status", &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
        write("sys/devices/system/cpu/cpufreq/boost", "1");
        for (processor, list) in shared {
            let own = processor.to_string();
            let caches = [
                ("index0", "1", "Data", own.as_str(), "32K"),
                ("index1", "1", "Instruction", own.as_str(), "99M"),
                ("index2", "2", "Unified", own.as_str(), "1024K"),
                ("index3", "3", "Unified", list, "32768K"),
            ];
            for (index, level, kind, shared_by, size) in caches.iter().filter(|cache| !cache.3.is_empty()) {
                let folder = format!("sys/devices/system/cpu/cpu{processor}/cache/{index}");
                for (name, text) in
                    [("level", level), ("type", kind), ("shared_cpu_list", shared_by), ("size", size)]
                {
                    write(&format!("{folder}/{name}"), &format!("{text}\n"));
                }
            }
        }
        last_caches(root.path())
    }

    #[test]
    fn each_last_cache_counts_once_however_many_share_it() {
        const MIB: u64 = 1 << 20;
        let two_sockets = [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")];
        assert_eq!(bytes("0-3", &two_sockets), Some(64 * MIB));
        assert_eq!(bytes("0-1", &two_sockets), Some(32 * MIB), "nobody of this process is at the other");
        assert_eq!(bytes("0,3", &two_sockets), Some(64 * MIB));
        // Without a third level the second is the last.
        assert_eq!(bytes("0-1", &[(0, ""), (1, "")]), Some(2 * MIB));
        assert_eq!(bytes("0", &[]), None);
    }

    #[test]
    fn lists_and_sizes_are_read() {
        assert_eq!(numbers_in("\t0-2,8\n"), [0, 1, 2, 8]);
        assert!(numbers_in("x").is_empty());
        assert_eq!(
            (size_in("32768K"), size_in("32M"), size_in("?")),
            (Some(33_554_432), Some(33_554_432), None)
        );
    }
}
