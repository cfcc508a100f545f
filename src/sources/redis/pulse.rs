//! How a node fares, told by the task that asks it to whoever else wants to know.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// The shared state of one node.
#[derive(Debug)]
pub(super) struct Pulse {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    answered: Instant,
    spared_until: Instant,
}

impl Pulse {
    /// A node that counts as having answered when it was met.
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { state: Mutex::new(State { answered: now, spared_until: now }) }
    }

    /// Notes an answer; one that suffers is to be spared until then.
    pub(super) fn answered(&self, at: Instant, spared_until: Option<Instant>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { answered: at, spared_until: spared_until.unwrap_or(state.spared_until) };
    }

    /// When it answered last.
    pub(super) fn last_answer(&self) -> Instant {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).answered
    }

    /// Until when whatever can wait is not to be asked of it; past when nothing speaks against it.
    pub(super) fn spared_until(&self) -> Instant {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).spared_until
    }
}
