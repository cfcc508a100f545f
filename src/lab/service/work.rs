//! What the service does for one request, stage by stage.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::batcher::{Inferred, Unserved};
use super::door::Failure;
use super::feature_store::{Counted, StoreError};
use super::{RankRequest, STAGES, Service, lock};
use crate::lab::fault::Window;
use crate::lab::features::{ITEMS, answer_key, computed, item_key, profile_key};

/// Requests that the service works on at once; more are refused.
const IN_FLIGHT: usize = 640;

/// How long a request may wait for a Redis connection; the commands then have a timeout of their own.
const DEADLINE: Duration = Duration::from_millis(2_500);

/// What it takes to compute a feature that Redis does not have, from raw events that some other database holds.
const COMPUTING: Duration = Duration::from_millis(350);

/// Items whose features one request needs: the one it asks for and some like it.
const ITEMS_PER_REQUEST: u32 = 3;

impl Service {
    /// Answers a request, or says why not.
    pub(super) async fn answer(&self, request: &RankRequest) -> Result<(), Failure> {
        if self.in_flight.load(Ordering::Relaxed) >= IN_FLIGHT {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::BUSY);
        }
        let _in_flight = Counted::on(&self.in_flight);
        // Refused at the door: a place in the queue is what the rest of the work would be for.
        if self.batcher.is_full() {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Failure::BUSY);
        }
        if self.batcher.model().breaker.refuses() {
            return Err(Failure::NOT_PERMITTED);
        }
        self.own_stage("gateway").await;
        self.own_stage("auth").await;
        self.load_features(request).await?;
        self.own_stage("pre").await;
        let answer = lock(&self.release).keeps_answers.then(|| answer_key(request.item));
        if let Some(key) = &answer
            && self.is_kept(key).await?
        {
            self.own_stage("post").await;
            return Ok(());
        }
        let (inferred, served) = match self.batcher.infer().await {
            Ok(inferred) => (inferred, Ok(())),
            // Its time was spent all the same.
            Err(Unserved::OutOfMemory(inferred)) => {
                self.out_of_memory.fetch_add(1, Ordering::Relaxed);
                (inferred, Err(Failure::OUT_OF_MEMORY))
            }
            Err(Unserved::Refused) => return Err(Failure::BUSY),
            Err(Unserved::NotPermitted) => return Err(Failure::NOT_PERMITTED),
        };
        let Inferred { queued, inferred } = inferred;
        self.record("queue", queued);
        self.record("infer", inferred);
        served?;
        if let Some(key) = &answer {
            self.keep(key).await?;
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
}

/// The item itself, then others that this user likes: always the same for both, so that a campaign makes one item hot and
/// not its neighbours on other shards as well.
fn shown_with(request: &RankRequest, n: u32) -> u32 {
    (request.item + n * (331 + request.user)) % ITEMS
}
