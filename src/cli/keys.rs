//! `headwater keys`: where keys live, and which are big.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, Subcommand};
use headwater_engine::metric::Unit;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Scan, Topology};
use headwater_engine::{Subject, quantity};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::output::{Failure, print, say};
use super::target::AccessArgs;
use super::{EXIT_UNAVAILABLE, interrupted};
use crate::app::scan_progress::{ScanProgress, scan_line};
use crate::config::Config;
use crate::report::Layout;
use crate::sources::Outlet;
use crate::sources::redis::{Placement, RedisTarget, ScanBudget, place, relation};

/// How long discovery may take.
const DISCOVERY: Duration = Duration::from_secs(12);

/// How long other seeds may still answer after the first has failed.
const SECOND_CHANCE: Duration = Duration::from_secs(3);

/// `headwater keys`.
#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Say where keys live: slot, shard, primary, and what they share
    Place(PlaceArgs),
    /// Scan for the biggest keys, within a budget of the server's CPU
    Big(BigArgs),
}

/// The forms of the answer.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KeysFormat {
    Text,
    Json,
}

/// `headwater keys place`.
#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// Keys, and redis:// targets beside them
    #[arg(required = true, value_name = "KEY|TARGET")]
    keys_and_targets: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

/// `headwater keys big`.
#[derive(Debug, Args)]
pub(super) struct BigArgs {
    /// A Redis target; without one, those of the configuration
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Only this shard, such as 'redis/features#2' or '2'
    #[arg(long, value_name = "SHARD")]
    shard: Option<String>,
    /// The share of a core that the scan may use on the scanned node
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    budget: f64,
    /// How many keys are listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

pub(super) async fn run(command: KeysCommand) -> Result<u8, Failure> {
    match command {
        KeysCommand::Place(args) => keys_place(args).await,
        KeysCommand::Big(args) => keys_big(args).await,
    }
}

/// A share of a core: `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / divisor);
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "write a share of one core such as '1%' or '0.05', up to '100%'".to_owned())
}

#[derive(Serialize)]
struct PlacedKey<'a> {
    key: &'a str,
    slot: u16,
    shard: Option<&'a Subject>,
    primary: Option<&'a Subject>,
}

#[derive(Serialize)]
struct Pair<'a> {
    keys: [&'a str; 2],
    relation: &'static str,
}

async fn keys_place(args: PlaceArgs) -> Result<u8, Failure> {
    let is_target = |text: &String| text.starts_with("redis://") || text.starts_with("rediss://");
    let (targets, keys): (Vec<_>, Vec<_>) = args.keys_and_targets.into_iter().partition(is_target);
    if keys.is_empty() {
        return Err(Failure::usage("no key: write 'headwater keys place KEY [KEY...] [TARGET]'"));
    }
    let config = args.access.resolve(&targets)?;
    let mut out = Layout::new(100);
    let mut json = vec![];
    for watched in Watched::start(&config)? {
        let topology = watched.discovered().await?;
        let placements: Vec<Placement> = keys.iter().map(|key| place(&topology, key.as_bytes())).collect();
        let pairs: Vec<Pair<'_>> = placements
            .iter()
            .enumerate()
            .flat_map(|(index, one)| placements[index + 1..].iter().map(move |other| (one, other)))
            .map(|(one, other)| Pair {
                keys: [one.key.as_str(), other.key.as_str()],
                relation: relation(one, other).words(),
            })
            .collect();
        for placed in &placements {
            let shard =
                placed.shard.as_ref().map_or_else(|| "no shard owns it".to_owned(), Subject::to_string);
            let primary = placed.primary.as_ref().and_then(Subject::address).unwrap_or("no primary");
            out.line(&format!("{}  slot {}  {shard}  {primary}", placed.key, placed.slot));
        }
        for pair in &pairs {
            out.line(&format!("{} + {}: {}", pair.keys[0], pair.keys[1], pair.relation));
        }
        let rows: Vec<_> = placements
            .iter()
            .map(|placed| PlacedKey {
                key: placed.key.as_str(),
                slot: placed.slot,
                shard: placed.shard.as_ref(),
                primary: placed.primary.as_ref(),
            })
            .collect();
        json.push(serde_json::json!({ "redis": topology.cluster, "keys": rows, "pairs": pairs }));
    }
    answer(args.format, out, serde_json::json!({ "schema": 1, "deployments": json }))
}

fn answer(format: KeysFormat, text: Layout, json: serde_json::Value) -> Result<u8, Failure> {
    match format {
        KeysFormat::Text => print(&text.finish())?,
        KeysFormat::Json => print(&format!("{json:#}\n"))?,
    }
    Ok(0)
}

/// A Redis target that runs beside nothing else.
struct Watched {
    component: Subject,
    target: RedisTarget,
    readings: mpsc::Receiver<Reading>,
}

impl Watched {
    fn start(config: &Config) -> Result<Vec<Self>, Failure> {
        if config.redis.is_empty() {
            return Err(Failure::usage(
                "no Redis target: name one such as redis://HOST:6379, or give a --config with a [[redis]] table",
            ));
        }
        let start = |spec: &crate::sources::redis::RedisSpec| {
            let (send, readings) = mpsc::channel(1_024);
            let outlet = Outlet { readings: send, stop: CancellationToken::new() };
            let target = RedisTarget::start(spec.clone(), config.settings.interval, outlet);
            Self { component: spec.component.clone(), target, readings }
        };
        Ok(config.redis.iter().map(start).collect())
    }

    /// The topology, or what kept it from being found.
    async fn discovered(mut self) -> Result<Topology, Failure> {
        self.wait_for_topology().await
    }

    async fn wait_for_topology(&mut self) -> Result<Topology, Failure> {
        let mut fault: Option<Fault> = None;
        let mut found = std::pin::pin!(self.target.discovered(DISCOVERY));
        let mut give_up = std::pin::pin!(tokio::time::sleep(DISCOVERY));
        loop {
            let topology = tokio::select! {
                biased;
                topology = &mut found => topology,
                Some(reading) = self.readings.recv() => {
                    let Some(first) = reading.faults.into_iter().next() else { continue };
                    let pause = if first.kind == FaultKind::Auth { Duration::ZERO } else { SECOND_CHANCE };
                    if fault.is_none() || first.kind == FaultKind::Auth {
                        give_up.as_mut().reset(tokio::time::Instant::now() + pause);
                    }
                    fault = Some(first);
                    continue;
                }
                () = &mut give_up => None,
            };
            return topology.ok_or_else(|| {
                let reason = fault.map_or_else(
                    || format!("no answer in {} s", DISCOVERY.as_secs()),
                    |fault| fault.message.to_string(),
                );
                Failure::new(EXIT_UNAVAILABLE, format_args!("{}: {reason}", self.component))
            });
        }
    }
}

async fn keys_big(args: BigArgs) -> Result<u8, Failure> {
    let config = args.access.resolve(&args.targets)?;
    let budget = ScanBudget { core_share: args.budget, keep: args.top.max(1), ..ScanBudget::default() };
    let (mut scans, mut known, mut ended_early) = (vec![], vec![], false);
    for mut watched in Watched::start(&config)? {
        let topology = watched.wait_for_topology().await?;
        let shards: Vec<Subject> = topology
            .shards
            .iter()
            .map(|shard| shard.subject.clone())
            .inspect(|shard| known.push(shard.to_string()))
            .filter(|shard| args.shard.as_deref().is_none_or(|wanted| is_shard(shard, wanted)))
            .collect();
        let (found, was_interrupted) = scan_shards(watched, &shards, budget, interrupted).await;
        scans.extend(found);
        ended_early |= was_interrupted;
        if ended_early {
            break;
        }
    }
    if scans.is_empty() {
        return Err(match &args.shard {
            _ if ended_early => Failure::new(EXIT_UNAVAILABLE, "ended before a key was looked at"),
            Some(wanted) => {
                Failure::usage(format_args!("no shard '{wanted}': use one of {}", known.join(", ")))
            }
            None => Failure::new(
                EXIT_UNAVAILABLE,
                "no shard could be scanned: 'headwater doctor' says what is in the way",
            ),
        });
    }
    let mut biggest: Vec<_> =
        scans.iter().flat_map(|scan| scan.biggest.iter().map(move |key| (&scan.shard, key))).collect();
    biggest.sort_by_key(|(_, key)| std::cmp::Reverse(key.bytes));
    biggest.truncate(args.top);
    let mut out = Layout::new(100);
    for (shard, key) in &biggest {
        let size = quantity::show(key.bytes as f64, Unit::Bytes);
        let elements = key.elements.map_or_else(String::new, |n| format!("  {n} elements"));
        out.line(&format!("{size:>8}  {}  {}  {shard}  slot {}{elements}", key.key, key.kind, key.slot));
    }
    for scan in &scans {
        out.line(&scan_line(scan));
    }
    let json = serde_json::json!({
        "schema": 1,
        "keys": biggest.iter().map(|(shard, key)| serde_json::json!({
            "key": key.key, "bytes": key.bytes, "kind": key.kind, "elements": key.elements, "slot": key.slot, "shard": shard,
        })).collect::<Vec<_>>(),
        "scans": scans.iter().map(|scan| serde_json::json!({
            "shard": scan.shard, "node": scan.node, "scanned": scan.scanned, "total": scan.total, "state": scan.state,
        })).collect::<Vec<_>>(),
    });
    answer(args.format, out, json)
}

fn is_shard(shard: &Subject, wanted: &str) -> bool {
    shard.as_str() == wanted
        || shard.shard_index().is_some_and(|index| wanted.trim_start_matches('#') == index.to_string())
}

/// Scans shards side by side, each on a node of its own, until all are done or the user has had enough: the first
/// interruption lets the scans end and tell what they found, the second waits for nothing. Says also whether there was
/// one.
async fn scan_shards<F: Future<Output = ()>>(
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
