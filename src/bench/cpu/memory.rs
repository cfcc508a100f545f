//! How much memory may be taken here: what the kernel can give, and what the limits of the containers around this process leave
//! of it. Who takes more than such a limit is killed, whatever else the machine has.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::sources::host::memory_in;

/// Memory that may be taken, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// What can still be had.
    pub(super) free: u64,
    /// All that there is for this process.
    pub(super) all: u64,
    /// Whether a limit of a container leaves less than the machine would.
    pub(super) is_limited: bool,
}

/// How one version of control groups tells of memory.
struct Version {
    /// Where its groups may be.
    places: &'static [&'static str],
    /// What stands for it in the list of a process' groups; empty for the second version, whose line names no controller.
    controller: &'static str,
    /// Files with a limit; the lowest holds.
    limits: &'static [&'static str],
    /// The file with what is in use, files that were read among it.
    usage: &'static str,
    /// What of that the kernel gives up first, a line of `memory.stat`.
    given_up: &'static str,
}

const VERSIONS: &[Version] = &[
    Version {
        places: &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
        controller: "",
        limits: &["memory.max", "memory.high"],
        usage: "memory.current",
        given_up: "inactive_file",
    },
    Version {
        places: &["sys/fs/cgroup/memory"],
        controller: "memory",
        limits: &["memory.limit_in_bytes"],
        usage: "memory.usage_in_bytes",
        given_up: "total_inactive_file",
    },
];

/// What may be taken, by a folder that has `proc` and `sys`; `None` without the kernel's own numbers.
pub(super) fn memory(root: &Path) -> Option<Memory> {
    let (free, all) = memory_in(&read_to_string(root.join("proc/meminfo")).ok()?)?;
    let machine = Memory { free: free as u64, all: all as u64, is_limited: false };
    let lists = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = VERSIONS.iter().flat_map(|version| version.limits_of(root, &lists));
    // A limit above what the machine has is none, and that is how the first version says so.
    Some(limits.filter(|(limit, _)| *limit < machine.all).fold(machine, |left, (limit, free)| Memory {
        free: left.free.min(free),
        all: left.all.min(limit),
        is_limited: left.is_limited || free < machine.free,
    }))
}

impl Version {
    /// The limit of each group around this process, its own and those above it, with what is left of it.
    fn limits_of(&self, root: &Path, lists: &str) -> Vec<(u64, u64)> {
        let own = lists.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == self.controller).then_some(path)
        });
        let Some(own) = own else { return vec![] };
        let own = PathBuf::from(own.trim_start_matches('/'));
        let places = self.places.iter().map(|place| root.join(place));
        // Within a container its own group is at the root, whatever the list calls it.
        places
            .flat_map(|place| {
                own.ancestors().filter_map(|group| self.left_in(&place.join(group))).collect::<Vec<_>>()
            })
            .collect()
    }

    fn left_in(&self, group: &Path) -> Option<(u64, u64)> {
        let number = |file: &str| read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(|file| number(file)).min()?;
        let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
        let given_up =
            stat.lines().find_map(|line| line.strip_prefix(self.given_up)?.trim().parse::<u64>().ok());
        let used = number(self.usage)?.saturating_sub(given_up.unwrap_or_default());
        Some((limit, limit.saturating_sub(used)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A machine with 64 GiB, 32 GiB of them free, and these files.
    fn memory_with(files: &[(&str, &str)]) -> Memory {
        let root = tempfile::tempdir().unwrap();
        let meminfo = ("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n");
        for (path, text) in files.iter().chain([&meminfo]) {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        memory(root.path()).unwrap()
    }

    fn limited(free: u64, all: u64) -> Memory {
        Memory { free: free * MIB, all: all * MIB, is_limited: true }
    }

    const UNLIMITED: Memory = Memory { free: 32_768 * MIB, all: 65_536 * MIB, is_limited: false };

    #[test]
    fn the_lowest_limit_of_all_groups_around_a_process_holds() {
        let own = "sys/fs/cgroup/kube.slice/pod.slice";
        let files = [
            ("proc/self/cgroup", "0::/kube.slice/pod.slice/box.scope\n"),
            ("sys/fs/cgroup/kube.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/kube.slice/memory.current", "1000\n"),
            (&format!("{own}/memory.max"), "2147483648\n"),
            (&format!("{own}/memory.current"), "1610612736\n"),
            (&format!("{own}/box.scope/memory.max"), "4294967296\n"),
            (&format!("{own}/box.scope/memory.current"), "1048576\n"),
        ];
        assert_eq!(memory_with(&files), limited(512, 2_048));
        // What was only read once is given up first.
        let stat = format!("{own}/memory.stat");
        let with_files =
            [&files[..], &[(stat.as_str(), "anon 1\ninactive_file 536870912\nactive_file 7\n")]].concat();
        assert_eq!(memory_with(&with_files), limited(1_024, 2_048));
        // One is slowed down long before it is killed.
        let high = format!("{own}/box.scope/memory.high");
        let slowed = [&files[..], &[(high.as_str(), "268435456\n")]].concat();
        assert_eq!(memory_with(&slowed), limited(255, 256));
    }

    #[test]
    fn within_a_container_its_limit_stands_at_the_root_in_either_version() {
        let second = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/memory.current", "268435456\n"),
        ];
        assert_eq!(memory_with(&second), limited(768, 1_024));
        let first = [
            ("proc/self/cgroup", "7:cpu,cpuacct:/docker/4f1c\n5:memory:/docker/4f1c\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "805306368\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 5\ntotal_inactive_file 268435456\n"),
        ];
        assert_eq!(memory_with(&first), limited(512, 1_024));
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(memory_with(&[]), UNLIMITED);
        let first = [
            ("proc/self/cgroup", "5:memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "805306368\n"),
        ];
        assert_eq!(memory_with(&first), UNLIMITED);
        let second = [("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        assert_eq!(memory_with(&second), UNLIMITED);
        assert_eq!(memory(Path::new("/nonexistent")), None);
    }
}
