//! How many sockets pages may hold: with more than this process may open, neither files nor Redis could be.

use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::open_files;

/// The part of all files that may be open, as a divisor, for connections that stay open between two looks.
const KEPT_PART: usize = 2;

/// The part for connections of those who have none that stays open.
const PASSING_PART: usize = 8;

/// The sockets of one process.
#[derive(Debug)]
pub(super) struct Sockets {
    kept: Arc<Semaphore>,
    passing: Arc<Semaphore>,
}

/// How many pages can each have a connection that stays open.
pub(crate) fn most_kept() -> usize {
    open_files::limit() / KEPT_PART
}

impl Sockets {
    /// Those of this process.
    pub(super) fn own() -> &'static Self {
        static OWN: OnceLock<Sockets> = OnceLock::new();
        OWN.get_or_init(|| Self::below(open_files::limit()))
    }

    /// Those of a process that may open so many files.
    fn below(files: usize) -> Self {
        let some = |part: usize| Arc::new(Semaphore::new((files / part).clamp(1, Semaphore::MAX_PERMITS)));
        Self { kept: some(KEPT_PART), passing: some(PASSING_PART) }
    }

    /// A place for a connection that stays open, as long as there are any.
    pub(super) fn keep_one(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.kept).try_acquire_owned().ok()
    }

    /// Waits for a place for one request.
    pub(super) async fn pass_one(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        Arc::clone(&self.passing).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn beyond_what_may_stay_open_requests_wait_for_one_another() {
        let sockets = Sockets::below(16);
        let kept: Vec<_> = std::iter::repeat_with(|| sockets.keep_one()).take(9).collect();
        assert_eq!(kept.iter().filter(|place| place.is_some()).count(), 8);
        let passing = [sockets.pass_one().await, sockets.pass_one().await];
        assert!(passing.iter().all(Option::is_some));
        assert!(sockets.pass_one().now_or_never().is_none());
        drop(passing);
        assert!(sockets.pass_one().now_or_never().is_some());
        drop(kept);
        assert!(sockets.keep_one().is_some());
    }
}
