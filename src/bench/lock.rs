//! One process at a time measures a device: two would measure each other, and one that a driver does not let go must not be doubled.

mod place;

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
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
                return Ok(Held { file: Some(signed(file)), unseen: place.unseen.map(str::to_owned) });
            }
            // Another took its place in the meantime.
            Ok(()) if begun.elapsed() < patience => std::thread::sleep(LOOKS_EVERY),
            Ok(()) => return without(&std::io::Error::other("others replace it all the time")),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(LOOKS_EVERY),
            Err(TryLockError::WouldBlock) => return Err(of_another(file, Path::new("/proc"))),
            // A file system without locks.
            Err(TryLockError::Error(error)) => return without(&error),
        }
    }
}

/// Writes this process into the file, for others to name.
fn signed(mut file: File) -> File {
    // Without it they cannot name it, and wait all the same.
    let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    file
}

/// What is said of whoever has the file; `processes` is the folder in which the system tells of them.
fn of_another(mut file: File, processes: &Path) -> Taken {
    let mut written = String::new();
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut written));
    let process = read.ok().and_then(|_| written.trim().parse::<u32>().ok());
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
            std::fs::write(&path, "41").unwrap();
            of_another(file, folder.path())
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
    fn who_has_the_file_is_named_and_an_empty_one_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "a longer text than this").unwrap();
        let ours = signed(place::open(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), std::process::id().to_string());
        assert!(ours.try_lock().is_ok());
        let other = place::open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        std::fs::write(&path, "").unwrap();
        let Taken::Running(why) = of_another(other, folder.path()) else {
            unreachable!("nothing was killed")
        };
        assert!(why.starts_with("another benchmark is under way"), "{why}");
    }
}
