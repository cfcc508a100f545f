//! The inference service: HTTP, features from Redis, a bounded queue, a dynamic batcher, `/metrics`.
//!
//! Every stage waits by a timer and burns no processor: two shared cores would slow all else.

mod batcher;
mod breaker;
mod door;
mod feature_store;
mod page;
mod release;
mod work;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::batcher::Batcher;
pub(super) use self::batcher::{LARGEST_BATCH, Pace, QUEUE};
use self::feature_store::FeatureStore;
pub(super) use self::feature_store::POOL;
pub(super) use self::release::Release;
use super::LabError;
use super::counters::ServiceCounters;
use super::exposition::{FINE, Recorder};
use super::gpu::Device;
use super::process::Started;
use super::serving::serve;

/// The stages of a request, in their order, and what each takes of itself; those without a number take what
/// their part needs.
const STAGES: &[(&str, Duration)] = &[
    ("gateway", Duration::from_millis(2)),
    ("auth", Duration::from_millis(3)),
    ("feature_load", Duration::ZERO),
    ("pre", Duration::from_millis(8)),
    ("queue", Duration::ZERO),
    ("infer", Duration::ZERO),
    ("post", Duration::from_millis(10)),
];

/// What a client asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RankRequest {
    /// For whom.
    pub(super) user: u32,
    /// Which item is ranked.
    pub(super) item: u32,
    /// Which page asks.
    pub(super) route: String,
}

/// The running service.
#[derive(Debug)]
pub(super) struct Service {
    store: FeatureStore,
    batcher: Batcher,
    started: Started,
    in_flight: AtomicUsize,
    refused: AtomicU64,
    /// Requests that the service finished although their caller had gone.
    wasted: AtomicU64,
    /// Durations by status.
    answers: Mutex<BTreeMap<u16, Arc<Recorder>>>,
    stages: BTreeMap<&'static str, Recorder>,
    /// How long it took to compute features that Redis did not have.
    computed: Recorder,
    /// Requests that asked for features.
    loads: AtomicU64,
    /// Requests for which the device had no memory.
    out_of_memory: AtomicU64,
    release: Mutex<Release>,
}

impl Service {
    /// Serves on a free loopback port until told to stop, with features from the cluster at these addresses and its model
    /// on this device.
    pub(super) async fn start(
        redis: Vec<String>,
        device: Arc<Device>,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, SocketAddr), LabError> {
        let service = Arc::new(Self {
            store: FeatureStore::new(redis),
            batcher: Batcher::start(device, stop.clone()),
            started: Started::now(),
            in_flight: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            wasted: AtomicU64::new(0),
            answers: Mutex::new(BTreeMap::from([(200, Arc::new(Recorder::new(FINE)))])),
            stages: STAGES.iter().map(|(stage, _)| (*stage, Recorder::new(FINE))).collect(),
            computed: Recorder::new(FINE),
            loads: AtomicU64::new(0),
            out_of_memory: AtomicU64::new(0),
            release: Mutex::new(Release::default()),
        });
        service
            .store
            .learn_owners()
            .await
            .map_err(|error| LabError::redis("asking who owns which slots", error))?;
        let router = Router::new()
            .route("/v1/rank", post(door::rank))
            .route("/metrics", get(metrics))
            .route("/health", get(|| async { "ok" }))
            .with_state(Arc::clone(&service));
        let address =
            serve(router, stop).await.map_err(|error| LabError::part("the inference service", error))?;
        Ok((service, address))
    }

    /// From now on it runs as this release does.
    pub(super) fn deploy(&self, release: Release) {
        *lock(&self.release) = release;
        self.batcher.set_pace(release.pace);
        self.store.set_command_timeout(release.command_timeout());
    }

    /// What was counted so far.
    pub(super) fn counters(&self) -> ServiceCounters {
        let answers: Vec<_> =
            lock(&self.answers).iter().map(|(status, recorder)| (*status, recorder.histogram())).collect();
        let mut duration = Recorder::new(FINE).histogram();
        for (_, histogram) in &answers {
            duration.merge(histogram);
        }
        let counts = &self.store.counts;
        ServiceCounters {
            answers: answers.iter().map(|(status, histogram)| (*status, histogram.count as u64)).collect(),
            duration,
            stages: self.stages.iter().map(|(stage, recorder)| (*stage, recorder.histogram())).collect(),
            redis: counts.reads.histogram(),
            pool_wait: counts.waits.histogram(),
            pool_waiting: self.store.waiting(),
            queue_waiting: self.batcher.counts.waiting.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed)
                + self.batcher.counts.rejected.load(Ordering::Relaxed),
            wasted: self.wasted.load(Ordering::Relaxed),
            big_reads: counts.big_reads.load(Ordering::Relaxed),
            computed: self.computed.histogram(),
            out_of_memory: self.out_of_memory.load(Ordering::Relaxed),
            breaker_openings: self.batcher.model().breaker.openings.load(Ordering::Relaxed),
            gpu: self.device().counters(),
        }
    }

    /// What its model runs on.
    pub(super) fn device(&self) -> &Device {
        &self.batcher.model().device
    }

    fn record_answer(&self, status: u16, duration: Duration) {
        let mut answers = lock(&self.answers);
        let recorder = answers.entry(status).or_insert_with(|| Arc::new(Recorder::new(FINE)));
        recorder.record(duration);
    }
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], service.page()).into_response()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
