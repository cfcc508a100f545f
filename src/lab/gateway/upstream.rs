//! One instance as the gateway sees it.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{CHECK_TIMEOUT, FEWEST, MILLISECONDS, SLOW, SLOW_INTERVALS};
use crate::lab::counters::UpstreamCounters;
use crate::lab::exposition::Recorder;
use crate::lab::service::lock;

/// The instance.
#[derive(Debug)]
pub(super) struct Upstream {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// What is asked there.
    pub(super) url: String,
    /// What was counted.
    pub(super) counts: Counts,
    /// Whether its port accepted the last connection.
    is_ready: AtomicBool,
    ejected_until: Mutex<Option<Instant>>,
    /// Answers since the last look, and how long all of them took together.
    recent: Mutex<(u32, Duration)>,
    /// Looks in a row at which it was slow.
    slow_looks: AtomicU32,
}

/// What the gateway counts of one instance.
#[derive(Debug)]
pub(super) struct Counts {
    /// Attempts, repeated ones included.
    pub(super) attempts: AtomicU64,
    /// Attempts under way.
    pub(super) active: AtomicUsize,
    /// Attempts by class of their status, from 2xx to 5xx.
    pub(super) answers: [AtomicU64; 4],
    /// Attempts that were given up.
    pub(super) timeouts: AtomicU64,
    /// Refusals and failures that were repeated elsewhere.
    pub(super) retries: AtomicU64,
    /// Times that it was taken out.
    pub(super) ejections: AtomicU64,
    /// Readiness checks.
    pub(super) checks: AtomicU64,
    /// Those of them that failed.
    pub(super) failed_checks: AtomicU64,
    /// Time of an attempt in milliseconds.
    pub(super) duration: Recorder,
}

/// An attempt under way; one that is dropped was given up by the caller.
#[derive(Debug)]
pub(super) struct UnderWay<'a> {
    upstream: &'a Upstream,
    begun: Instant,
}

impl Upstream {
    /// One that is ready and was asked nothing yet.
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            url: format!("http://{address}/v1/rank"),
            counts: Counts {
                attempts: AtomicU64::new(0),
                active: AtomicUsize::new(0),
                answers: Default::default(),
                timeouts: AtomicU64::new(0),
                retries: AtomicU64::new(0),
                ejections: AtomicU64::new(0),
                checks: AtomicU64::new(0),
                failed_checks: AtomicU64::new(0),
                duration: Recorder::new(MILLISECONDS),
            },
            is_ready: AtomicBool::new(true),
            ejected_until: Mutex::new(None),
            recent: Mutex::new((0, Duration::ZERO)),
            slow_looks: AtomicU32::new(0),
        }
    }

    /// What was counted so far.
    pub(super) fn counters(&self) -> UpstreamCounters {
        UpstreamCounters {
            address: self.address.to_string(),
            attempts: self.counts.attempts.load(Ordering::Relaxed),
            ejections: self.counts.ejections.load(Ordering::Relaxed),
            failed_checks: self.counts.failed_checks.load(Ordering::Relaxed),
            is_ejected: self.is_ejected(Instant::now()),
        }
    }

    /// Whether it accepts connections.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Whether it is taken out.
    pub(super) fn is_ejected(&self, now: Instant) -> bool {
        lock(&self.ejected_until).is_some_and(|until| now < until)
    }

    /// Whether requests go there.
    pub(super) fn gets_requests(&self) -> bool {
        self.is_ready() && !self.is_ejected(Instant::now())
    }

    /// Takes it out until then.
    pub(super) fn eject(&self, until: Instant) {
        *lock(&self.ejected_until) = Some(until);
        self.counts.ejections.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks whether it is ready: whether its port accepts a connection, and nothing else.
    pub(super) async fn check(&self) {
        let accepted = tokio::time::timeout(CHECK_TIMEOUT, TcpStream::connect(self.address)).await;
        let is_ready = matches!(accepted, Ok(Ok(_)));
        self.counts.checks.fetch_add(1, Ordering::Relaxed);
        if !is_ready {
            self.counts.failed_checks.fetch_add(1, Ordering::Relaxed);
        }
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    /// How long attempts that ended since the last look took on average, where it gets requests and has been slow for
    /// long enough to be taken out.
    pub(super) fn slowness(&self, now: Instant) -> Option<Duration> {
        let (count, all) = std::mem::take(&mut *lock(&self.recent));
        if self.is_ejected(now) {
            self.slow_looks.store(0, Ordering::Relaxed);
            return None;
        }
        // Of one that answers next to nobody nothing can be said: what was said before stands.
        let mean = (count >= FEWEST).then(|| all / count)?;
        let looks = if mean > SLOW { self.slow_looks.load(Ordering::Relaxed) + 1 } else { 0 };
        self.slow_looks.store(looks, Ordering::Relaxed);
        (looks >= SLOW_INTERVALS).then_some(mean)
    }

    /// Begins an attempt.
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.counts.attempts.fetch_add(1, Ordering::Relaxed);
        self.counts.active.fetch_add(1, Ordering::Relaxed);
        UnderWay { upstream: self, begun: Instant::now() }
    }
}

impl UnderWay<'_> {
    /// Counts what came of it.
    pub(super) fn ended(&mut self, status: StatusCode) {
        let counts = &self.upstream.counts;
        let class = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
        counts.answers[class].fetch_add(1, Ordering::Relaxed);
        if status == StatusCode::GATEWAY_TIMEOUT {
            counts.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        let took = self.begun.elapsed();
        counts.duration.record_number(took.as_secs_f64() * 1_000.0);
        let mut recent = lock(&self.upstream.recent);
        recent.0 += 1;
        recent.1 += took;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.upstream.counts.active.fetch_sub(1, Ordering::Relaxed);
    }
}
