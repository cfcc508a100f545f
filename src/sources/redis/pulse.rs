//! How a node fares, told by the task that asks it to whoever else wants to know.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::reading::KeyMethod;
use tokio::time::Instant;

/// How long a refusal stands.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// The shared state of one node.
#[derive(Debug)]
pub(super) struct Pulse {
    state: Mutex<State>,
    /// The ways to find out about keys that it refused when they were tried, with what it said.
    refusals: Mutex<BTreeMap<KeyMethod, (Instant, String)>>,
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
        Self { state: Mutex::new(State { answered: now, spared_until: now }), refusals: Mutex::default() }
    }

    /// Notes an answer; one that suffers is to be spared until then.
    pub(super) fn answered(&self, at: Instant, spared_until: Option<Instant>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { answered: at, spared_until: spared_until.unwrap_or(state.spared_until) };
    }

    /// Notes that it refused a way to find out about keys, or with `None` that it did not.
    pub(super) fn refused(&self, method: KeyMethod, why: Option<String>) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => refusals.insert(method, (Instant::now(), why)),
            None => refusals.remove(&method),
        };
    }

    /// Why it refused this way when it was tried a while ago at most: rights are granted and settings change.
    pub(super) fn refusal(&self, method: KeyMethod) -> Option<String> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.get(&method).filter(|(at, _)| at.elapsed() < REFUSED_FOR).map(|(_, why)| why.clone())
    }

    /// When it answered last.
    pub(super) fn last_answer(&self) -> Instant {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).answered
    }

    /// Waits while it is to be spared, and at most until this end.
    pub(super) async fn spared(&self, end: Instant) {
        loop {
            let until = self.spared_until().min(end);
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    /// Until when whatever can wait is not to be asked of it; past when nothing speaks against it.
    pub(super) fn spared_until(&self) -> Instant {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).spared_until
    }
}
