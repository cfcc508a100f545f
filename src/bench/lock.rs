//! One process at a time measures a device: two would measure each other, and one that a driver does not let go must not be doubled.

mod place;

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::plain_file_name;

/// How long an earlier process may take to end before this one gives up: the canary takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// What is said of whoever has the file; `processes` is the folder in which the system tells of them. Who it is says the system
/// and not the file, into which anybody may have written.
fn of_another(file: &File, processes: &Path) -> Taken {
    let locks = std::fs::read_to_string(processes.join("locks")).unwrap_or_default();
    let process = file.metadata().ok().and_then(|found| holder(&locks, found.dev(), found.ino()));
    let named = process.map(|process| format!(" (process {process})")).unwrap_or_default();
    let status = process.map(|process| processes.join(process.to_string()).join("status"));
    let status = status.and_then(|path| std::fs::read_to_string(path).ok());
    if status.is_some_and(|status| is_killed(&status)) {
        return Taken::Stuck(format!(
            "an earlier benchmark{named} was killed and has not ended, because the driver holds it in the kernel; none is begun \
             beside it: see 'dmesg' for what the driver says, and reset the GPU or reboot"
        ));
    }
    Taken::Running(format!(
        "another benchmark{named} is under way, and two would measure each other: wait until it has ended"
    ))
}

/// Who holds the lock of a file, by the system's page of all locks; `None` where that is not told, as of another container's. Some file
/// systems have other numbers of their own for a device than a file tells: then the only one with this file's number is it.
fn holder(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let held = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Who waits for a lock has an arrow before its kind.
        let [_, "FLOCK", _, _, process, of, ..] = words[..] else { return None };
        let (on, file) = of.rsplit_once(':')?;
        (file.parse() == Ok(inode)).then_some((on, process))
    });
    let held: Vec<(&str, &str)> = held.collect();
    let exact = held.iter().find(|(on, _)| *on == device);
    let (_, process) = exact.or(if held.len() == 1 { held.first() } else { None })?;
    process.parse().ok().filter(|process| *process > 0)
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
        let said = |status: &str| {
            std::fs::create_dir_all(folder.path().join("41")).unwrap();
            std::fs::write(folder.path().join("41/status"), status).unwrap();
            let file = place::open(&path).unwrap();
            std::fs::write(folder.path().join("locks"), locks(&file, "41")).unwrap();
            of_another(&file, folder.path())
        };
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
    }

    #[test]
    fn who_has_the_file_says_the_system_and_nobody_who_wrote_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = place::open(&path).unwrap();
        std::fs::create_dir_all(folder.path().join("41")).unwrap();
        std::fs::write(folder.path().join("41/status"), "SigPnd:\t0000000000000100\n").unwrap();
        std::fs::write(&path, "41").unwrap();
        let said = |locks: &str| {
            std::fs::write(folder.path().join("locks"), locks).unwrap();
            let Taken::Running(why) = of_another(&file, folder.path()) else {
                unreachable!("nobody who holds it was killed")
            };
            why
        };
        let nobody = "another benchmark is under way";
        assert!(said("").starts_with(nobody));
        let waiting = locks(&file, "41").replace("FLOCK", "-> FLOCK");
        assert!(said(&waiting).starts_with(nobody), "one that waits for it");
        let other = File::open(folder.path().join("41/status")).unwrap();
        assert!(said(&locks(&other, "41")).starts_with(nobody), "one that holds another file");
        let both = format!("{waiting}{}", locks(&file, "42"));
        let named = "another benchmark (process 42) is under way";
        assert!(said(&both).starts_with(named));
        // A file system that has another number for its device than the file tells; of two such files nobody knows which.
        let inode = file.metadata().unwrap().ino();
        let elsewhere =
            |process: u32| format!("1: FLOCK  ADVISORY  WRITE {process} ff:{process:x}:{inode} 0 EOF\n");
        assert!(said(&elsewhere(42)).starts_with(named));
        assert!(said(&(elsewhere(42) + &elsewhere(43))).starts_with(nobody));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_system_tells_who_holds_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let ours = place::open(&path).unwrap();
        assert!(ours.try_lock().is_ok());
        let other = place::open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        let Taken::Running(why) = of_another(&other, Path::new("/proc")) else {
            unreachable!("this process goes on")
        };
        let named = format!("another benchmark (process {}) is under way", std::process::id());
        assert!(why.starts_with(&named), "{why}");
    }

    /// The system's page where this process holds the lock of this file.
    fn locks(file: &File, process: &str) -> String {
        let found = file.metadata().unwrap();
        let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        format!("1: FLOCK  ADVISORY  WRITE {process} {major:02x}:{minor:02x}:{} 0 EOF\n", found.ino())
    }
}
