//! The inference service: HTTP, features from Redis, a bounded queue, a dynamic batcher, `/metrics`.
//!
//! Every stage waits by a timer and burns no processor: two shared cores would slow all else.

mod batcher;
mod door;
mod feature_store;
mod page;
mod release;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::batcher::Batcher;
pub(super) use self::batcher::{Pace, QUEUE};
pub(super) use self::feature_store::POOL;
use self::feature_store::{Counted, FeatureStore, StoreError};
pub(super) use self::release::Release;
use super::LabError;
use super::counters::ServiceCounters;
use super::exposition::{FINE, Recorder};
use super::fault::Window;
use super::features::{ITEMS, answer_key, computed, item_key, profile_key};
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

/// Requests that the service works on at once; more are refused.
const IN_FLIGHT: usize = 640;

/// How long a request may wait for a Redis connection; the commands then have a timeout of their own.
const DEADLINE: Duration = Duration::from_millis(2_500);

/// What it takes to compute a feature that Redis does not have, from raw events that some other database holds.
const COMPUTING: Duration = Duration::from_millis(350);

/// Items whose features one request needs: the one it asks for and some like it.
const ITEMS_PER_REQUEST: u32 = 3;

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
    release: Mutex<Release>,
}

impl Service {
    /// Serves on a free loopback port until told to stop, with features from the cluster at these addresses.
    pub(super) async fn start(
        redis: Vec<String>,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, SocketAddr), LabError> {
        let service = Arc::new(Self {
            store: FeatureStore::new(redis),
            batcher: Batcher::start(stop.clone()),
            started: Started::now(),
            in_flight: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            wasted: AtomicU64::new(0),
            answers: Mutex::new(BTreeMap::from([(200, Arc::new(Recorder::new(FINE)))])),
            stages: STAGES.iter().map(|(stage, _)| (*stage, Recorder::new(FINE))).collect(),
            computed: Recorder::new(FINE),
            loads: AtomicU64::new(0),
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
        }
    }

    async fn answer(&self, request: &RankRequest) -> Result<(), StatusCode> {
        if self.in_flight.load(Ordering::Relaxed) >= IN_FLIGHT {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        let _in_flight = Counted::on(&self.in_flight);
        // Refused at the door: a place in the queue is what the rest of the work would be for.
        if self.batcher.is_full() {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        self.own_stage("gateway").await;
        self.own_stage("auth").await;
        self.load_features(request).await.map_err(status_of)?;
        self.own_stage("pre").await;
        let answer = lock(&self.release).keeps_answers.then(|| answer_key(request.item));
        if let Some(key) = &answer
            && self.is_kept(key).await.map_err(status_of)?
        {
            self.own_stage("post").await;
            return Ok(());
        }
        let inferred = match self.batcher.infer().await {
            Ok(Some(inferred)) => inferred,
            Ok(None) | Err(_) => return Err(StatusCode::SERVICE_UNAVAILABLE),
        };
        self.record("queue", inferred.queued);
        self.record("infer", inferred.inferred);
        if let Some(key) = &answer {
            self.keep(key).await.map_err(status_of)?;
        }
        self.own_stage("post").await;
        Ok(())
    }

    async fn is_kept(&self, key: &str) -> Result<bool, StoreError> {
        Ok(self.store.borrow(Instant::now() + DEADLINE).await?.get(key).await?.is_some())
    }

    async fn load_features(&self, request: &RankRequest) -> Result<(), StoreError> {
        let begun = Instant::now();
        let loaded = async {
            for key in self.read_features(request, begun + DEADLINE).await? {
                self.compute(&key).await?;
            }
            Ok(())
        };
        let loaded = loaded.await;
        self.record("feature_load", begun.elapsed());
        loaded
    }

    /// Reads the features and answers the keys of those that are not there.
    async fn read_features(
        &self,
        request: &RankRequest,
        deadline: Instant,
    ) -> Result<Vec<String>, StoreError> {
        let release = *lock(&self.release);
        let number = self.loads.fetch_add(1, Ordering::Relaxed);
        let items = (0..ITEMS_PER_REQUEST).map(|n| item_key(shown_with(request, n)));
        let keys: Vec<_> = std::iter::once(profile_key(request.user)).chain(items).collect();
        let mut redis = self.store.borrow(deadline).await?;
        let mut missing = vec![];
        if release.reads_together(number) {
            redis.get_together(&keys).await?;
        } else {
            for key in keys {
                if redis.get(&key).await?.is_none() {
                    missing.push(key);
                }
            }
        }
        if !release.held.is_zero() {
            tokio::time::sleep(release.held).await;
        }
        Ok(missing)
    }

    /// Computes a feature and writes it where it was missed.
    async fn compute(&self, key: &str) -> Result<(), StoreError> {
        let begun = Instant::now();
        tokio::time::sleep(COMPUTING).await;
        self.computed.record(begun.elapsed());
        self.keep(key).await
    }

    /// Writes what was computed where it was missed.
    async fn keep(&self, key: &str) -> Result<(), StoreError> {
        let kept_until = lock(&self.release).kept_until.map(Window::end_now);
        self.store.borrow(Instant::now() + DEADLINE).await?.set(key, computed(key), kept_until).await
    }

    async fn own_stage(&self, stage: &'static str) {
        let begun = Instant::now();
        let usual =
            STAGES.iter().find(|(name, _)| *name == stage).map_or(Duration::ZERO, |(_, usual)| *usual);
        let more = lock(&self.release).delay_of(stage);
        tokio::time::sleep(usual + more).await;
        self.record(stage, begun.elapsed());
    }

    fn record(&self, stage: &'static str, duration: Duration) {
        if let Some(recorder) = self.stages.get(stage) {
            recorder.record(duration);
        }
    }

    fn record_answer(&self, status: u16, duration: Duration) {
        let mut answers = lock(&self.answers);
        let recorder = answers.entry(status).or_insert_with(|| Arc::new(Recorder::new(FINE)));
        recorder.record(duration);
    }
}

/// What a caller is told when a value could not be read.
fn status_of(error: StoreError) -> StatusCode {
    match error {
        StoreError::PoolTimeout | StoreError::CommandTimeout => StatusCode::GATEWAY_TIMEOUT,
        StoreError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The item itself, then others that this user likes: always the same for both, so that a campaign makes one item hot and
/// not its neighbours on other shards as well.
fn shown_with(request: &RankRequest, n: u32) -> u32 {
    (request.item + n * (331 + request.user)) % ITEMS
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], service.page()).into_response()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
