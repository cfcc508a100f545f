//! How the service reads features: a small Redis Cluster client with a pool of eight.
//!
//! The pool has the settings of many a real service: eight cluster connections, each of which has one connection to
//! every node that it was used for; no limit on the wait for one but the request's own deadline; two seconds for a
//! command. A request borrows one for all its reads.

mod slots;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::slot::{SLOTS, slot_of};
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult, ServerErrorKind};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use self::slots::owners_by;
use super::release::COMMAND_TIMEOUT;
use crate::lab::exposition::{FINE, Recorder};

/// Cluster connections in all.
pub(in crate::lab) const POOL: usize = 8;

/// From this size on a value counts as big.
const BIG: usize = 512 * 1024;

/// `MOVED` answers that one command follows before it gives up.
const LONGEST_WAY: usize = 3;

/// Reads values from the owners of their slots.
#[derive(Debug)]
pub(super) struct FeatureStore {
    seeds: Vec<String>,
    /// Owner of each slot range, by the range's last slot.
    owners: Mutex<BTreeMap<u16, String>>,
    permits: Semaphore,
    idle: Mutex<Vec<ClusterConnection>>,
    waiting: AtomicUsize,
    /// How long a command may take, in milliseconds.
    command_timeout_ms: AtomicU64,
    /// What was counted.
    pub(super) counts: StoreCounts,
}

/// One cluster connection: a connection to each node that it was used for.
type ClusterConnection = HashMap<String, MultiplexedConnection>;

/// A cluster connection while a request has it.
#[derive(Debug)]
pub(super) struct Borrowed<'a> {
    store: &'a FeatureStore,
    connection: ClusterConnection,
    _permit: SemaphorePermit<'a>,
}

/// What the store counted.
#[derive(Debug)]
pub(super) struct StoreCounts {
    /// Time of reads in seconds, without the wait for a connection.
    pub(super) reads: Recorder,
    /// The same of reads of many keys at once.
    pub(super) reads_together: Recorder,
    /// The same of writes.
    pub(super) writes: Recorder,
    /// Time of the wait for a connection in seconds.
    pub(super) waits: Recorder,
    /// Values of [`BIG`] and more.
    pub(super) big_reads: AtomicU64,
    /// Commands that were not answered in time.
    pub(super) timeouts: AtomicU64,
    /// Requests that waited for a connection until their deadline.
    pub(super) pool_timeouts: AtomicU64,
}

/// Why a value could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The request's deadline passed while it waited for a connection.
    #[error("no Redis connection became free in time")]
    PoolTimeout,
    /// The command was not answered in time.
    #[error("Redis command timed out")]
    CommandTimeout,
    /// Redis refused, or the connection broke.
    #[error("Redis failed: {0}")]
    Failed(#[from] RedisError),
}

impl FeatureStore {
    /// A store that learns the cluster from these addresses.
    pub(super) fn new(seeds: Vec<String>) -> Self {
        Self {
            seeds,
            owners: Mutex::new(BTreeMap::new()),
            permits: Semaphore::new(POOL),
            idle: Mutex::new(vec![]),
            waiting: AtomicUsize::new(0),
            command_timeout_ms: AtomicU64::new(COMMAND_TIMEOUT.as_millis() as u64),
            counts: StoreCounts {
                reads: Recorder::new(FINE),
                reads_together: Recorder::new(FINE),
                writes: Recorder::new(FINE),
                waits: Recorder::new(FINE),
                big_reads: AtomicU64::new(0),
                timeouts: AtomicU64::new(0),
                pool_timeouts: AtomicU64::new(0),
            },
        }
    }

    /// From now on a command may take so long.
    pub(super) fn set_command_timeout(&self, timeout: Duration) {
        let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.command_timeout_ms.store(ms, Ordering::Relaxed);
    }

    fn command_timeout(&self) -> Duration {
        Duration::from_millis(self.command_timeout_ms.load(Ordering::Relaxed))
    }

    /// Asks the cluster who owns which slots.
    pub(super) async fn learn_owners(&self) -> RedisResult<()> {
        let mut last = None;
        for seed in &self.seeds {
            match owners_by(seed).await {
                Ok(owners) => {
                    *lock(&self.owners) = owners;
                    return Ok(());
                }
                Err(error) => last = Some(error),
            }
        }
        last.map_or(Ok(()), Err)
    }

    /// Requests that wait for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Cluster connections in use.
    pub(super) fn used(&self) -> usize {
        POOL - self.permits.available_permits()
    }

    /// Cluster connections that are open and not in use.
    pub(super) fn idle(&self) -> usize {
        lock(&self.idle).len()
    }

    /// Borrows a cluster connection; waits for one until the deadline.
    pub(super) async fn borrow(&self, deadline: Instant) -> Result<Borrowed<'_>, StoreError> {
        let queued = Instant::now();
        let permit = {
            let _waiting = Counted::on(&self.waiting);
            tokio::time::timeout_at(deadline, self.permits.acquire()).await
        };
        self.counts.waits.record(queued.elapsed());
        // The semaphore is never closed, so the only way to have no permit is the deadline.
        let Ok(Ok(permit)) = permit else {
            self.counts.pool_timeouts.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::PoolTimeout);
        };
        let connection = lock(&self.idle).pop().unwrap_or_default();
        Ok(Borrowed { store: self, connection, _permit: permit })
    }

    fn owner(&self, key: &str) -> String {
        let owners = lock(&self.owners);
        let owner = owners.range(slot_of(key.as_bytes())..SLOTS).next();
        owner.map_or_else(|| self.seeds.first().cloned().unwrap_or_default(), |(_, node)| node.clone())
    }
}

impl Borrowed<'_> {
    /// Reads a value; answers its length, or `None` when there is no such key.
    pub(super) async fn get(&mut self, key: &str) -> Result<Option<usize>, StoreError> {
        let value: Option<Vec<u8>> =
            self.timed(key, redis::cmd("GET").arg(key), |counts| &counts.reads).await?;
        if value.as_ref().is_some_and(|value| value.len() >= BIG) {
            self.store.counts.big_reads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(value.map(|value| value.len()))
    }

    /// Reads all values with one command, asked of the owner of the first key.
    pub(super) async fn get_together(&mut self, keys: &[String]) -> Result<(), StoreError> {
        let Some(first) = keys.first() else { return Ok(()) };
        let mut command = redis::cmd("MGET");
        command.arg(keys);
        let _: Vec<Option<Vec<u8>>> = self.timed(first, &command, |counts| &counts.reads_together).await?;
        Ok(())
    }

    /// Writes a value that expires at this moment, in milliseconds since the Unix epoch, or never.
    pub(super) async fn set(
        &mut self,
        key: &str,
        value: Vec<u8>,
        expires: Option<u64>,
    ) -> Result<(), StoreError> {
        let mut command = redis::cmd("SET");
        command.arg(key).arg(value);
        if let Some(expires) = expires {
            command.arg("PXAT").arg(expires);
        }
        self.timed(key, &command, |counts| &counts.writes).await
    }

    async fn timed<T: redis::FromRedisValue>(
        &mut self,
        key: &str,
        command: &redis::Cmd,
        recorder: fn(&StoreCounts) -> &Recorder,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let answer = tokio::time::timeout(self.store.command_timeout(), self.ask(key, command)).await;
        let counts = &self.store.counts;
        recorder(counts).record(begun.elapsed());
        let value = answer.map_err(|_| {
            counts.timeouts.fetch_add(1, Ordering::Relaxed);
            StoreError::CommandTimeout
        })??;
        Ok(value)
    }

    async fn ask<T: redis::FromRedisValue>(&mut self, key: &str, command: &redis::Cmd) -> RedisResult<T> {
        let mut node = self.store.owner(key);
        for _ in 0..LONGEST_WAY {
            // Taken out while it is used: a command that is given up or fails loses its connection, because a late
            // answer would come to the next one's question.
            let mut connection = match self.connection.remove(&node) {
                Some(connection) => connection,
                None => connect(&node).await?,
            };
            let answer = command.query_async(&mut connection).await;
            let moved = match answer {
                Err(error) if error.kind() == redis::ErrorKind::Server(ServerErrorKind::Moved) => error,
                Err(error) => {
                    // A refusal is an answer: the connection is as good as before.
                    if matches!(error.kind(), redis::ErrorKind::Server(_)) {
                        self.connection.insert(node, connection);
                    }
                    return Err(error);
                }
                Ok(value) => {
                    self.connection.insert(node, connection);
                    return Ok(value);
                }
            };
            self.connection.insert(node, connection);
            node = moved.redirect_node().map_or_else(String::new, |(node, _)| node.to_owned());
            self.store.learn_owners().await?;
        }
        Err((redis::ErrorKind::Client, "the slot's owner keeps changing").into())
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        lock(&self.store.idle).push(std::mem::take(&mut self.connection));
    }
}

async fn connect(node: &str) -> RedisResult<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{node}"))?;
    // The store has its own clock for connecting and for the command together.
    let settings = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&settings).await
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one while it lives.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// Counts one more.
    pub(super) fn on(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
