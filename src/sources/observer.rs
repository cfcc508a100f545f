//! The observer watches itself: a lagging or starved Headwater must not accuse its targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_engine::metric::{LOOP_LAG, PROCESS_CPU, PROCESS_MEMORY};
use headwater_engine::reading::{Reading, Value};
use headwater_engine::{Kind, Subject};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Outlet, Source, now, spawn};
use crate::process::{cpu_seconds, resident_bytes};

/// How often the loop's punctuality is measured.
const BEAT: Duration = Duration::from_millis(50);

/// Starts the self source: once an interval it sends the worst lag of the loop since its last reading, and
/// Headwater's own CPU time and resident memory. Must be called within a tokio runtime.
pub fn spawn_observer(interval: Duration, outlet: Outlet) -> JoinHandle<()> {
    let worst_lag_us = Arc::new(AtomicU64::new(0));
    let heart = beat(Arc::clone(&worst_lag_us));
    let stop = outlet.stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = heart => {}
        }
    });
    spawn(
        Observer { subject: Subject::component(Kind::Observer, "headwater"), worst_lag_us },
        interval,
        outlet,
    )
}

/// Sleeps again and again, and keeps by how much the worst sleep was late.
async fn beat(worst_lag_us: Arc<AtomicU64>) {
    loop {
        let due = Instant::now() + BEAT;
        tokio::time::sleep_until(due).await;
        let lag = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        worst_lag_us.fetch_max(lag, Ordering::Relaxed);
    }
}

struct Observer {
    subject: Subject,
    worst_lag_us: Arc<AtomicU64>,
}

impl Source for Observer {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    async fn ask(&mut self) -> Reading {
        let mut reading = Reading::new(self.subject.clone(), now());
        let lag = Duration::from_micros(self.worst_lag_us.swap(0, Ordering::Relaxed));
        reading.sample(&self.subject, LOOP_LAG, Value::Gauge(lag.as_secs_f64()));
        reading.sample(&self.subject, PROCESS_CPU, Value::Counter(cpu_seconds()));
        // Only Linux has this file; elsewhere the memory is simply not reported.
        if let Some(bytes) = resident_bytes() {
            reading.sample(&self.subject, PROCESS_MEMORY, Value::Gauge(bytes));
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn a_blocked_loop_is_noticed() {
        let (readings, mut arrived) = mpsc::channel(8);
        let outlet = Outlet { readings, stop: CancellationToken::new() };
        spawn_observer(Duration::from_millis(20), outlet.clone());
        let lag = |reading: &Reading| match &reading.samples[0].value {
            Value::Gauge(lag) => *lag,
            other => panic!("{other:?}"),
        };
        let first = arrived.recv().await.unwrap();
        assert_eq!(first.source.as_str(), "observer/headwater");
        // The one thread of this runtime is held for longer than a beat, so some beat comes late by the rest.
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(200));
        let mut worst = 0.0_f64;
        while worst < 0.1 {
            worst = worst.max(lag(&arrived.recv().await.unwrap()));
        }
        outlet.stop.cancel();
    }
}
