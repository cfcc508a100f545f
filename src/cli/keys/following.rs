//! Work on a watched target that its user may have had enough of.

use std::pin::Pin;

use futures::stream::{FuturesUnordered, StreamExt};
use headwater_engine::reading::Reading;
use tokio_util::sync::CancellationToken;

use super::watched::Watched;
use crate::sources::redis::ScanHandle;

/// Scans and searches that are waited for: the first interruption lets them end and tell what they found, the second
/// waits for nothing.
pub(super) struct Following<I, F> {
    cancels: Vec<CancellationToken>,
    tasks: FuturesUnordered<tokio::task::JoinHandle<()>>,
    interruption: I,
    interrupted: Pin<Box<F>>,
    was_interrupted: bool,
}

impl<I: Fn() -> F, F: Future<Output = ()>> Following<I, F> {
    /// Follows nothing yet.
    pub(super) fn new(interruption: I) -> Self {
        let interrupted = Box::pin(interruption());
        Self {
            cancels: vec![],
            tasks: FuturesUnordered::new(),
            interruption,
            interrupted,
            was_interrupted: false,
        }
    }

    /// Follows this one too.
    pub(super) fn add(&mut self, handle: ScanHandle) {
        self.cancels.push(handle.cancel);
        self.tasks.push(handle.task);
    }

    /// Whether there was an interruption.
    pub(super) fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }

    /// What the target tells next; `None` when all tasks are over, or the user waits no more.
    pub(super) async fn next(&mut self, watched: &mut Watched) -> Option<Reading> {
        loop {
            tokio::select! {
                biased;
                () = &mut self.interrupted => {
                    if self.was_interrupted {
                        return None;
                    }
                    self.was_interrupted = true;
                    self.interrupted.set((self.interruption)());
                    self.cancels.iter().for_each(CancellationToken::cancel);
                }
                // What they have told comes before the news that they are over.
                reading = watched.readings.recv() => return reading,
                // One whose task has died tells nothing more.
                over = self.tasks.next() => {
                    over?.ok();
                }
            }
        }
    }
}
