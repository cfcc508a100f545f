//! The door of the service: a request until it is answered, and what becomes of it when its caller goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::feature_store::StoreError;
use super::{RankRequest, Service};

/// The status of a request whose caller went away, as proxies count it.
const CALLER_GONE: u16 = 499;

/// What a caller is told instead of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    status: StatusCode,
    said: &'static str,
}

impl Failure {
    /// The service or its queue is full.
    pub(super) const BUSY: Self = Self { status: StatusCode::SERVICE_UNAVAILABLE, said: "busy" };
    /// The breaker before the model is open.
    pub(super) const NOT_PERMITTED: Self =
        Self { status: StatusCode::SERVICE_UNAVAILABLE, said: "the model fails: its breaker is open" };
    /// The device has no memory left.
    pub(super) const OUT_OF_MEMORY: Self =
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, said: "GPU_MEMORY_FULL" };
    /// It panicked, or the lab ends.
    const BROKEN: Self = Self { status: StatusCode::INTERNAL_SERVER_ERROR, said: "broken" };
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::PoolTimeout | StoreError::CommandTimeout => StatusCode::GATEWAY_TIMEOUT,
            StoreError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, said: "no features" }
    }
}

pub(super) async fn rank(State(service): State<Arc<Service>>, Json(request): Json<RankRequest>) -> Response {
    let mut asked = Asked::new(&service);
    let (work, item) = (asked.work(), request.item);
    // A task of its own: like most services it does not notice that a caller goes away, and works on.
    let outcome = tokio::spawn(async move { work.answer(&request).await }).await;
    let outcome = outcome.unwrap_or(Err(Failure::BROKEN));
    asked.answered(outcome.err().map_or(StatusCode::OK, |failure| failure.status));
    match outcome {
        Ok(()) => Json(serde_json::json!({ "item": item, "score": 0.5 })).into_response(),
        Err(Failure { status: StatusCode::SERVICE_UNAVAILABLE, said }) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], said).into_response()
        }
        Err(Failure { status, said }) => (status, said).into_response(),
    }
}

/// A request until it is answered. Its caller may go away before: then it is dropped, and counted as what proxies
/// call 499.
struct Asked {
    service: Arc<Service>,
    begun: Instant,
    is_answered: bool,
    is_gone: Arc<AtomicBool>,
}

/// The work for a request, which ends whether or not anybody waits for it.
struct Work {
    service: Arc<Service>,
    is_gone: Arc<AtomicBool>,
}

impl Asked {
    fn new(service: &Arc<Service>) -> Self {
        let is_gone = Arc::new(AtomicBool::new(false));
        Self { service: Arc::clone(service), begun: Instant::now(), is_answered: false, is_gone }
    }

    fn work(&self) -> Work {
        Work { service: Arc::clone(&self.service), is_gone: Arc::clone(&self.is_gone) }
    }

    fn answered(&mut self, status: StatusCode) {
        self.is_answered = true;
        self.service.record_answer(status.as_u16(), self.begun.elapsed());
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.is_answered {
            self.is_gone.store(true, Ordering::Relaxed);
            self.service.record_answer(CALLER_GONE, self.begun.elapsed());
        }
    }
}

impl Work {
    async fn answer(&self, request: &RankRequest) -> Result<(), Failure> {
        let outcome = self.service.answer(request).await;
        if self.is_gone.load(Ordering::Relaxed) {
            self.service.wasted.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }
}
