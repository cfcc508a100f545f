//! Sources: tasks that ask one target each and turn what comes back into readings.
//!
//! A source never fails: whatever goes wrong is a fault in its reading. [`spawn`] gives every source the
//! same manners: one request in flight, ticks that are skipped rather than queued, a late answer reported as
//! late and still waited for, and jittered, capped backoff while the target is out of reach.

pub mod metrics;
pub mod observer;
pub mod redis;

use std::future::Future;
use std::time::Duration;

use headwater_engine::reading::{Event, FaultKind, Reading};
use headwater_engine::{Moment, Subject};
use rand::Rng;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// The longest wait for an answer; after it the silence is a fault.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The longest pause between attempts to reach a target that is out of reach.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// When a source asks for the second time, in intervals. All sources begin at once, because the first numbers cannot
/// come too soon; asked in step ever after, targets that share a host would wait for each other and for us, and look
/// slow for it.
const PHASES: std::ops::Range<f64> = 0.5..1.0;

/// One target that can be asked again and again.
pub trait Source: Send + 'static {
    /// What the readings are about.
    fn subject(&self) -> &Subject;

    /// Asks once. Gives up by itself after [`LONGEST_WAIT`], with a fault.
    fn ask(&mut self) -> impl Future<Output = Reading> + Send;
}

/// Where readings go, and how sources are told to stop.
#[derive(Clone, Debug)]
pub struct Outlet {
    /// The bounded way to the app loop.
    pub readings: mpsc::Sender<Reading>,
    /// Ends every source that was spawned with it.
    pub stop: CancellationToken,
}

/// Runs a source at an interval until the outlet says stop, or until its credentials are refused.
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
    let mut failures = 0_u32;
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut is_first = true;
    loop {
        ticks.tick().await;
        let reading = ask_watching_the_clock(source, interval, outlet).await;
        let unreachable = reading
            .faults
            .iter()
            .any(|fault| matches!(fault.kind, FaultKind::Unreachable | FaultKind::Silent | FaultKind::Tls));
        let refused = reading.faults.iter().any(|fault| fault.kind == FaultKind::Auth);
        if outlet.readings.send(reading).await.is_err() || refused {
            return;
        }
        failures = if unreachable { failures + 1 } else { 0 };
        if failures > 0 {
            ticks.reset_after(backoff(interval, failures));
        } else if is_first {
            ticks.reset_after(interval.mul_f64(rand::rng().random_range(PHASES)));
        }
        is_first = false;
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
    let _ = outlet.readings.send(late).await;
    answer.await
}

/// The pause after this many failures in a row: doubling from one interval, capped, with +-25 % jitter so that
/// many sources do not come back in step.
pub(crate) fn backoff(interval: Duration, failures: u32) -> Duration {
    let doubled = interval.saturating_mul(1 << (failures - 1).min(10));
    doubled.min(LONGEST_BACKOFF).mul_f64(rand::rng().random_range(0.75..1.25))
}

/// The observer's clock.
pub fn now() -> Moment {
    Moment(jiff::Timestamp::now().as_millisecond())
}
