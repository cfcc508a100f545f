//! What a shard, or a deployment, is asked: its calls by command.

use std::collections::BTreeMap;

use crate::metric::REDIS_COMMAND_CALLS;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;

/// Commands of administrators, of replicas and of Headwater: no reader of data sends them.
const NOT_DATA: &[&str] = &[
    "ACL",
    "AUTH",
    "CLIENT",
    "CLUSTER",
    "COMMAND",
    "COMMANDLOG",
    "CONFIG",
    "DEBUG",
    "HELLO",
    "HOTKEYS",
    "INFO",
    "LATENCY",
    "MEMORY",
    "MONITOR",
    "PING",
    "PSYNC",
    "READONLY",
    "REPLCONF",
    "SCAN",
    "SLOWLOG",
];

/// Calls a second of each command that reads or writes data, over all nodes of a subject; of the few that cost each
/// node most. Empty where nobody counts.
pub(super) fn calls(scene: &Scene<'_>, subject: &Subject) -> BTreeMap<RemoteText, f64> {
    let mut calls = BTreeMap::new();
    for (node, _) in scene.world.parts(subject) {
        for command in scene.store.parts(node, REDIS_COMMAND_CALLS).into_iter().flatten() {
            let first = command.as_str().split(' ').next().unwrap_or_default();
            if NOT_DATA.contains(&first) {
                continue;
            }
            if let Some(seen) = scene.present_part(node, REDIS_COMMAND_CALLS, Some(&command)) {
                *calls.entry(command).or_insert(0.0) += seen.value;
            }
        }
    }
    calls
}

/// A mix of commands: the share of each.
type Mix = BTreeMap<RemoteText, f64>;

/// How far a shard's mix of commands is from that of the other shards together: 0 is the same, 1 is nothing in
/// common; with the command that differs most and its shares here and there. `None` where either is not known.
pub(super) fn apart(scene: &Scene<'_>, shard: &Subject) -> Option<(f64, RemoteText, f64, f64)> {
    let own = shares(calls(scene, shard))?;
    let mut others: Mix = BTreeMap::new();
    for other in scene.world.shards(&shard.component_of()).iter().filter(|other| other.subject != *shard) {
        for (command, rate) in calls(scene, &other.subject) {
            *others.entry(command).or_insert(0.0) += rate;
        }
    }
    let others = shares(others)?;
    let of = |mix: &Mix, command: &RemoteText| mix.get(command).copied().unwrap_or(0.0);
    let all: std::collections::BTreeSet<&RemoteText> = own.keys().chain(others.keys()).collect();
    let differs = |command: &&RemoteText| (of(&own, command) - of(&others, command)).abs();
    let distance = all.iter().map(differs).sum::<f64>() / 2.0;
    let most = all.iter().max_by(|one, other| differs(one).total_cmp(&differs(other)))?;
    Some((distance, (*most).clone(), of(&own, most), of(&others, most)))
}

/// Rates as shares of their sum; `None` where there is none.
fn shares(mut rates: Mix) -> Option<Mix> {
    let sum: f64 = rates.values().sum();
    if sum <= 0.0 {
        return None;
    }
    rates.values_mut().for_each(|rate| *rate /= sum);
    Some(rates)
}
