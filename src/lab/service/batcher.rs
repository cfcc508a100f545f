//! The queue before the model and the dynamic batcher behind it.
//!
//! The model is a timer: no processor time is burnt, and a batch usually takes 10 ms and half a millisecond for each
//! of its requests. So it can serve 570 requests a second, twice what a surge brings: timers run late on a busy
//! machine. A release may have a model of another pace.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lock;
use crate::lab::exposition::{BATCH_SIZES, Recorder, VLLM_END_TO_END, VLLM_FIRST_TOKEN};

/// Requests that may wait.
pub(in crate::lab) const QUEUE: usize = 256;

/// Requests in one batch at most.
pub(super) const LARGEST_BATCH: usize = 8;

/// How long a batch that is not full waits for more.
const LONGEST_GATHERING: Duration = Duration::from_millis(5);

/// How fast a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lab) struct Pace {
    /// What a batch takes by itself.
    pub(in crate::lab) batch: Duration,
    /// What each request adds to its batch.
    pub(in crate::lab) request: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { batch: Duration::from_millis(10), request: Duration::from_micros(500) }
    }
}

impl Pace {
    /// The pace of a model that serves so many requests a second in full batches, where the batch takes this share of
    /// the time and its requests the rest.
    pub(in crate::lab) fn of(per_second: f64, share_of_batch: f64) -> Self {
        let full = LARGEST_BATCH as f64 / per_second;
        Self {
            batch: Duration::from_secs_f64(full * share_of_batch),
            request: Duration::from_secs_f64((1.0 - share_of_batch) / per_second),
        }
    }

    /// A pace this many times as slow.
    pub(in crate::lab) fn slower(self, times: f64) -> Self {
        Self { batch: self.batch.mul_f64(times), request: self.request.mul_f64(times) }
    }
}

/// Where requests wait for the model.
#[derive(Debug)]
pub(super) struct Batcher {
    queue: mpsc::Sender<Waiting>,
    pace: Arc<Mutex<Pace>>,
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
        let pace = Arc::new(Mutex::new(Pace::default()));
        let running = Arc::clone(&pace);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = run(queued, &shared, &running) => {}
            }
        });
        Self { queue, pace, counts }
    }

    /// From the next batch on the model is this fast.
    pub(super) fn set_pace(&self, pace: Pace) {
        *lock(&self.pace) = pace;
    }

    /// Whether the queue has no place left.
    pub(super) fn is_full(&self) -> bool {
        self.queue.capacity() == 0
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

async fn run(mut queue: mpsc::Receiver<Waiting>, counts: &BatchCounts, pace: &Mutex<Pace>) {
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
        let pace = *lock(pace);
        tokio::time::sleep(pace.batch + pace.request * size as u32).await;
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
