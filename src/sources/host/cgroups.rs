//! Which containers have a limit of processor time, and how long it held them back: control groups, first and second
//! version.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Groups are looked for anew this often; between, those that have a limit are read alone.
const SEARCHES_EVERY: Duration = Duration::from_secs(30);

/// Folders that one search looks into, and how deep: a machine may have many thousands.
const MOST_FOLDERS: usize = 4_000;
const DEEPEST: usize = 8;

/// Groups that are told of, those that were held back longest since the look before: each is a series.
const MOST_TOLD: usize = 32;

/// Where the groups are: that of the second version, else those of the first.
const ROOTS: &[&str] = &["sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"];

/// What the group at the root is called: it has a limit only where the root is that of a container, and Headwater is in it.
const OWN: &str = "this container";

/// The file with the numbers of a group.
const NUMBERS: &str = "cpu.stat";

/// The groups with a limit.
#[derive(Debug)]
pub(super) struct Limited {
    roots: Vec<PathBuf>,
    searched: Option<Instant>,
    /// Each group's file, with its name.
    groups: Vec<(PathBuf, String)>,
    /// For how long each was held back at the look before.
    before: BTreeMap<String, f64>,
    /// Why the last search found no place to look at.
    without: Option<String>,
}

impl Limited {
    /// Groups under a folder that has `sys`; nothing is read yet.
    pub(super) fn new(root: &Path) -> Self {
        let roots = ROOTS.iter().map(|place| root.join(place)).collect();
        Self { roots, searched: None, groups: vec![], before: BTreeMap::new(), without: None }
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
        let now = held.iter().cloned().collect();
        let before = std::mem::replace(&mut self.before, now);
        // What was held back long ago is no trouble of today. A group that is new has all of its time since the look before.
        let grown = |(name, held): &(String, f64)| held - before.get(name).copied().unwrap_or(0.0);
        held.sort_by(|one, other| {
            let by_growth = grown(other).total_cmp(&grown(one));
            by_growth.then_with(|| other.1.total_cmp(&one.1)).then_with(|| one.0.cmp(&other.0))
        });
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
        let (mut folders, mut found) = (vec![(root.clone(), 0)], vec![]);
        let mut looked_into = 0;
        while let Some((folder, depth)) = folders.pop() {
            looked_into += 1;
            if looked_into > MOST_FOLDERS {
                break;
            }
            let file = folder.join(NUMBERS);
            // A group that never had a period has no limit, as the root of a machine.
            let is_limited = fs::read_to_string(&file)
                .is_ok_and(|text| numbers(&text).is_some_and(|one| one.periods > 0.0));
            if is_limited {
                found.push(folder.clone());
            }
            if depth < DEEPEST {
                let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
                let inside = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                folders.extend(inside.map(|entry| (entry.path(), depth + 1)));
            }
        }
        found.sort();
        let names = names(root, &found);
        self.groups = found.iter().map(|folder| folder.join(NUMBERS)).zip(names).collect();
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

/// What each group is called: by its last folder, and by those above it too where others are called the same, because two
/// groups of one name would be one series.
fn names(root: &Path, folders: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = folders.iter().map(|folder| name(root, folder, 1)).collect();
    for shown in 2..=DEEPEST {
        let mut called: BTreeMap<&str, usize> = BTreeMap::new();
        names.iter().for_each(|name| *called.entry(name).or_default() += 1);
        let is_shared: Vec<bool> = names.iter().map(|name| called[name.as_str()] > 1).collect();
        for ((own, folder), _) in names.iter_mut().zip(folders).zip(is_shared).filter(|(_, shared)| *shared) {
            *own = name(root, folder, shown);
        }
    }
    names
}

/// The name of a group by so many of its last folders, without what every container's has, and identities cut as tools
/// show them.
fn name(root: &Path, folder: &Path, shown: usize) -> String {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let folders: Vec<String> = below.iter().map(|one| bare(&one.to_string_lossy())).collect();
    if folders.is_empty() {
        return OWN.to_owned();
    }
    folders[folders.len().saturating_sub(shown)..].join("/")
}

/// The name of one folder.
fn bare(folder: &str) -> String {
    let bare = folder.trim_end_matches(".scope").trim_end_matches(".slice").trim_end_matches(".service");
    if bare.is_empty() {
        return folder.to_owned();
    }
    bare.split('-').map(shortened).collect::<Vec<_>>().join("-")
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
        group(root.path(), "sys/fs/cgroup", "usage_usec 9\n");
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
    fn within_a_container_its_own_limit_stands_at_the_root() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup");
        group(&top, "", "usage_usec 9\nnr_periods 9\nthrottled_usec 2000000\n");
        fs::write(top.join("cgroup.controllers"), "cpu\n").unwrap();
        assert_eq!(Limited::new(root.path()).held_back().unwrap(), [(OWN.to_owned(), 2.0)]);
    }

    #[test]
    fn groups_of_one_name_are_told_apart_by_those_above_them() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup");
        let held = |seconds: u32| format!("nr_periods 9\nthrottled_usec {seconds}000000\n");
        for (user, seconds) in [("1000", 3), ("1001", 2)] {
            let place = format!("user.slice/user-{user}.slice/user@{user}.service/app.slice");
            group(&top, &place, &held(seconds));
        }
        group(&top, "app-web.slice", &held(1));
        fs::write(top.join("cgroup.controllers"), "cpu\n").unwrap();
        let told = Limited::new(root.path()).held_back().unwrap();
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["user@1000/app", "user@1001/app", "app-web"]);
    }

    #[test]
    fn the_groups_that_are_held_back_now_come_before_those_that_were_long_ago() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup");
        let set = |place: &str, seconds: usize| {
            group(&top, place, &format!("nr_periods 9\nthrottled_usec {seconds}000000\n"));
        };
        (0..MOST_TOLD).for_each(|old| set(&format!("old-{old}"), 1_000 + old));
        set("young", 1);
        fs::write(top.join("cgroup.controllers"), "cpu\n").unwrap();
        let mut limited = Limited::new(root.path());
        assert!(limited.held_back().unwrap().iter().all(|(name, _)| name != "young"));
        set("young", 3);
        let told = limited.held_back().unwrap();
        assert_eq!((told.len(), &told[0]), (MOST_TOLD, &("young".to_owned(), 3.0)));
    }

    #[test]
    fn without_control_groups_the_reason_is_told() {
        let root = tempfile::tempdir().unwrap();
        assert!(Limited::new(root.path()).held_back().unwrap_err().contains("no control groups"));
    }
}
