//! A circuit breaker before the model: who asks for what has just failed again and again is refused at once.
//!
//! It guards against a model that fails, not against one that is slow. Its spans are a fraction of the usual ones, so that
//! half a minute shows what takes minutes elsewhere.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::lock;

/// Requests that are looked back at, and the share of them that has to fail.
const CALLS: usize = 10;
const FAILING: f64 = 0.5;

/// How long it stays open before a batch may try again.
const OPEN_FOR: Duration = Duration::from_millis(1_200);

/// The breaker.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    position: Mutex<Position>,
    /// Times that it opened.
    pub(super) openings: AtomicU64,
    /// Requests that it refused.
    pub(super) refused: AtomicU64,
}

/// What it lets through.
#[derive(Debug)]
enum Position {
    /// Everything; how the last requests ended.
    Closed(VecDeque<bool>),
    /// Nothing until then.
    Open(Instant),
    /// One batch, which decides.
    HalfOpen,
}

impl Default for Position {
    fn default() -> Self {
        Self::Closed(VecDeque::with_capacity(CALLS))
    }
}

impl Breaker {
    /// Whether a request that comes now is refused; it counts those.
    pub(super) fn refuses(&self) -> bool {
        let refuses = matches!(*lock(&self.position), Position::Open(until) if Instant::now() < until);
        if refuses {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Whether a batch of this size may go on now; those of one that may not are refused.
    pub(super) fn lets_through(&self, size: u64) -> bool {
        let mut position = lock(&self.position);
        match *position {
            Position::Open(until) if Instant::now() < until => {
                self.refused.fetch_add(size, Ordering::Relaxed);
                false
            }
            Position::Open(_) => {
                *position = Position::HalfOpen;
                true
            }
            _ => true,
        }
    }

    /// Notes how a batch of this size ended.
    pub(super) fn ended(&self, size: usize, is_well: bool) {
        let mut position = lock(&self.position);
        let opens = match &mut *position {
            Position::Closed(calls) => {
                calls.extend(std::iter::repeat_n(is_well, size));
                calls.drain(..calls.len().saturating_sub(CALLS));
                let failed = calls.iter().filter(|is_well| !**is_well).count();
                calls.len() == CALLS && failed as f64 >= CALLS as f64 * FAILING
            }
            Position::HalfOpen if is_well => {
                *position = Position::default();
                false
            }
            Position::HalfOpen | Position::Open(_) => true,
        };
        if opens {
            *position = Position::Open(Instant::now() + OPEN_FOR);
            self.openings.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The state by the name that Resilience4j gives it.
    pub(super) fn state(&self) -> &'static str {
        match *lock(&self.position) {
            Position::Closed(_) => "closed",
            Position::Open(_) => "open",
            Position::HalfOpen => "half_open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_by_failures_and_closes_by_one_that_is_none() {
        let breaker = Breaker::default();
        breaker.ended(20, true);
        breaker.ended(4, false);
        assert_eq!((breaker.state(), breaker.refuses()), ("closed", false));
        breaker.ended(1, false);
        assert_eq!((breaker.state(), breaker.refuses(), breaker.lets_through(8)), ("open", true, false));
        assert_eq!(breaker.refused.load(Ordering::Relaxed), 9);
        tokio::time::advance(OPEN_FOR).await;
        assert!(!breaker.refuses() && breaker.lets_through(8));
        breaker.ended(8, false);
        assert_eq!((breaker.state(), breaker.refuses()), ("open", true));
        tokio::time::advance(OPEN_FOR).await;
        assert!(breaker.lets_through(8));
        assert_eq!(breaker.state(), "half_open");
        breaker.ended(8, true);
        assert_eq!((breaker.state(), breaker.openings.load(Ordering::Relaxed)), ("closed", 2));
    }
}
