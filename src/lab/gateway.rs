//! A gateway: it shares requests among the instances of the service, gives up on slow answers, repeats refusals
//! elsewhere, asks whether instances are ready and takes slow ones out.
//!
//! Two of its habits are those of many a real one, and are what `failover-storm` is about: an instance whose port
//! accepts a connection counts as ready, and one that is slow is taken out whatever that means for the rest. Its
//! intervals are a fraction of the usual ones, so that half a minute shows what takes minutes elsewhere.

mod page;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::upstream::Upstream;
use super::LabError;
use super::counters::GatewayCounters;
use super::exposition::Recorder;
use super::serving::{client, serve};

/// Instances of the service behind a gateway.
pub(super) const INSTANCES: usize = 5;

/// How long the gateway waits for an instance.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How often a request is sent to another instance after a refusal.
const RETRIES: u32 = 1;

/// How often instances are looked at: whether they accept connections, and how slow they were.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long a connection may take to be accepted by one that is ready.
const CHECK_TIMEOUT: Duration = Duration::from_millis(500);

/// An instance whose answers took longer than this on average is slow: some five times the usual.
const SLOW: Duration = Duration::from_millis(400);

/// In so many intervals in a row it has to be slow to be taken out: a machine that pauses makes everyone slow in one.
const SLOW_INTERVALS: u32 = 2;

/// Answers in an interval below which their mean means nothing.
const FEWEST: u32 = 3;

/// For how long.
const EJECTED_FOR: Duration = Duration::from_secs(4);

/// Instances that are never taken out together: one has to be left.
const LEFT: usize = 1;

/// Envoy's default bounds of durations, in milliseconds.
const MILLISECONDS: &[f64] = &[
    0.5, 1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 30_000.0,
    60_000.0,
];

/// The running gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    upstreams: Vec<Upstream>,
    client: reqwest::Client,
    next: AtomicUsize,
    active: AtomicUsize,
    aborted: AtomicU64,
    /// Answers by class of status, from 2xx to 5xx.
    answers: [AtomicU64; 4],
    duration: Recorder,
}

/// What came of one attempt.
enum Attempt {
    Answered(StatusCode, Bytes),
    TimedOut,
    Failed,
}

impl Gateway {
    /// Starts it before these instances until told to stop; answers where it listens.
    pub(super) async fn start(
        instances: &[SocketAddr],
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, SocketAddr), LabError> {
        let client =
            client().build().map_err(|error| LabError::part("the gateway", std::io::Error::other(error)))?;
        let gateway = Arc::new(Self {
            upstreams: instances.iter().copied().map(Upstream::new).collect(),
            client,
            next: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            aborted: AtomicU64::new(0),
            answers: Default::default(),
            duration: Recorder::new(MILLISECONDS),
        });
        let router = Router::new()
            .route("/v1/rank", post(rank))
            .route("/stats/prometheus", get(metrics))
            .with_state(Arc::clone(&gateway));
        let address =
            serve(router, stop.clone()).await.map_err(|error| LabError::part("the gateway", error))?;
        let watching = Arc::clone(&gateway);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = watching.watch() => {}
            }
        });
        Ok((gateway, address))
    }

    /// What was counted so far.
    pub(super) fn counters(&self) -> GatewayCounters {
        GatewayCounters { upstreams: self.upstreams.iter().map(Upstream::counters).collect() }
    }

    async fn forward(&self, body: Bytes) -> (StatusCode, Bytes) {
        let mut tried = None;
        let mut retries = 0;
        loop {
            let upstream = self.pick(tried);
            match self.attempt(upstream, body.clone()).await {
                Attempt::Answered(StatusCode::SERVICE_UNAVAILABLE, _) | Attempt::Failed
                    if retries < RETRIES =>
                {
                    retries += 1;
                    upstream.counts.retries.fetch_add(1, Ordering::Relaxed);
                    tried = Some(upstream.address);
                }
                Attempt::Answered(status, body) => return (status, body),
                Attempt::TimedOut => return (StatusCode::GATEWAY_TIMEOUT, Bytes::new()),
                Attempt::Failed => return (StatusCode::SERVICE_UNAVAILABLE, Bytes::new()),
            }
        }
    }

    /// The next one in turn that gets requests and was not tried; with none left, the next in turn.
    fn pick(&self, tried: Option<SocketAddr>) -> &Upstream {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let in_turn =
            || (0..self.upstreams.len()).map(|n| &self.upstreams[(start + n) % self.upstreams.len()]);
        let fits = |upstream: &&Upstream| upstream.gets_requests() && Some(upstream.address) != tried;
        in_turn().find(fits).unwrap_or(&self.upstreams[start % self.upstreams.len()])
    }

    async fn attempt(&self, upstream: &Upstream, body: Bytes) -> Attempt {
        let mut under_way = upstream.begin();
        let sent =
            self.client.post(&upstream.url).header(header::CONTENT_TYPE, "application/json").body(body);
        let answer = async {
            let response = sent.send().await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        };
        let attempt = match tokio::time::timeout(TIMEOUT, answer).await {
            Err(_) => Attempt::TimedOut,
            Ok(Err(_)) => Attempt::Failed,
            Ok(Ok((status, body))) => Attempt::Answered(status, body),
        };
        under_way.ended(match attempt {
            Attempt::Answered(status, _) => status,
            Attempt::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Attempt::Failed => StatusCode::SERVICE_UNAVAILABLE,
        });
        attempt
    }

    /// Looks at every instance at every interval.
    async fn watch(&self) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            futures::future::join_all(self.upstreams.iter().map(Upstream::check)).await;
            self.eject();
        }
    }

    /// Takes out who was slow, the slowest first, and lets back in whose time is over.
    fn eject(&self) {
        let now = Instant::now();
        let mut slow: Vec<_> =
            self.upstreams.iter().filter_map(|upstream| Some((upstream.slowness(now)?, upstream))).collect();
        slow.sort_by_key(|(mean, _)| std::cmp::Reverse(*mean));
        let out = self.upstreams.iter().filter(|upstream| upstream.is_ejected(now)).count();
        let more = self.upstreams.len().saturating_sub(LEFT + out);
        for (_, upstream) in slow.into_iter().take(more) {
            upstream.eject(now + EJECTED_FOR);
        }
    }
}

async fn rank(State(gateway): State<Arc<Gateway>>, body: Bytes) -> Response {
    let mut request = Request { gateway: &gateway, begun: Instant::now(), is_answered: false };
    gateway.active.fetch_add(1, Ordering::Relaxed);
    let (status, body) = gateway.forward(body).await;
    request.is_answered = true;
    let class = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
    gateway.answers[class].fetch_add(1, Ordering::Relaxed);
    (status, body).into_response()
}

/// A request while it is under way; when it is dropped without an answer, its caller went away.
struct Request<'a> {
    gateway: &'a Gateway,
    begun: Instant,
    is_answered: bool,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.gateway.active.fetch_sub(1, Ordering::Relaxed);
        self.gateway.duration.record_number(self.begun.elapsed().as_secs_f64() * 1_000.0);
        if !self.is_answered {
            self.gateway.aborted.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn metrics(State(gateway): State<Arc<Gateway>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=UTF-8")], gateway.page()).into_response()
}
