//! Sources: tasks that ask one target each and turn what comes back into readings.
//!
//! A source never fails: whatever goes wrong is a fault in its reading. [`spawn`] gives every source the
//! same manners: one request in flight, ticks that are skipped rather than queued, a late answer reported as
//! late and still waited for, and jittered, capped backoff while the target gives nothing.

pub mod calls;
pub mod canary;
pub mod changes;
pub mod client_certificate;
mod dial;
pub mod directory;
pub mod discovery;
pub mod host;
pub(crate) mod label;
pub mod logs;
mod manners;
pub mod metrics;
pub mod nvml;
pub mod observer;
pub mod own_headers;
pub mod probe;
pub mod prometheus;
pub mod proxy;
pub mod redis;
mod tls_words;

use std::future::Future;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use headwater_engine::reading::{Event, Reading};
use headwater_engine::{Moment, Subject};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

pub(crate) use manners::backoff;
use manners::{Manners, Next};

/// The longest wait for an answer; after it the silence is a fault.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The longest pause between attempts to get something out of a target that gives nothing.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// One target that can be asked again and again.
pub trait Source: Send + 'static {
    /// What the readings are about.
    fn subject(&self) -> &Subject;

    /// Asks once. Gives up by itself after [`LONGEST_WAIT`], with a fault.
    fn ask(&mut self) -> impl Future<Output = Reading> + Send;

    /// Whether credentials that were refused are tried again, seldom. Not where a few wrong tries lock a user out.
    fn retries_refusals(&self) -> bool {
        false
    }

    /// Whether it is asked less often while it gives nothing; what costs nobody anything need not be.
    fn backs_off(&self) -> bool {
        true
    }
}

/// Where readings go, and how sources are told to stop.
#[derive(Clone, Debug)]
pub struct Outlet {
    /// The bounded way to the app loop.
    pub readings: mpsc::Sender<Reading>,
    /// Ends every source that was spawned with it.
    pub stop: CancellationToken,
}

/// Runs a source at an interval until the outlet says stop, or until its credentials are refused for good.
pub fn spawn(mut source: impl Source, interval: Duration, outlet: Outlet) -> JoinHandle<()> {
    tokio::spawn(async move {
        let stop = outlet.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = run(&mut source, interval, &outlet) => {}
        }
    })
}

async fn run(source: &mut impl Source, interval: Duration, outlet: &Outlet) {
    let mut manners = Manners::new(interval, source.retries_refusals());
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        tokio::time::sleep(manners.wandering()).await;
        let reading = ask_watching_the_clock(source, interval, outlet).await;
        let next = manners.after(&reading);
        let is_cheap = !source.backs_off() && !reading.faults.is_empty();
        if outlet.readings.send(reading).await.is_err() {
            return;
        }
        match next {
            Next::Tick => {}
            Next::After(_) if is_cheap => {}
            Next::After(pause) => ticks.reset_after(pause),
            Next::Never => return,
        }
    }
}

/// Asks; once the answer is late (1.5 intervals) says so, and goes on waiting for it.
async fn ask_watching_the_clock(source: &mut impl Source, interval: Duration, outlet: &Outlet) -> Reading {
    let subject = source.subject().clone();
    let asked = now();
    let late_at = Instant::now() + interval.mul_f64(1.5);
    let mut answer = std::pin::pin!(source.ask());
    tokio::select! {
        biased;
        reading = &mut answer => return reading,
        () = tokio::time::sleep_until(late_at) => {}
    }
    let mut late = Reading::new(subject, now());
    late.events.push(Event::Late(asked));
    // A full channel or a stopped loop loses only this notice; the answer itself is still awaited.
    let _ = outlet.readings.try_send(late);
    answer.await
}

/// The observer's clock: the wall clock, but one that is set back does not take readings with it, because points that
/// are older than the last one would be dropped. Set forward, as after a sleep of the machine, it follows.
pub fn now() -> Moment {
    static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    static AHEAD_MS: AtomicI64 = AtomicI64::new(i64::MIN);
    let running_ms = i64::try_from(START.elapsed().as_millis()).unwrap_or(i64::MAX);
    never_back(&AHEAD_MS, running_ms, jiff::Timestamp::now().as_millisecond())
}

/// The time of a clock that runs steadily and was furthest behind the wall clock by `ahead_ms`.
fn never_back(ahead_ms: &AtomicI64, running_ms: i64, wall_ms: i64) -> Moment {
    let ahead = wall_ms.saturating_sub(running_ms);
    Moment(running_ms.saturating_add(ahead_ms.fetch_max(ahead, Ordering::Relaxed).max(ahead)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_and_one_that_is_set_forward_is_followed() {
        let ahead = AtomicI64::new(i64::MIN);
        let at = |running_ms, wall_ms| never_back(&ahead, running_ms, wall_ms).0;
        assert_eq!(at(0, 1_000_000), 1_000_000);
        assert_eq!(at(500, 1_000_500), 1_000_500);
        assert_eq!(at(1_000, 400_000), 1_001_000);
        assert_eq!(at(2_000, 9_000_000), 9_000_000);
        assert_eq!(at(2_500, 9_000_400), 9_000_500);
    }
}
