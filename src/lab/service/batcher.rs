//! The queue before the model and the dynamic batcher behind it.
//!
//! The model is a timer: no processor time is burnt, and a batch takes 10 ms and half a millisecond for each of
//! its requests. So it can serve 570 requests a second, twice what a surge brings: timers run late on a busy machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::lab::exposition::{BATCH_SIZES, Recorder, VLLM_END_TO_END, VLLM_FIRST_TOKEN};

/// Requests that may wait.
pub(super) const QUEUE: usize = 256;

/// Requests in one batch at most.
pub(super) const LARGEST_BATCH: usize = 8;

/// How long a batch that is not full waits for more.
const LONGEST_GATHERING: Duration = Duration::from_millis(5);

/// What a batch takes by itself.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// What each request adds to its batch.
const REQUEST_TIME: Duration = Duration::from_micros(500);

/// Where requests wait for the model.
#[derive(Debug)]
pub(super) struct Batcher {
    queue: mpsc::Sender<Waiting>,
    /// What was counted.
    pub(super) counts: Arc<BatchCounts>,
}

/// What the batcher counted.
#[derive(Debug)]
pub(super) struct BatchCounts {
    /// Requests in the queue.
    pub(super) waiting: AtomicUsize,
    /// Requests in the batch that runs.
    pub(super) running: AtomicUsize,
    /// Requests that found the queue full.
    pub(super) rejected: AtomicU64,
    /// Requests that were served.
    pub(super) served: AtomicU64,
    /// Sizes of batches.
    pub(super) sizes: Recorder,
    /// From the queue's door to the end, in seconds.
    pub(super) end_to_end: Recorder,
    /// From the queue's door to the model's first answer, in seconds.
    pub(super) first_token: Recorder,
}

/// How long the two parts of a request took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inferred {
    /// In the queue.
    pub(super) queued: Duration,
    /// In the model.
    pub(super) inferred: Duration,
}

/// The queue is full.
#[derive(Debug)]
pub(super) struct QueueFull;

#[derive(Debug)]
struct Waiting {
    since: Instant,
    answer: oneshot::Sender<Inferred>,
}

impl Batcher {
    /// Starts the batcher; it runs until told to stop.
    pub(super) fn start(stop: CancellationToken) -> Self {
        let counts = Arc::new(BatchCounts {
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
            served: AtomicU64::new(0),
            sizes: Recorder::new(BATCH_SIZES),
            end_to_end: Recorder::new(VLLM_END_TO_END),
            first_token: Recorder::new(VLLM_FIRST_TOKEN),
        });
        let (queue, queued) = mpsc::channel(QUEUE);
        let shared = Arc::clone(&counts);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = run(queued, &shared) => {}
            }
        });
        Self { queue, counts }
    }

    /// Queues a request and waits until the model has served it; `None` when the batcher has stopped.
    pub(super) async fn infer(&self) -> Result<Option<Inferred>, QueueFull> {
        let (answer, answered) = oneshot::channel();
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(Waiting { since: Instant::now(), answer }).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.rejected.fetch_add(1, Ordering::Relaxed);
            return Err(QueueFull);
        }
        Ok(answered.await.ok())
    }
}

async fn run(mut queue: mpsc::Receiver<Waiting>, counts: &BatchCounts) {
    let mut batch = Vec::with_capacity(LARGEST_BATCH);
    while let Some(first) = queue.recv().await {
        let complete_by = Instant::now() + LONGEST_GATHERING;
        batch.push(first);
        while batch.len() < LARGEST_BATCH {
            match tokio::time::timeout_at(complete_by, queue.recv()).await {
                Ok(Some(next)) => batch.push(next),
                Ok(None) | Err(_) => break,
            }
        }
        let size = batch.len();
        counts.waiting.fetch_sub(size, Ordering::Relaxed);
        counts.running.store(size, Ordering::Relaxed);
        counts.sizes.record_number(size as f64);
        let begun = Instant::now();
        tokio::time::sleep(BATCH_TIME + REQUEST_TIME * size as u32).await;
        let inferred = begun.elapsed();
        counts.running.store(0, Ordering::Relaxed);
        for request in batch.drain(..) {
            let queued = begun - request.since;
            counts.end_to_end.record(queued + inferred);
            counts.first_token.record(queued + inferred);
            counts.served.fetch_add(1, Ordering::Relaxed);
            // Whoever asked may have gone.
            let _ = request.answer.send(Inferred { queued, inferred });
        }
    }
}
