//! Lists of targets in files, read anew when they change.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_engine::RemoteText;
use headwater_engine::reading::FaultKind;

use super::Trouble;
use super::list::{Group, LONGEST_LIST, Syntax, groups};

/// The most files that a pattern may stand for.
const MOST_FILES: usize = 1_000;

/// The files of one discovery, with what was last read of each.
#[derive(Debug)]
pub(super) struct Files {
    patterns: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Known>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    groups: Vec<Group>,
}

/// By what a file that changed is known: size, moment and identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, i64, i64, u64);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino())
    }
}

/// What a look at all files brought: what is wrong with some of them costs only what is new in those.
pub(super) struct Looked {
    pub(super) groups: Vec<Group>,
    pub(super) found: String,
    pub(super) trouble: Option<Trouble>,
}

impl Files {
    pub(super) fn new(patterns: &[PathBuf]) -> Self {
        Self { patterns: patterns.to_vec(), known: BTreeMap::new() }
    }

    /// Looks at all files; reads those that changed.
    pub(super) fn look(&mut self) -> Looked {
        let mut troubles: Vec<Trouble> = vec![];
        let mut there = vec![];
        for pattern in &self.patterns {
            match matching(pattern) {
                Ok(paths) => there.extend(paths),
                Err(trouble) => {
                    troubles.push(trouble);
                    // Who cannot look into a folder does not know what left it.
                    there.extend(self.known.keys().filter(|known| fits(pattern, known)).cloned());
                }
            }
        }
        there.sort();
        there.dedup();
        self.known.retain(|path, _| there.contains(path));
        for path in &there {
            if let Err(trouble) = self.read(path) {
                troubles.push(trouble);
            }
        }
        let names: Vec<String> = there.iter().map(|path| path.display().to_string()).collect();
        let found = match names.as_slice() {
            [] => "no file".to_owned(),
            names => names.join(", "),
        };
        let groups = self.known.values().flat_map(|known| known.groups.iter().cloned()).collect();
        Looked { groups, found, trouble: troubles.into_iter().next() }
    }

    fn read(&mut self, path: &Path) -> Result<(), Trouble> {
        let shown = RemoteText::new(&path.display().to_string());
        let unread = |error: std::io::Error| {
            Trouble::new(
                FaultKind::Denied,
                format!("'{shown}' cannot be read ({error}): check the path and its rights"),
            )
        };
        let metadata = std::fs::metadata(path).map_err(unread)?;
        if !metadata.is_file() {
            // Opening a pipe would wait for whoever writes it.
            return Err(Trouble::new(FaultKind::Denied, format!("'{shown}' is no file: check the path")));
        }
        let stamp = Stamp::of(&metadata);
        if self.known.get(path).is_some_and(|known| known.stamp == stamp) {
            return Ok(());
        }
        let mut bytes = vec![];
        let file = File::open(path).map_err(unread)?;
        file.take(LONGEST_LIST as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let syntax = if is_json { Syntax::Json } else { Syntax::Yaml };
        let groups = groups(&bytes, syntax).map_err(|why| {
            let kind = match bytes.len() > LONGEST_LIST {
                true => FaultKind::TooLarge,
                false => FaultKind::Malformed,
            };
            Trouble::new(kind, format!("'{shown}' {why}"))
        })?;
        self.known.insert(path.to_owned(), Known { stamp, groups });
        Ok(())
    }
}

/// The files that a pattern stands for: itself, or those of its folder where its last part has a `*`.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, Trouble> {
    if !is_pattern(pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).map_err(|error| {
        let shown = RemoteText::new(&folder.display().to_string());
        Trouble::new(
            FaultKind::Denied,
            format!("the folder '{shown}' cannot be read ({error}): check the path and its rights"),
        )
    })?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| fits(pattern, path));
    Ok(paths.take(MOST_FILES).collect())
}

/// Whether the last part of a path has a `*`.
fn is_pattern(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains('*'))
}

/// Whether a path is one that a pattern stands for.
fn fits(pattern: &Path, path: &Path) -> bool {
    let (Some(wanted), Some(name)) = (pattern.file_name(), path.file_name()) else { return false };
    let (wanted, name) = (wanted.to_string_lossy(), name.to_string_lossy());
    let mut pieces = wanted.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            let Some(at) = rest.find(before) else { return false };
            rest = &rest[at + before.len()..];
        }
    }
    match last {
        None => rest.is_empty(),
        Some(last) => rest.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part_of_a_files_name() {
        for (pattern, name, is_one) in [
            ("a.json", "a.json", true),
            ("a.json", "b.json", false),
            ("*.json", "b.json", true),
            ("*.json", "b.json.tmp", false),
            ("tg_*.yml", "tg_.yml", true),
            ("tg_*.yml", "tg_a.yaml", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*", "anything", true),
        ] {
            assert_eq!(fits(Path::new(pattern), Path::new(name)), is_one, "{pattern} {name}");
        }
    }
}
