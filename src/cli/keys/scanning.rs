//! Scans of shards side by side, with their progress and their end by the user.

use std::collections::BTreeMap;

use headwater_engine::Subject;
use headwater_engine::reading::{Event, Scan};
use tokio_util::sync::CancellationToken;

use super::watched::Watched;
use crate::app::scan_progress::ScanProgress;
use crate::cli::output::say;
use crate::sources::redis::ScanBudget;

/// Whether a user means this shard by this word.
pub(super) fn is_shard(shard: &Subject, wanted: &str) -> bool {
    shard.as_str() == wanted
        || shard.shard_index().is_some_and(|index| wanted.trim_start_matches('#') == index.to_string())
}

/// Scans shards side by side, each on a node of its own, until all are done or the user has had enough: the first
/// interruption lets the scans end and tell what they found, the second waits for nothing. Says also whether there was
/// one.
pub(super) async fn scan_shards<F: Future<Output = ()>>(
    mut watched: Watched,
    shards: &[Subject],
    budget: ScanBudget,
    interruption: impl Fn() -> F,
) -> (Vec<Scan>, bool) {
    let handles: Vec<_> = shards.iter().filter_map(|shard| watched.target.scan(shard, budget)).collect();
    let (cancels, tasks): (Vec<_>, Vec<_>) =
        handles.into_iter().map(|handle| (handle.cancel, handle.task)).unzip();
    let count = tasks.len();
    // A scan whose task has died tells nothing more.
    let mut all_over = std::pin::pin!(futures::future::join_all(tasks));
    let mut latest: BTreeMap<Subject, Scan> = BTreeMap::new();
    let mut progress = ScanProgress::default();
    let mut ended = std::pin::pin!(interruption());
    let mut was_interrupted = false;
    while latest.values().filter(|scan| scan.state.has_ended()).count() < count {
        let reading = tokio::select! {
            biased;
            () = &mut ended => {
                if was_interrupted {
                    break;
                }
                was_interrupted = true;
                ended.set(interruption());
                cancels.iter().for_each(CancellationToken::cancel);
                continue;
            }
            // What the scans have told comes before the news that they are over.
            reading = watched.readings.recv() => reading,
            _ = &mut all_over => break,
        };
        let Some(reading) = reading else { break };
        for event in reading.events {
            let Event::Scan(scan) = event else { continue };
            if let Some(line) = progress.line(&scan) {
                say(line);
            }
            latest.insert(scan.shard.clone(), scan);
        }
    }
    watched.target.stop();
    (latest.into_values().collect(), was_interrupted)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use headwater_engine::reading::ScanState;
    use headwater_test_support::Server;

    use super::*;

    #[tokio::test]
    async fn an_interruption_ends_a_scan_that_cannot_connect() {
        let server = Server::start(&[]);
        let target = format!("redis://{}", server.address());
        let config =
            crate::config::from_targets(&[target], &crate::config::TargetOptions::default()).unwrap();
        let mut watched = Watched::start(&config).unwrap().remove(0);
        let shard = watched.wait_for_topology().await.unwrap().shards[0].subject.clone();
        server.pause();
        let was_asked = AtomicBool::new(false);
        let once = || {
            let is_first = !was_asked.swap(true, Ordering::Relaxed);
            async move {
                if !is_first {
                    std::future::pending::<()>().await;
                }
            }
        };
        // Long before the scan's own patience of a minute.
        let shards = [shard];
        let scanned = scan_shards(watched, &shards, ScanBudget::default(), once);
        let (scans, was_interrupted) =
            tokio::time::timeout(Duration::from_secs(30), scanned).await.expect("an interrupted scan ends");
        server.resume();
        assert!(was_interrupted, "{scans:?}");
        assert!(scans.iter().all(|scan| matches!(scan.state, ScanState::Stopped(_))), "{scans:?}");
    }
}
