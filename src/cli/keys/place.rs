//! `headwater keys place`: slot, shard and primary of keys, what they share, and whether their slots are moving.

use clap::Args;
use headwater_engine::{RemoteText, Subject};
use serde::Serialize;

use super::heard::Heard;
use super::watched::Turns;
use super::{KeysFormat, answer};
use crate::cli::output::{Failure, layout, say};
use crate::cli::target::AccessArgs;
use crate::config::is_redis_address;
use crate::sources::redis::{Placement, place, relation};

/// `headwater keys place`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlaceArgs {
    /// Keys, and Redis targets beside them, such as redis://10.0.0.1:6379
    #[arg(required = true, value_name = "KEY|TARGET")]
    keys_and_targets: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

#[derive(Serialize)]
struct PlacedKey<'a> {
    key: &'a str,
    slot: u16,
    shard: Option<&'a Subject>,
    primary: Option<&'a Subject>,
    moving: Option<Moving>,
}

/// A slot on its way from one node to another, by address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Moving {
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Pair<'a> {
    keys: [&'a str; 2],
    relation: &'static str,
}

pub(super) async fn run(args: PlaceArgs) -> Result<u8, Failure> {
    let (targets, keys): (Vec<_>, Vec<_>) =
        args.keys_and_targets.into_iter().partition(|text| is_redis_address(text));
    if keys.is_empty() {
        return Err(Failure::usage("no key: write 'headwater keys place KEY [KEY...] [TARGET]'"));
    }
    let config = args.access.resolve(&targets)?;
    let mut out = layout(100);
    let mut json = vec![];
    say("placement: the shape of the cluster is read, as it is at every look; no key is asked for");
    let mut turns = Turns::start(&config)?;
    while let Some((mut watched, topology)) = turns.next().await {
        if topology.clustered {
            let primaries = topology.shards.iter().flat_map(|shard| &shard.nodes).filter(|node| node.primary);
            let primaries: Vec<_> = primaries.map(|node| node.subject.clone()).collect();
            // Only the owner says that a slot leaves it.
            watched.hear(&primaries).await;
        }
        let moving = |slot: u16| topology.clustered.then(|| moving(&watched.heard, slot)).flatten();
        let placements: Vec<Placement> = keys.iter().map(|key| place(&topology, key.as_bytes())).collect();
        let pairs: Vec<Pair<'_>> = placements
            .iter()
            .enumerate()
            .flat_map(|(index, one)| placements[index + 1..].iter().map(move |other| (one, other)))
            .map(|(one, other)| Pair {
                keys: [one.key.as_str(), other.key.as_str()],
                relation: if topology.clustered { relation(one, other).words() } else { "same server" },
            })
            .collect();
        for placed in &placements {
            let shard =
                placed.shard.as_ref().map_or_else(|| "no shard owns it".to_owned(), Subject::to_string);
            let primary = placed.primary.as_ref().and_then(Subject::address).unwrap_or("no primary");
            let slot = if topology.clustered { format!("slot {}  ", placed.slot) } else { String::new() };
            out.line(&format!("{}  {slot}{shard}  {primary}", placed.key));
            if let Some(Moving { from, to }) = moving(placed.slot) {
                out.hang(
                    "",
                    2,
                    &format!(
                        "  slot {} is moving from {from} to {to}: until it is there a key is on one of the two (ASK), \
                         and commands on several keys may be refused (TRYAGAIN)",
                        placed.slot
                    ),
                );
            }
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
                moving: moving(placed.slot),
            })
            .collect();
        json.push(serde_json::json!({ "redis": topology.cluster, "keys": rows, "pairs": pairs }));
    }
    if let Some(failure) = turns.failure() {
        return Err(failure);
    }
    answer(args.format, out, serde_json::json!({ "schema": 1, "deployments": json }))
}

/// Whether a slot is on its way, as the node says that gives it or the one that takes it.
fn moving(heard: &Heard, slot: u16) -> Option<Moving> {
    let own = |node: &Subject| node.address().unwrap_or_default().to_owned();
    heard.views.values().find_map(|view| {
        let is_it = |(moved, _): &&(u16, RemoteText)| *moved == slot;
        let leaves = view.migrating.iter().find(is_it);
        let comes = view.importing.iter().find(is_it);
        leaves
            .map(|(_, to)| Moving { from: own(&view.node), to: to.to_string() })
            .or_else(|| comes.map(|(_, from)| Moving { from: from.to_string(), to: own(&view.node) }))
    })
}
