//! Where the locks of devices are: in a folder that all users of this machine share, in files of which none is trusted.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use crate::config::state_folder;

/// Names another folder: one that the containers of a machine share, for example.
const FOLDER_VARIABLE: &str = "HEADWATER_LOCKS";

/// Folders that machines have for what all of their users share.
const SHARED: &[&str] = &["/run/lock", "/tmp"];

/// Anybody may write into such a folder, and nobody take away what is another's there.
const FOR_ALL: u32 = 0o1777;

/// A lock that somebody else replaces at the same time is opened so often at most.
const TRIES: usize = 10;

/// A folder for locks.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// Who measures unseen by whoever looks there, if somebody does.
    pub(super) unseen: Option<&'static str>,
}

/// The folder for locks here; `None` where there is none, so that nobody is seen.
pub(super) fn place() -> Option<Place> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE) {
        return Some(Place { folder: folder.into(), unseen: None });
    }
    among(SHARED.iter().map(Path::new), state_folder())
}

/// The first folder that is shared, by what it is and not by who looks: all users must come to the same one. Without any, a
/// user's own.
fn among<'a>(folders: impl Iterator<Item = &'a Path>, own: Option<PathBuf>) -> Option<Place> {
    let is_shared = |folder: &&Path| {
        folder.symlink_metadata().is_ok_and(|found| found.is_dir() && found.mode() & FOR_ALL == FOR_ALL)
    };
    let mut folders = folders;
    if let Some(folder) = folders.find(is_shared) {
        return Some(Place { folder: folder.to_owned(), unseen: None });
    }
    let folder = own?.join("kernels");
    std::fs::create_dir_all(&folder).ok()?;
    let unseen =
        "other users' benchmarks are not seen, because neither /run/lock nor /tmp is for all to write into";
    Some(Place { folder, unseen: Some(unseen) })
}

/// Opens the file of a lock, for any user to open as well, and makes it where there is none. Other users may have put anything
/// there: no link is followed, nothing is waited for, and what is no plain file of one name is an error.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let carefully = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let options = |is_written: bool| {
        let mut options = OpenOptions::new();
        options.read(true).write(is_written).custom_flags(carefully).mode(0o666);
        options
    };
    for _ in 0..TRIES {
        // Without the wish to make it: systems refuse that for another user's file in such a folder.
        let found = match options(true).open(path) {
            // A lock needs no right to write.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => options(false).open(path),
            found => found,
        };
        let file = match found {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match made(path, options(true).create_new(true)) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                    made => made?,
                }
            }
            found => found?,
        };
        let known = file.metadata()?;
        if !known.is_file() || known.nlink() > 1 {
            return Err(io::Error::other("it is no plain file"));
        }
        return Ok(file);
    }
    Err(io::Error::other("others replace it all the time"))
}

/// Makes the file of a lock. Under its name it is for all users from the first moment: one who finds it closed would measure
/// without it.
fn made(path: &Path, new: &OpenOptions) -> io::Result<File> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    if let Ok(file) = new.open(&draft) {
        let named =
            for_all(&file).and_then(|()| Ok(renameat_with(CWD, &draft, CWD, path, RenameFlags::NOREPLACE)?));
        match named {
            Ok(()) => return Ok(file),
            // One that stays does no harm.
            Err(_) => drop(std::fs::remove_file(&draft)),
        }
    }
    // Another one made it, or the file system has no such step.
    let file = new.open(path)?;
    for_all(&file).map(|()| file)
}

/// What this process does not want others to write in general does not count here.
fn for_all(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o666))
}

/// Whether this is still the file that others find there: one that was cleared away locks out nobody.
pub(super) fn is_current(file: &File, path: &Path) -> bool {
    let is_same = |own: std::fs::Metadata, found: std::fs::Metadata| {
        (own.dev(), own.ino()) == (found.dev(), found.ino())
    };
    file.metadata().ok().zip(path.symlink_metadata().ok()).is_some_and(|(own, found)| is_same(own, found))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_taken_that_anybody_may_write_into_and_nobody_clear() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, mode| {
            let folder = root.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            folder
        };
        let (own, group, open, shared) =
            (folder("own", 0o700), folder("group", 0o1775), folder("open", 0o777), folder("shared", 0o1777));
        let linked = root.path().join("linked");
        symlink(&shared, &linked).unwrap();
        let nowhere = root.path().join("nowhere");
        let unusable = [&group, &open, &linked, &nowhere].map(PathBuf::as_path);
        let taken = among(unusable.into_iter().chain([shared.as_path()]), Some(own.clone())).unwrap();
        assert_eq!((taken.folder, taken.unseen), (shared, None));
        let taken = among(unusable.into_iter(), Some(own.clone())).unwrap();
        assert_eq!(taken.folder, own.join("kernels"));
        assert!(taken.unseen.is_some_and(|unseen| unseen.contains("other users")));
        assert!(among(unusable.into_iter(), None).is_none());
    }

    #[test]
    fn what_others_put_there_is_not_followed_written_or_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("precious"), "words").unwrap();
        symlink(path("precious"), path("link")).unwrap();
        symlink(path("nowhere"), path("dangling")).unwrap();
        std::fs::hard_link(path("precious"), path("second name")).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        rustix::fs::mknodat(CWD, path("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        for name in ["link", "dangling", "second name", "folder", "pipe"] {
            assert!(open(&path(name)).is_err(), "'{name}'");
        }
        assert!(!path("nowhere").exists(), "nothing is made where a link leads to");
        assert_eq!(std::fs::read_to_string(path("precious")).unwrap(), "words");
    }

    #[test]
    fn a_lock_is_for_all_users_and_one_that_was_cleared_away_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = open(&path).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o666);
        assert!(is_current(&file, &path) && is_current(&open(&path).unwrap(), &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_current(&file, &path));
        let again = open(&path).unwrap();
        assert!(!is_current(&file, &path) && is_current(&again, &path));
    }

    #[test]
    fn a_lock_that_another_made_first_is_that_one_and_no_draft_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headwater-bench-cpu.lock");
        let first = open(&path).unwrap();
        let mut new = OpenOptions::new();
        let late = made(&path, new.read(true).write(true).create_new(true));
        assert_eq!(late.map_err(|error| error.kind()).err(), Some(ErrorKind::AlreadyExists));
        assert!(is_current(&first, &path));
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["headwater-bench-cpu.lock"]);
    }
}
