//! What becomes of searches that slow a server when the terminal stops the process (ctrl-z).
//!
//! A stopped process reads nothing, while the server goes on writing what MONITOR shows into memory, and goes on counting
//! for HOTKEYS. So these searches end first, and only then the process stops.

use std::time::Duration;

use rustix::process::{Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_process};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::sources::redis::ScanHandle;

/// How long the searches may take to end before the process stops all the same.
const ENDING: Duration = Duration::from_secs(1);

/// How often it is looked whether they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The searches that end before the process stops. Once there was one, the process stops by this for as long as it runs.
#[derive(Debug, Default)]
pub struct Suspension {
    begun: Option<UnboundedSender<Search>>,
}

type Search = (CancellationToken, AbortHandle);

impl Suspension {
    /// Has a search end before the process stops. Must be called within a tokio runtime.
    pub fn ends_first(&mut self, handle: &ScanHandle) {
        use tokio::signal::unix::{SignalKind, signal};
        if self.begun.is_none()
            && let Ok(mut asked) = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))
        {
            let (begun, searches) = unbounded_channel();
            self.begun = Some(begun);
            tokio::spawn(async move { wait(&mut asked, searches).await });
        }
        if let Some(begun) = &self.begun {
            // The other end lives as long as the process.
            let _ = begun.send((handle.cancel.clone(), handle.task.abort_handle()));
        }
    }
}

async fn wait(asked: &mut tokio::signal::unix::Signal, mut begun: UnboundedReceiver<Search>) {
    let mut searches: Vec<Search> = vec![];
    loop {
        tokio::select! {
            biased;
            Some(search) = begun.recv() => searches.push(search),
            Some(()) = asked.recv() => {
                searches.iter().for_each(|(cancel, _)| cancel.cancel());
                let ended = async {
                    while searches.iter().any(|(_, task)| !task.is_finished()) {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                };
                let _ = tokio::time::timeout(ENDING, ended).await;
                searches.clear();
                if has_shell() {
                    let _ = kill_process(getpid(), Signal::STOP);
                }
            }
            else => return,
        }
    }
}

/// Whether there is a shell that lets the process go on; without one the system would not stop it either.
fn has_shell() -> bool {
    getppid().is_some_and(|parent| {
        let is_in_session = getsid(Some(parent)).is_ok_and(|session| getsid(None) == Ok(session));
        is_in_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
    })
}
