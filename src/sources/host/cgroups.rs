//! Which containers have a limit of processor time, and how long it held them back: control groups, first and second
//! version.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Groups are looked for anew this often; between, those that have a limit are read alone.
const SEARCHES_EVERY: Duration = Duration::from_secs(30);

/// Folders that one search looks into, and how deep: a machine may have many thousands.
const MOST_FOLDERS: usize = 4_000;
const DEEPEST: usize = 8;

/// Groups that are told of, those that were held back longest: each is a series.
const MOST_TOLD: usize = 32;

/// Where the groups are: that of the second version, else those of the first.
const ROOTS: &[&str] = &["sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"];

/// The file with the numbers of a group.
const NUMBERS: &str = "cpu.stat";

/// The groups with a limit.
#[derive(Debug)]
pub(super) struct Limited {
    roots: Vec<PathBuf>,
    searched: Option<Instant>,
    /// Each group's file, with its name.
    groups: Vec<(PathBuf, String)>,
    /// Why the last search found no place to look at.
    without: Option<String>,
}

impl Limited {
    /// Groups under a folder that has `sys`; nothing is read yet.
    pub(super) fn new(root: &Path) -> Self {
        let roots = ROOTS.iter().map(|place| root.join(place)).collect();
        Self { roots, searched: None, groups: vec![], without: None }
    }

    /// For how many seconds each group with a limit was held back since it was made, summed over cores; the reason when
    /// there are no groups to look at.
    pub(super) fn held_back(&mut self) -> Result<Vec<(String, f64)>, String> {
        if self.searched.is_none_or(|at| at.elapsed() >= SEARCHES_EVERY) {
            self.searched = Some(Instant::now());
            self.without = self.search().err();
        }
        if let Some(why) = &self.without {
            return Err(why.clone());
        }
        let held = self.groups.iter().filter_map(|(file, name)| {
            let numbers = numbers(&fs::read_to_string(file).ok()?)?;
            Some((name.clone(), numbers.held_s))
        });
        let mut held: Vec<(String, f64)> = held.collect();
        held.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        held.truncate(MOST_TOLD);
        Ok(held)
    }

    fn search(&mut self) -> Result<(), String> {
        self.groups.clear();
        let has_groups =
            |root: &&PathBuf| root.join("cgroup.controllers").exists() || root.join("tasks").exists();
        let Some(root) = self.roots.iter().find(has_groups) else {
            return Err(format!("there are no control groups under '{}'", self.roots[0].display()));
        };
        let mut folders = vec![(root.clone(), 0)];
        let mut looked_into = 0;
        while let Some((folder, depth)) = folders.pop() {
            looked_into += 1;
            if looked_into > MOST_FOLDERS {
                break;
            }
            let file = folder.join(NUMBERS);
            // The root has no limit; a group that never had a period has none either.
            let is_limited = depth > 0
                && fs::read_to_string(&file)
                    .is_ok_and(|text| numbers(&text).is_some_and(|one| one.periods > 0.0));
            if is_limited {
                self.groups.push((file, name(root, &folder)));
            }
            if depth < DEEPEST {
                let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
                let inside = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                folders.extend(inside.map(|entry| (entry.path(), depth + 1)));
            }
        }
        // Two groups of one name would be one series.
        self.groups.sort_by(|one, other| one.1.cmp(&other.1).then_with(|| one.0.cmp(&other.0)));
        self.groups.dedup_by(|later, first| later.1 == first.1);
        Ok(())
    }
}

/// The numbers of a group.
struct Numbers {
    /// Periods of its limit so far.
    periods: f64,
    /// Seconds in which it was held back.
    held_s: f64,
}

/// Reads `cpu.stat`: the second version tells microseconds, the first nanoseconds. `None` for a group without a limit.
fn numbers(text: &str) -> Option<Numbers> {
    let of = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let (_, number) = lines.find(|(known, _)| *known == name)?;
        number.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    };
    let held_s = of("throttled_usec")
        .map(|held| held / 1e6)
        .or_else(|| of("throttled_time").map(|held| held / 1e9))?;
    Some(Numbers { periods: of("nr_periods")?, held_s })
}

/// The name of a group: its last folder, without what every container's has, and identities cut as tools show them.
fn name(root: &Path, folder: &Path) -> String {
    let last = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bare = last.trim_end_matches(".scope").trim_end_matches(".slice").trim_end_matches(".service");
    let short: Vec<String> = bare.split('-').map(shortened).collect();
    let name = short.join("-");
    if name.is_empty() {
        return folder.strip_prefix(root).unwrap_or(folder).display().to_string();
    }
    name
}

/// The first twelve digits of an identity, anything else whole.
fn shortened(word: &str) -> String {
    const SHOWN: usize = 12;
    let is_identity = word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
    if is_identity { word.chars().take(SHOWN).collect() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4f1c0e7a9b2d4f1c0e7a9b2d4f1c0e7a9b2d4f1c0e7a9b2d4f1c0e7a9b2d4f1c";

    fn group(root: &Path, place: &str, numbers: &str) {
        let folder = root.join(place);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(NUMBERS), numbers).unwrap();
    }

    #[test]
    fn groups_of_the_second_version_with_a_limit_are_told_and_those_without_are_not() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup");
        group(root.path(), "sys/fs/cgroup", "usage_usec 9\nnr_periods 9\nthrottled_usec 9\n");
        fs::write(top.join("cgroup.controllers"), "cpu\n").unwrap();
        group(
            &top,
            &format!("system.slice/docker-{ID}.scope"),
            "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500000\n",
        );
        group(
            &top,
            "system.slice/ssh.service",
            "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        );
        group(&top, "user.slice", "usage_usec 5\n");
        let mut limited = Limited::new(root.path());
        assert_eq!(limited.held_back().unwrap(), [("docker-4f1c0e7a9b2d".to_owned(), 2.5)]);
    }

    #[test]
    fn groups_of_the_first_version_tell_nanoseconds() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup/cpu,cpuacct");
        group(&top, "", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
        fs::write(top.join("tasks"), "1\n").unwrap();
        group(&top, &format!("docker/{ID}"), "nr_periods 7\nnr_throttled 2\nthrottled_time 1500000000\n");
        let mut limited = Limited::new(root.path());
        assert_eq!(limited.held_back().unwrap(), [("4f1c0e7a9b2d".to_owned(), 1.5)]);
    }

    #[test]
    fn without_control_groups_the_reason_is_told() {
        let root = tempfile::tempdir().unwrap();
        assert!(Limited::new(root.path()).held_back().unwrap_err().contains("no control groups"));
    }
}
