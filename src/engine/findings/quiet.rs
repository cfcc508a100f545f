//! How long nothing was wrong: when a finding may end.

use std::time::Duration;

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
