//! One process at a time measures a device: two would measure each other, and one that a driver does not let go must not be doubled.

mod place;

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::plain_file_name;

/// How long an earlier process may take to end before this one gives up: the canary takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the file of a lock may be its maker's alone.
const BEING_MADE: Duration = Duration::from_millis(200);

/// How often it is looked at meanwhile.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// The turn of this process, as long as this lives: the system frees the lock when the process is gone, and not before.
#[derive(Debug)]
pub(super) struct Held {
    file: Option<File>,
    /// Who may measure the same unseen, in words.
    pub(super) unseen: Option<String>,
}

/// Who else measures now.
#[derive(Debug)]
pub(super) enum Taken {
    /// Another one, which is at work.
    Running(String),
    /// One that was killed and has not ended.
    Stuck(String),
}

impl Held {
    /// Nobody else can be seen.
    fn blindly(why: &str) -> Self {
        Self { file: None, unseen: Some(format!("other benchmarks of the same device are not seen: {why}")) }
    }

    /// Keeps the turn until the end of this process, whatever ends it.
    pub(super) fn keep(self) {
        std::mem::forget(self.file);
    }
}

/// Waits for the turn to do what has this name on this machine, whichever user does it, at most [`PATIENCE`] and a third of the
/// deadline.
pub(super) fn wait(name: &str, deadline: Duration) -> Result<Held, Taken> {
    let Some(place) = place::place() else { return Ok(Held::blindly("there is no folder for locks")) };
    let path = place.folder.join(format!("headwater-bench-{}.lock", plain_file_name(name)));
    let without = |error: &std::io::Error| {
        let why = format!("'{}' cannot be locked ({error})", path.display());
        Ok(Held::blindly(&why))
    };
    let patience = PATIENCE.min(deadline / 3);
    let begun = Instant::now();
    loop {
        let file = match place::open(&path) {
            Ok(file) => file,
            // Who makes it lets others read it only then.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && begun.elapsed() < BEING_MADE => {
                std::thread::sleep(LOOKS_EVERY);
                continue;
            }
            Err(error) => return without(&error),
        };
        match file.try_lock() {
            Ok(()) if place::is_current(&file, &path) => {
                return Ok(Held { file: Some(file), unseen: place.unseen.map(str::to_owned) });
            }
            // Another took its place in the meantime.
            Ok(()) if begun.elapsed() < patience => std::thread::sleep(LOOKS_EVERY),
            Ok(()) => return without(&std::io::Error::other("others replace it all the time")),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(LOOKS_EVERY),
            Err(TryLockError::WouldBlock) => return Err(of_another(&file, Path::new("/proc"))),
            // A file system without locks.
            Err(TryLockError::Error(error)) => return without(&error),
        }
    }
}

/// What is said of whoever has the file; `processes` is the folder in which the system tells of them. What stands in a file that
/// all users can write would prove nothing.
fn of_another(file: &File, processes: &Path) -> Taken {
    let read = |name: &str| std::fs::read_to_string(processes.join(name)).ok();
    let process = file.metadata().ok().and_then(|known| holder(&read("locks")?, known.ino()));
    let named = process.map(|process| format!(" (process {process})")).unwrap_or_default();
    if process.and_then(|process| read(&format!("{process}/status"))).is_some_and(|status| is_killed(&status))
    {
        return Taken::Stuck(format!(
            "an earlier benchmark{named} was killed and has not ended, because the driver holds it in the kernel; none is begun \
             beside it: see 'dmesg' for what the driver says, and reset the GPU or reboot"
        ));
    }
    Taken::Running(format!(
        "another benchmark{named} is under way, and two would measure each other: wait until it has ended"
    ))
}

/// The process that has locked the file of this number, by the system's list of locks, where it has a number here: one in another
/// container has none.
fn holder(locks: &str, inode: u64) -> Option<u32> {
    let held = locks.lines().find_map(|line| {
        // 1: FLOCK  ADVISORY  WRITE 5537 fe:00:10174552 0 EOF; who waits has an arrow before the kind.
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let (process, file) = (words.nth(2)?, words.next()?);
        let is_it = kind == "FLOCK" && file.rsplit_once(':')?.1.parse() == Ok(inode);
        is_it.then(|| process.parse::<u32>().ok())?
    });
    held.filter(|process| *process > 0)
}

/// Whether a process, by the system's page of it, has been sent the signal that none survives.
fn is_killed(status: &str) -> bool {
    const KILL: u64 = 1 << (9 - 1);
    let pending = status.lines().filter_map(|line| {
        let signals = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(signals.trim(), 16).ok()
    });
    pending.into_iter().any(|signals| signals & KILL != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_was_killed_and_has_not_ended_is_told_from_one_that_works() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = place::open(&path).unwrap();
        let inode = file.metadata().unwrap().ino();
        let locks = |inode: u64| {
            format!(
                "1: POSIX  ADVISORY  WRITE 7 fe:00:{inode} 0 EOF\n2: FLOCK  ADVISORY  WRITE 41 fe:00:{inode} 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 9 fe:00:{inode} 0 EOF\n"
            )
        };
        let said_of = |locks: &str, status: &str| {
            std::fs::create_dir_all(folder.path().join("41")).unwrap();
            std::fs::write(folder.path().join("41/status"), status).unwrap();
            std::fs::write(folder.path().join("locks"), locks).unwrap();
            of_another(&file, folder.path())
        };
        let said = |status: &str| said_of(&locks(inode), status);
        let page =
            |own: &str, shared: &str| format!("State:\tD (disk sleep)\nSigPnd:\t{own}\nShdPnd:\t{shared}\n");
        let (none, kill) = ("0000000000000000", "0000000000000100");
        for (own, shared) in [(kill, none), (none, kill)] {
            let Taken::Stuck(why) = said(&page(own, shared)) else { unreachable!("it was killed") };
            assert!(
                why.starts_with("an earlier benchmark (process 41) was killed and has not ended"),
                "{why}"
            );
        }
        let Taken::Running(why) = said(&page(none, "0000000000004000")) else { unreachable!("it works") };
        assert!(why.starts_with("another benchmark (process 41) is under way"), "{why}");
        // Whoever is named elsewhere than among those who hold it proves nothing, as does one of another container.
        let of_container = format!("1: FLOCK  ADVISORY  WRITE 0 fe:00:{inode} 0 EOF\n");
        std::fs::write(&path, "41").unwrap();
        for locks in [locks(inode + 1), of_container, String::new(), "odd\n1: FLOCK\n".to_owned()] {
            let Taken::Running(why) = said_of(&locks, &page(kill, none)) else { unreachable!("{locks}") };
            assert!(why.starts_with("another benchmark is under way"), "{why}");
        }
    }

    #[test]
    fn who_has_the_file_is_named_by_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let ours = place::open(&path).unwrap();
        assert!(ours.try_lock().is_ok());
        let other = place::open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        let Taken::Running(why) = of_another(&other, Path::new("/proc")) else {
            unreachable!("nothing was killed")
        };
        let expected = format!("another benchmark (process {}) is under way", std::process::id());
        assert!(why.starts_with(&expected), "{why}");
    }
}
