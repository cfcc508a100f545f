//! How many files and sockets this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than this is asked of no system: where there is no limit the kernel has one of its own.
const ENOUGH: u64 = 1 << 20;

/// Raises the limit to the most that this process may give itself: shells and service managers give 1024 to begin with, and
/// a fleet needs more. Where it cannot be raised it stays.
pub(crate) fn raise_limit() {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if now.current.is_some_and(|current| current < most) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    }
}

/// The limit that holds now.
pub(crate) fn limit() -> usize {
    let now = getrlimit(Resource::Nofile).current.unwrap_or(ENOUGH);
    usize::try_from(now.min(ENOUGH)).unwrap_or(usize::MAX)
}
