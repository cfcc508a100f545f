//! When a finding may end, and whether it did.

use std::time::Duration;

use super::{Finding, State};
use crate::time::Moment;

/// Observations in a row without a breach before a firing finding ends. To look again at a number that is scraped every five
/// seconds is no second observation, so they must span the time of as many.
const QUIET_TO_END: u32 = 3;

/// How much earlier than a whole number of intervals the last of them may be looked at: ticks are not exact.
const JITTER: Duration = Duration::from_millis(500);

/// Evaluations in a row without a breach.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    pub(super) looks: u32,
    since: Moment,
}

impl Quiet {
    pub(super) fn look(&mut self, now: Moment) {
        if self.looks == 0 {
            self.since = now;
        }
        self.looks += 1;
    }

    /// Whether it is enough to end what fired on a subject of which there is news this often.
    pub(super) fn is_enough(&self, now: Moment, every: Duration) -> bool {
        self.looks >= QUIET_TO_END && now.since(self.since) + JITTER >= every * (QUIET_TO_END - 1)
    }
}

impl Finding {
    /// Whether it counts against its subject: firing now, or it fired in this window.
    pub fn counts(&self) -> bool {
        matches!(self.state, State::Firing | State::Ended(_))
    }

    /// When it ended, or was seen no longer.
    pub fn until(&self) -> Option<Moment> {
        match self.state {
            State::Ended(at) => Some(at),
            _ => None,
        }
    }

    /// When it ended only in that nothing tells any more whether it goes on.
    pub fn unseen_since(&self) -> Option<Moment> {
        self.until().filter(|_| !self.seen_to_end)
    }
}
