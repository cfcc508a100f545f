//! The queue before the model and the dynamic batcher behind it.
//!
//! The model is a timer: no processor time is burnt, and a batch usually takes 10 ms and half a millisecond for each
//! of its requests. So it can serve 570 requests a second, twice what a surge brings: timers run late on a busy
//! machine. A release may have a model of another pace. Where the memory or the host of its device fails it, batches wait
//! or fail for that.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::breaker::Breaker;
use super::lock;
use crate::lab::exposition::{BATCH_SIZES, Recorder, VLLM_END_TO_END, VLLM_FIRST_TOKEN};
use crate::lab::gpu::Device;

/// Requests that may wait.
pub(in crate::lab) const QUEUE: usize = 256;

/// Requests in one batch at most.
pub(in crate::lab) const LARGEST_BATCH: usize = 8;

/// How long a batch that is not full waits for more.
const LONGEST_GATHERING: Duration = Duration::from_millis(5);

/// How long a batch waits for memory to come free, and how often it asks for it meanwhile.
const MEMORY_PATIENCE: Duration = Duration::from_secs(1);
const MEMORY_ASKED_EVERY: Duration = Duration::from_millis(50);

/// Kernels that a batch launches unless a release says otherwise.
const LAUNCHES: u32 = 1_000;

/// How fast a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lab) struct Pace {
    /// What a batch takes by itself.
    pub(in crate::lab) batch: Duration,
    /// What each request adds to its batch.
    pub(in crate::lab) request: Duration,
    /// Kernels that the host launches for a batch, one after the other.
    pub(in crate::lab) launches: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { batch: Duration::from_millis(10), request: Duration::from_micros(500), launches: LAUNCHES }
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
            launches: LAUNCHES,
        }
    }

    /// A pace this many times as slow.
    pub(in crate::lab) fn slower(self, times: f64) -> Self {
        Self { batch: self.batch.mul_f64(times), request: self.request.mul_f64(times), ..self }
    }
}

/// Where requests wait for the model.
#[derive(Debug)]
pub(super) struct Batcher {
    queue: mpsc::Sender<Waiting>,
    model: Arc<Model>,
    /// What was counted.
    pub(super) counts: Arc<BatchCounts>,
}

/// What serves a batch.
#[derive(Debug)]
pub(super) struct Model {
    pace: Mutex<Pace>,
    /// What it runs on.
    pub(super) device: Arc<Device>,
    /// What guards it.
    pub(super) breaker: Breaker,
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

/// Why the model did not serve a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unserved {
    /// The queue is full, or the batcher has stopped.
    Refused,
    /// The breaker is open.
    NotPermitted,
    /// No memory came free in time.
    OutOfMemory(Inferred),
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    answer: oneshot::Sender<Result<Inferred, Unserved>>,
}

impl Batcher {
    /// Starts the batcher of a model on this device; it runs until told to stop.
    pub(super) fn start(device: Arc<Device>, stop: CancellationToken) -> Self {
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
        let pace = Mutex::new(Pace::default());
        let model = Arc::new(Model { pace, device, breaker: Breaker::default() });
        let running = Arc::clone(&model);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = run(queued, &shared, &running) => {}
            }
        });
        Self { queue, model, counts }
    }

    /// What serves its batches.
    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// From the next batch on the model is this fast.
    pub(super) fn set_pace(&self, pace: Pace) {
        *lock(&self.model.pace) = pace;
    }

    /// Whether the queue has no place left.
    pub(super) fn is_full(&self) -> bool {
        self.queue.capacity() == 0
    }

    /// Queues a request and waits until the model has served it or will not.
    pub(super) async fn infer(&self) -> Result<Inferred, Unserved> {
        let (answer, answered) = oneshot::channel();
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(Waiting { since: Instant::now(), answer }).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.rejected.fetch_add(1, Ordering::Relaxed);
            return Err(Unserved::Refused);
        }
        answered.await.unwrap_or(Err(Unserved::Refused))
    }
}

async fn run(mut queue: mpsc::Receiver<Waiting>, counts: &BatchCounts, model: &Model) {
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
        let begun = Instant::now();
        let outcome = model.serve(size).await;
        let inferred = begun.elapsed();
        counts.running.store(0, Ordering::Relaxed);
        if !matches!(outcome, Outcome::NotPermitted) {
            counts.sizes.record_number(size as f64);
        }
        for request in batch.drain(..) {
            let inferred = Inferred { queued: begun - request.since, inferred };
            let answer = match outcome {
                Outcome::Served => {
                    counts.end_to_end.record(inferred.queued + inferred.inferred);
                    counts.first_token.record(inferred.queued + inferred.inferred);
                    counts.served.fetch_add(1, Ordering::Relaxed);
                    Ok(inferred)
                }
                Outcome::NotPermitted => Err(Unserved::NotPermitted),
                Outcome::OutOfMemory => Err(Unserved::OutOfMemory(inferred)),
            };
            // Whoever asked may have gone.
            let _ = request.answer.send(answer);
        }
    }
}

/// What became of a batch.
#[derive(Clone, Copy)]
enum Outcome {
    Served,
    NotPermitted,
    OutOfMemory,
}

impl Model {
    /// Serves a batch of this size.
    async fn serve(&self, size: usize) -> Outcome {
        if !self.breaker.lets_through(size as u64) {
            return Outcome::NotPermitted;
        }
        let give_up = Instant::now() + MEMORY_PATIENCE;
        while !self.device.allocate(size as u32) {
            if Instant::now() >= give_up {
                self.breaker.ended(size, false);
                return Outcome::OutOfMemory;
            }
            tokio::time::sleep(MEMORY_ASKED_EVERY).await;
        }
        let pace = *lock(&self.pace);
        tokio::time::sleep(self.device.begin(pace, size as u32)).await;
        self.device.end();
        self.breaker.ended(size, true);
        Outcome::Served
    }
}
