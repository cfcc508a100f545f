//! A shard that forks again and again to save its data.
//!
//! A fork copies the page tables while nobody is answered: 20 to 75 ms a gigabyte were measured. A whole snapshot of
//! gigabytes takes five seconds and more, so a fork for each would be met by less than one request in a hundred;
//! where the child is killed each time, as it is on hosts with too little memory, whoever wants the snapshot tries
//! again at once. The values are as easy to compress as sparse vectors are: all shards of a lab share one disk.

use std::path::Path;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;

use crate::lab::cluster::Cluster;
use crate::lab::features::{USERS, on_shard};
use crate::lab::{LabError, LabOptions};

/// Size of a value.
const VALUE_BYTES: usize = 100_000;

/// Values that one script writes: some 50 ms of work.
const WRITTEN_AT_ONCE: usize = 200;

/// Writes the vectors of one user's items, and not to the replica: the lab would need twice the memory, and its links
/// would carry these bytes for minutes.
const SCRIPT: &str = "redis.set_repl(redis.REPL_NONE) \
                      local vector = string.rep('0', ARGV[1]) \
                      for i = ARGV[2], ARGV[3] do redis.call('SET', KEYS[1] .. i, vector) end";

/// How often it is asked whether a snapshot has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Writes so many bytes onto a shard's primary.
pub(super) async fn fill(
    cluster: &Cluster,
    shard: usize,
    options: &LabOptions,
    bytes: usize,
) -> Result<(), LabError> {
    let failed = |error| LabError::redis("writing data to be saved", error);
    let mut connection = cluster.primary(shard).await?;
    let users = (0..USERS).map(|user| format!("item:vectors:{{{user}}}:"));
    let prefix = on_shard(users, shard, usize::from(options.shards)).next().unwrap_or_default();
    let values = bytes / VALUE_BYTES;
    for first in (0..values).step_by(WRITTEN_AT_ONCE) {
        let last = (first + WRITTEN_AT_ONCE).min(values) - 1;
        let mut script = redis::cmd("EVAL");
        script.arg(SCRIPT).arg(1).arg(&prefix).arg(VALUE_BYTES).arg(first).arg(last);
        script.query_async::<()>(&mut connection).await.map_err(failed)?;
    }
    // No user's command: nobody should find these scripts among what the server did in its life.
    redis::cmd("CONFIG").arg("RESETSTAT").query_async::<()>(&mut connection).await.map_err(failed)
}

/// From now on the shard saves, pauses and saves again, until told to stop; each child is killed after a while if so
/// asked for.
pub(super) async fn begin(
    cluster: &Cluster,
    shard: usize,
    (killed_after, pause): (Option<Duration>, Duration),
    stop: CancellationToken,
) -> Result<(), LabError> {
    let mut connection = cluster.primary(shard).await?;
    let log = cluster.log_of_primary(shard);
    tokio::spawn(async move {
        let save_on_and_on = async {
            loop {
                save(&mut connection, killed_after, &log).await?;
                tokio::time::sleep(pause).await;
            }
        };
        let ended: RedisResult<()> = tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = save_on_and_on => ended,
        };
        // It fails only when the server is gone, and the lab with it.
        drop(ended);
    });
    Ok(())
}

/// Saves once and answers when that has ended, well or not.
async fn save(
    connection: &mut MultiplexedConnection,
    killed_after: Option<Duration>,
    log: &Path,
) -> RedisResult<()> {
    redis::cmd("BGSAVE").query_async::<()>(connection).await?;
    if let Some(killed_after) = killed_after {
        tokio::time::sleep(killed_after).await;
        if is_saving(connection).await?
            && let Some(child) = last_child(&std::fs::read_to_string(log).unwrap_or_default())
        {
            // It may have ended by itself just now.
            let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
        }
    }
    while is_saving(connection).await? {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

async fn is_saving(connection: &mut MultiplexedConnection) -> RedisResult<bool> {
    let info: String = redis::cmd("INFO").arg("persistence").query_async(connection).await?;
    Ok(info.contains("rdb_bgsave_in_progress:1"))
}

/// The child that saves, by what the server wrote into its log when it forked: nothing else tells.
fn last_child(log: &str) -> Option<rustix::process::Pid> {
    let (_, number) = log.rsplit_once("Background saving started by pid ")?;
    rustix::process::Pid::from_raw(number.lines().next()?.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_is_the_one_of_the_last_fork() {
        let log = "7:M * Background saving started by pid 12\n12:C * DB saved on disk\n\
                   7:M * Background saving started by pid 34\n7:M * Background saving terminated\n";
        assert_eq!(last_child(log).map(|child| child.as_raw_nonzero().get()), Some(34));
        assert_eq!(last_child("7:M * Ready to accept connections\n"), None);
    }
}
