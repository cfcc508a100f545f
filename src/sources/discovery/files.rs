//! Lists of targets in files, read anew when they change.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use headwater_engine::RemoteText;
use headwater_engine::reading::FaultKind;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::Trouble;
use super::list::{Group, LONGEST_LIST, Syntax, groups};
use crate::sources::LONGEST_WAIT;

/// The most files that a pattern may stand for.
const MOST_FILES: usize = 1_000;

/// How old the newest change of a YAML file is before the file counts as whole: the beginning of a list is a list too, and
/// whoever writes in place may be in the middle of it. JSON ends with a bracket.
const SETTLES_WITHIN: Duration = Duration::from_millis(250);

/// How often a file that changes while it is read is read in one look.
const MOST_TRIES: usize = 8;

/// The files of one discovery, and the look at them that is under way.
#[derive(Debug)]
pub(super) struct Looks {
    files: Arc<Mutex<Files>>,
    under_way: Option<JoinHandle<Looked>>,
}

impl Looks {
    pub(super) fn new(patterns: &[PathBuf]) -> Self {
        Self { files: Arc::new(Mutex::new(Files::new(patterns))), under_way: None }
    }

    /// Looks at all files, on a thread of its own because a disk may take its time; one that takes too long is waited for
    /// again at the next look, so that at most one thread hangs there.
    pub(super) async fn look(&mut self) -> Result<Looked, Trouble> {
        let look = self.under_way.get_or_insert_with(|| {
            let files = Arc::clone(&self.files);
            // What was known of each file stays whole, whatever happened while another one was read.
            spawn_blocking(move || files.lock().unwrap_or_else(PoisonError::into_inner).look())
        });
        let Ok(looked) = timeout(LONGEST_WAIT, look).await else {
            let message = "its files cannot be read: the disk does not answer within 10 s".to_owned();
            return Err(Trouble::new(FaultKind::Silent, message));
        };
        self.under_way = None;
        looked.map_err(|error| {
            let message = format!(
                "Headwater fails to read its files ({error}): this is a defect of Headwater, report it"
            );
            Trouble::new(FaultKind::Malformed, message)
        })
    }
}

/// The files of one discovery, with what was last read of each.
#[derive(Debug)]
struct Files {
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
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) groups: Vec<Group>,
    pub(super) found: String,
    pub(super) trouble: Option<Trouble>,
}

impl Files {
    fn new(patterns: &[PathBuf]) -> Self {
        Self { patterns: patterns.to_vec(), known: BTreeMap::new() }
    }

    /// Looks at all files; reads those that changed.
    fn look(&mut self) -> Looked {
        let mut troubles: Vec<Trouble> = vec![];
        let mut there = vec![];
        for pattern in &self.patterns {
            match matching(pattern) {
                Ok(paths) => there.extend(paths),
                Err(trouble) => {
                    troubles.push(trouble);
                    // Who cannot see the whole folder does not know what left it.
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
        if self.known.get(path).is_some_and(|known| known.stamp == Stamp::of(&metadata)) {
            return Ok(());
        }
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let syntax = if is_json { Syntax::Json } else { Syntax::Yaml };
        let whole = whole(path, syntax, std::thread::sleep).map_err(unread)?;
        let Some((bytes, stamp)) = whole else {
            let message = format!("'{shown}' keeps changing while it is read: it is read again");
            return Err(Trouble::new(FaultKind::Busy, message));
        };
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

/// The bytes of a file that did not change while it was read; `None` where it does not stop changing.
fn whole(
    path: &Path,
    syntax: Syntax,
    mut wait: impl FnMut(Duration),
) -> std::io::Result<Option<(Vec<u8>, Stamp)>> {
    for _ in 0..MOST_TRIES {
        let before = std::fs::metadata(path)?;
        let mut bytes = vec![];
        File::open(path)?.take(LONGEST_LIST as u64 + 1).read_to_end(&mut bytes)?;
        let pause = if syntax == Syntax::Yaml { unsettled(&before) } else { Duration::ZERO };
        if !pause.is_zero() {
            wait(pause);
        }
        let stamp = Stamp::of(&std::fs::metadata(path)?);
        if stamp == Stamp::of(&before) {
            return Ok(Some((bytes, stamp)));
        }
    }
    Ok(None)
}

/// How long a file may still be in the middle of being written. A clock that is not the disk's own may put its last change
/// into the future.
fn unsettled(metadata: &Metadata) -> Duration {
    let age = metadata.modified().ok().map(|changed| SystemTime::now().duration_since(changed));
    age.map_or(SETTLES_WITHIN, |age| SETTLES_WITHIN.saturating_sub(age.unwrap_or_default()))
}

/// The files that a pattern stands for: itself, or those of its folder where its last part has a `*`.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, Trouble> {
    if !is_pattern(pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unread = |error: std::io::Error| {
        let shown = RemoteText::new(&folder.display().to_string());
        Trouble::new(
            FaultKind::Denied,
            format!("the folder '{shown}' cannot be read ({error}): check the path and its rights"),
        )
    };
    let mut paths = vec![];
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        // An entry that is lost would be a file that has left.
        let path = entry.map_err(unread)?.path();
        if !fits(pattern, &path) {
            continue;
        }
        if paths.len() == MOST_FILES {
            let shown = RemoteText::new(&pattern.display().to_string());
            let message =
                format!("'{shown}' stands for more than {MOST_FILES} files: split it over several tables");
            return Err(Trouble::new(FaultKind::TooLarge, message));
        }
        paths.push(path);
    }
    Ok(paths)
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
    use std::fs::write;
    use std::io::Write as _;

    use super::*;

    fn targets(looked: &Looked) -> Vec<&str> {
        looked.groups.iter().flat_map(|group| &group.targets).map(String::as_str).collect()
    }

    #[test]
    fn too_many_files_are_no_list_and_what_was_known_stays() {
        let folder = tempfile::tempdir().unwrap();
        let list = |number: usize| folder.path().join(format!("{number}.json"));
        write(list(0), r#"[{"targets":["h:1"]}]"#).unwrap();
        let mut files = Files::new(&[folder.path().join("*.json")]);
        let looked = files.look();
        assert_eq!((targets(&looked), looked.trouble.is_none()), (vec!["h:1"], true));
        for number in 1..=MOST_FILES {
            write(list(number), "[]").unwrap();
        }
        let looked = files.look();
        assert_eq!(targets(&looked), ["h:1"]);
        assert!(looked.trouble.unwrap().message.contains("more than 1000 files"));
        std::fs::remove_file(list(MOST_FILES)).unwrap();
        assert!(files.look().trouble.is_none());
    }

    #[test]
    fn half_of_a_file_that_is_being_written_is_no_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yml");
        let append = || {
            let mut file = File::options().append(true).create(true).open(&path).unwrap();
            file.write_all(b"- targets: ['h:1']\n").unwrap();
        };
        append();
        let mut left = 2;
        let read = whole(&path, Syntax::Yaml, |_| {
            if left > 0 {
                left -= 1;
                append();
            }
        });
        let (bytes, _) = read.unwrap().unwrap();
        assert_eq!(bytes, std::fs::read(&path).unwrap(), "what was still to come is there");
        assert_eq!(groups(&bytes, Syntax::Yaml).unwrap().len(), 3);
        append();
        assert!(whole(&path, Syntax::Yaml, |_| append()).unwrap().is_none(), "there is no end of it");
        // What is older than any writer's pause need not be waited for.
        let old = SystemTime::now() - 2 * SETTLES_WITHIN;
        File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(whole(&path, Syntax::Yaml, |_| panic!("nobody writes")).unwrap().is_some());
    }

    #[tokio::test]
    async fn what_was_known_survives_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, r#"[{"targets":["h:1"]}]"#).unwrap();
        let mut looks = Looks::new(&[path]);
        assert_eq!(targets(&looks.look().await.unwrap()), ["h:1"]);
        let files = Arc::clone(&looks.files);
        looks.under_way = Some(spawn_blocking(move || {
            let _held = files.lock().unwrap();
            panic!("this is the test's own")
        }));
        assert!(looks.look().await.unwrap_err().message.contains("a defect of Headwater"));
        assert_eq!(targets(&looks.look().await.unwrap()), ["h:1"]);
    }

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
