//! `headwater keys big`: the biggest keys, within a budget of the server's CPU.

use clap::Args;
use headwater_engine::metric::Unit;
use headwater_engine::{Subject, quantity};

use super::scanning::{is_shard, scan_shards};
use super::watched::Watched;
use super::{KeysFormat, answer, share};
use crate::app::scan_progress::scan_line;
use crate::cli::output::Failure;
use crate::cli::target::AccessArgs;
use crate::cli::{EXIT_UNAVAILABLE, interrupted};
use crate::report::Layout;
use crate::sources::redis::ScanBudget;

/// `headwater keys big`.
#[derive(Debug, Args)]
pub(in crate::cli) struct BigArgs {
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

pub(super) async fn run(args: BigArgs) -> Result<u8, Failure> {
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
