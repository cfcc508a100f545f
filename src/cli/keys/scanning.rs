//! Scans of shards side by side, with their progress and their end by the user.

use std::collections::BTreeMap;

use clap::Args;
use headwater_engine::metric::Unit;
use headwater_engine::reading::{Event, Scan, ScanState};
use headwater_engine::{Subject, quantity};

use super::following::Following;
use super::heard::Heard;
use super::watched::{Turns, Watched};
use crate::app::scan_progress::{ScanProgress, cost_line, scan_line};
use crate::cli::output::{Failure, say};
use crate::cli::target::AccessArgs;
use crate::cli::{EXIT_UNAVAILABLE, interrupted};
use crate::report::Layout;
use crate::sources::redis::ScanBudget;

/// Which shards are scanned, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScanArgs {
    /// A Redis target; without one, those of the configuration
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Only this shard, such as 'redis/features#2' or '2'
    #[arg(long, value_name = "SHARD")]
    shard: Option<String>,
    /// The share of a core that the scan may use on the scanned node
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = super::share)]
    budget: f64,
    /// Go on where a scan stands when its ten minutes are over or its connection is lost, instead of ending there. What
    /// an earlier run of this command has begun cannot be gone on with: nothing is kept on disk
    #[arg(long)]
    resume: bool,
}

/// What scans have found.
pub(super) struct Scanned {
    /// The last word of each shard's scan.
    pub(super) scans: Vec<Scan>,
    /// What nodes told beside it.
    pub(super) heard: Vec<Heard>,
}

impl ScanArgs {
    /// Says what it costs, scans, and tells the progress; so many keys are kept of each ranking.
    pub(super) async fn scan(&self, keep: usize, costs: &str) -> Result<Scanned, Failure> {
        let config = self.access.resolve(&self.targets)?;
        let budget = ScanBudget { core_share: self.budget, keep: keep.max(1), ..ScanBudget::default() };
        let share = quantity::show(self.budget, Unit::Ratio);
        say(format_args!("{costs}; on a replica where one answers, at most {share} of a core (--budget)"));
        let (mut scanned, mut known) = (Scanned { scans: vec![], heard: vec![] }, vec![]);
        let mut ended_early = false;
        let mut turns = Turns::start(&config)?;
        while let Some((mut watched, topology)) = turns.next().await {
            known.extend(topology.shards.iter().map(|shard| shard.subject.to_string()));
            let wanted = |shard: &Subject| self.shard.as_deref().is_none_or(|word| is_shard(shard, word));
            let shards: Vec<_> = topology.shards.iter().filter(|shard| wanted(&shard.subject)).collect();
            let nodes: Vec<_> =
                shards.iter().flat_map(|shard| &shard.nodes).map(|node| node.subject.clone()).collect();
            watched.hear(&nodes).await;
            let shards: Vec<_> = shards.iter().map(|shard| shard.subject.clone()).collect();
            let (scans, was_interrupted) =
                scan_shards(&mut watched, &shards, budget, self.resume, interrupted).await;
            watched.target.stop();
            scanned.scans.extend(scans);
            scanned.heard.push(watched.heard);
            ended_early |= was_interrupted;
            if ended_early {
                break;
            }
        }
        if let Some(failure) = turns.failure() {
            return Err(failure);
        }
        match &self.shard {
            _ if !scanned.scans.is_empty() => Ok(scanned),
            _ if ended_early => Err(Failure::new(EXIT_UNAVAILABLE, "ended before a key was looked at")),
            Some(wanted) => {
                Err(Failure::usage(format_args!("no shard '{wanted}': use one of {}", known.join(", "))))
            }
            None => Err(Failure::new(
                EXIT_UNAVAILABLE,
                "no shard could be scanned: 'headwater doctor' says what is in the way",
            )),
        }
    }
}

impl Scanned {
    /// Fails where no key of any shard could be looked at, with the reason of each.
    pub(super) fn any_looked_at(&self) -> Result<(), Failure> {
        if self.scans.iter().any(is_looked_at) {
            return Ok(());
        }
        let reasons: Vec<String> = self.scans.iter().map(not_scanned).collect();
        Err(Failure::new(EXIT_UNAVAILABLE, format_args!("no shard could be scanned: {}", reasons.join("; "))))
    }

    /// How each scan ended and what it has cost.
    pub(super) fn tell(&self, out: &mut Layout) {
        for scan in self.scans.iter().filter(|scan| is_looked_at(scan)) {
            out.line(&scan_line(scan));
            out.line(&format!("  {}", cost_line(scan)));
        }
        for scan in self.scans.iter().filter(|scan| !is_looked_at(scan)) {
            out.line(&format!("NOT SCANNED: {}", not_scanned(scan)));
        }
    }

    /// The same for programs.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let scan = |scan: &Scan| {
            serde_json::json!({
                "shard": scan.shard, "node": scan.node, "scanned": scan.scanned, "total": scan.total, "state": scan.state,
                "commands": scan.commands, "cpu_s": scan.cpu_s, "hits": scan.hits, "orphans": scan.orphans,
            })
        };
        self.scans.iter().map(scan).collect()
    }
}

/// Whether a scan has looked at a key, or has seen that there is none.
fn is_looked_at(scan: &Scan) -> bool {
    scan.scanned > 0 || scan.state == ScanState::Complete
}

/// The shard of a scan that has looked at nothing, with the reason.
fn not_scanned(scan: &Scan) -> String {
    match &scan.state {
        ScanState::Stopped(why) => format!("{}: {why}", scan.shard),
        _ => format!("{}: ended before a key was looked at", scan.shard),
    }
}

/// Whether a user means this shard by this word.
pub(super) fn is_shard(shard: &Subject, wanted: &str) -> bool {
    shard.as_str() == wanted
        || shard.shard_index().is_some_and(|index| wanted.trim_start_matches('#') == index.to_string())
}

/// Scans shards side by side, each on a node of its own, until all are done or the user has had enough: the first
/// interruption lets the scans end and tell what they found, the second waits for nothing. Says also whether there was
/// one. What is cut short otherwise goes on if that is wanted and it has come further since it was cut short last.
async fn scan_shards<F: Future<Output = ()>>(
    watched: &mut Watched,
    shards: &[Subject],
    budget: ScanBudget,
    resume: bool,
    interruption: impl Fn() -> F,
) -> (Vec<Scan>, bool) {
    let mut following = Following::new(interruption);
    let handles: Vec<_> = shards.iter().filter_map(|shard| watched.target.scan(shard, budget)).collect();
    let count = handles.len();
    handles.into_iter().for_each(|handle| following.add(handle));
    let mut latest: BTreeMap<Subject, Scan> = BTreeMap::new();
    let mut cut_at: BTreeMap<Subject, u64> = BTreeMap::new();
    let mut progress = ScanProgress::default();
    while latest.values().filter(|scan| scan.state.has_ended()).count() < count {
        let Some(reading) = following.next(watched).await else { break };
        watched.heard.take(&reading);
        for event in reading.events {
            let Event::Scan(mut scan) = event else { continue };
            let has_come_further =
                || cut_at.get(&scan.shard).map_or(scan.scanned > 0, |before| scan.scanned > *before);
            if resume
                && !following.was_interrupted()
                && matches!(scan.state, ScanState::Stopped(_))
                && has_come_further()
                && let Some(handle) = watched.target.resume(&scan.shard, budget)
            {
                say(format_args!("{}: it goes on from there", scan_line(&scan)));
                cut_at.insert(scan.shard.clone(), scan.scanned);
                following.add(handle);
                scan.state = ScanState::Running;
            } else if let Some(line) = progress.line(&scan) {
                say(line);
            }
            latest.insert(scan.shard.clone(), scan);
        }
    }
    (latest.into_values().collect(), following.was_interrupted())
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
        let scanned = scan_shards(&mut watched, &shards, ScanBudget::default(), false, once);
        let (scans, was_interrupted) =
            tokio::time::timeout(Duration::from_secs(30), scanned).await.expect("an interrupted scan ends");
        server.resume();
        assert!(was_interrupted, "{scans:?}");
        assert!(scans.iter().all(|scan| matches!(scan.state, ScanState::Stopped(_))), "{scans:?}");
    }
}
