//! One measuring process at a time: two would measure each other, and one that a driver does not let go must not be doubled.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::config::state_folder;

/// How long an earlier process may take to end before this one gives up: the canary takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked at meanwhile.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Who measures now.
#[derive(Debug)]
pub(super) enum Turn {
    /// This process, as long as the file is open: the system frees the lock when the process is gone, and not before.
    /// `None` where there is no place for the file; then nobody can be seen.
    Ours(Option<File>),
    /// Another one, which is at work.
    Running(String),
    /// One that was killed and has not ended.
    Stuck(String),
}

/// Waits for the turn to measure on a backend, at most [`PATIENCE`] and a third of the deadline.
pub(super) fn wait(backend: &str, deadline: Duration) -> Turn {
    let folder = state_folder().map(|folder| folder.join("kernels"));
    let Some(file) = folder.and_then(|folder| open(&folder.join(format!("{backend}.lock")))) else {
        return Turn::Ours(None);
    };
    let patience = PATIENCE.min(deadline / 3);
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Turn::Ours(Some(signed(file))),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(LOOKS_EVERY),
            Err(TryLockError::WouldBlock) => return of_another(file, Path::new("/proc")),
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Turn::Ours(None),
        }
    }
}

fn open(path: &PathBuf) -> Option<File> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path).ok()
}

/// Writes this process into the file, for others to name.
fn signed(mut file: File) -> File {
    // Without it they cannot name it, and wait all the same.
    let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    file
}

/// What is said of whoever has the file; `processes` is the folder in which the system tells of them.
fn of_another(mut file: File, processes: &Path) -> Turn {
    let mut written = String::new();
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut written));
    let process = read.ok().and_then(|_| written.trim().parse::<u32>().ok());
    let named = process.map(|process| format!(" (process {process})")).unwrap_or_default();
    let status = process.map(|process| processes.join(process.to_string()).join("status"));
    let status = status.and_then(|path| std::fs::read_to_string(path).ok());
    if status.is_some_and(|status| is_killed(&status)) {
        return Turn::Stuck(format!(
            "an earlier benchmark{named} was killed and has not ended, because the driver holds it in the kernel; none is begun \
             beside it: see 'dmesg' for what the driver says, and reset the GPU or reboot"
        ));
    }
    Turn::Running(format!(
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
        let path = folder.path().join("kernels/cuda.lock");
        let said = |status: &str| {
            std::fs::create_dir_all(folder.path().join("41")).unwrap();
            std::fs::write(folder.path().join("41/status"), status).unwrap();
            let file = open(&path).unwrap();
            std::fs::write(&path, "41").unwrap();
            of_another(file, folder.path())
        };
        let page =
            |own: &str, shared: &str| format!("State:\tD (disk sleep)\nSigPnd:\t{own}\nShdPnd:\t{shared}\n");
        let (none, kill) = ("0000000000000000", "0000000000000100");
        for (own, shared) in [(kill, none), (none, kill)] {
            let Turn::Stuck(why) = said(&page(own, shared)) else { unreachable!("it was killed") };
            assert!(
                why.starts_with("an earlier benchmark (process 41) was killed and has not ended"),
                "{why}"
            );
        }
        let Turn::Running(why) = said(&page(none, "0000000000004000")) else { unreachable!("it works") };
        assert!(why.starts_with("another benchmark (process 41) is under way"), "{why}");
    }

    #[test]
    fn who_has_the_file_is_named_and_an_empty_one_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cuda.lock");
        std::fs::write(&path, "a longer text than this").unwrap();
        let ours = signed(open(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), std::process::id().to_string());
        assert!(ours.try_lock().is_ok());
        let other = open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        std::fs::write(&path, "").unwrap();
        let Turn::Running(why) = of_another(other, folder.path()) else { unreachable!("nothing was killed") };
        assert!(why.starts_with("another benchmark is under way"), "{why}");
    }
}
