//! Keys that were all written with the end of a window as their expiry, as if it were a cache of "until the next run".
//!
//! Redis expires keys in its only thread: some 300 000 a second on one core, a quarter to a half of its time, in
//! pieces of up to 25 ms in which nobody is answered. That alone would be felt little; but the features of the shard
//! are among the keys, and whoever misses one has to compute it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::aio::MultiplexedConnection;

use crate::lab::cluster::Cluster;
use crate::lab::features::{USERS, answers_of_shard, keys_of_shard, on_shard};
use crate::lab::service::Pace;
use crate::lab::{LabError, LabOptions};

/// How long writing the keys may take: the first window ends so much later, plus the time until the fault.
const LONGEST_WRITING: Duration = Duration::from_secs(8);

/// Keys that one script writes: some 20 ms of work.
const WRITTEN_AT_ONCE: usize = 5_000;

/// Writes what a service of recommendations keeps of a user's last visits, all with one expiry. A million such keys
/// would keep a client busy for longer than the server.
const SCRIPT: &str = "for i = 1, ARGV[1] do redis.call('SET', KEYS[1] .. i, ARGV[2], 'PXAT', ARGV[3]) end";

/// A visit.
const VISIT: &str = "item:feat:000;t=1764460800";

/// What a model can answer that is spared most questions by a cache of answers, as a share of what users ask.
const CAPACITY_BEHIND_CACHE: f64 = 0.2;

/// The pace of that model.
pub(super) fn pace(rate: u32) -> Pace {
    Pace::of(CAPACITY_BEHIND_CACHE * f64::from(rate), 0.5)
}

/// Windows of equal length, at whose ends keys expire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::lab) struct Window {
    /// The first end, since the Unix epoch.
    first: Duration,
    /// The length.
    every: Duration,
}

impl Window {
    /// The end of the window in which this moment is, in milliseconds since the Unix epoch.
    fn end(self, now: Duration) -> u64 {
        let passed = now.checked_sub(self.first);
        let windows = passed.map_or(0, |passed| passed.as_millis() / self.every.as_millis() + 1);
        (self.first.as_millis() + windows * self.every.as_millis()) as u64
    }

    /// The end of the window of now, in milliseconds since the Unix epoch.
    pub(in crate::lab) fn end_now(self) -> u64 {
        self.end(since_epoch())
    }

    /// Waits until so long before the end of the first window.
    pub(in crate::lab) async fn until(self, before: Duration) {
        tokio::time::sleep(self.first.saturating_sub(since_epoch() + before)).await;
    }

    /// Waits for the end of the first window.
    pub(super) async fn first_end(self) {
        self.until(Duration::ZERO).await;
    }
}

/// Writes the keys of the first windows onto a shard and gives its features the first window's end as their expiry.
pub(super) async fn write(
    cluster: &Cluster,
    shard: usize,
    options: &LabOptions,
    (keys, windows, every, answers): (usize, u32, Duration, bool),
) -> Result<Window, LabError> {
    let shards = usize::from(options.shards);
    let window = Window { first: since_epoch() + LONGEST_WRITING + options.at, every };
    let failed = |error| LabError::redis("writing keys that expire together", error);
    let mut connection = cluster.primary(shard).await?;
    let mut pipeline = redis::pipe();
    let served: Vec<_> = if answers {
        answers_of_shard(shard, shards).collect()
    } else {
        keys_of_shard(shard, shards).collect()
    };
    for key in served {
        pipeline.cmd("PEXPIREAT").arg(key).arg(window.first.as_millis() as u64).ignore();
    }
    pipeline.query_async::<()>(&mut connection).await.map_err(failed)?;
    let mut prefixes = visits_of_shard(shard, shards);
    for number in 0..windows {
        let end = (window.first + number * every).as_millis() as u64;
        for prefix in prefixes.by_ref().take((keys >> number) / WRITTEN_AT_ONCE) {
            write_some(&mut connection, &prefix, end).await.map_err(failed)?;
        }
    }
    // Fewer than asked is no error: a replica that lags has its data a moment later.
    redis::cmd("WAIT").arg(1).arg(5_000).query_async::<u32>(&mut connection).await.map_err(failed)?;
    // No user's command: nobody should find scripts of 20 ms among what the server did in its life.
    redis::cmd("CONFIG").arg("RESETSTAT").query_async::<()>(&mut connection).await.map_err(failed)?;
    Ok(window)
}

async fn write_some(
    connection: &mut MultiplexedConnection,
    prefix: &str,
    end: u64,
) -> redis::RedisResult<()> {
    let mut script = redis::cmd("EVAL");
    script.arg(SCRIPT).arg(1).arg(prefix).arg(WRITTEN_AT_ONCE).arg(VISIT).arg(end);
    script.query_async(connection).await
}

/// How the keys of users' visits begin, for users whose slot is on the shard.
fn visits_of_shard(shard: usize, shards: usize) -> impl Iterator<Item = String> {
    on_shard((0..USERS).map(|user| format!("user:visit:{{{user}}}:")), shard, shards)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_belongs_to_the_window_that_ends_after_it() {
        let window = Window { first: Duration::from_secs(100), every: Duration::from_secs(24) };
        let end = |milliseconds| window.end(Duration::from_millis(milliseconds));
        assert_eq!(
            [end(1), end(99_999), end(100_000), end(123_999), end(124_000)],
            [100_000, 100_000, 124_000, 124_000, 148_000]
        );
    }

    #[test]
    fn every_shard_has_users_enough_for_all_windows() {
        for shards in 3..=6 {
            assert!((0..shards).all(|shard| visits_of_shard(shard, shards).count() >= 80 + 40 + 20));
        }
    }
}
