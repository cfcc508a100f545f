//! What a shard, or a deployment, is asked: its calls by command.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::metric::REDIS_COMMAND_CALLS;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;

/// Commands of administrators, of replicas and of Headwater, its scans and searches included: they say nothing of what
/// readers of data send.
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
    "HLEN",
    "HOTKEYS",
    "INFO",
    "LATENCY",
    "LLEN",
    "MEMORY",
    "MONITOR",
    "OBJECT",
    "PING",
    "PSYNC",
    "PTTL",
    "READONLY",
    "REPLCONF",
    "SCAN",
    "SCARD",
    "SLOWLOG",
    "STRLEN",
    "TYPE",
    "XLEN",
    "ZCARD",
];

/// Calls a second of each command that reads or writes data, over all nodes of a subject; of the few that cost each
/// node most. Empty where nobody counts.
pub(super) fn calls(scene: &Scene<'_>, subject: &Subject) -> BTreeMap<RemoteText, f64> {
    let mut calls = BTreeMap::new();
    for (node, _) in scene.world.parts(subject) {
        add_calls(scene, node, &mut calls);
    }
    calls
}

fn add_calls(scene: &Scene<'_>, node: &Subject, calls: &mut Mix) {
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

/// A mix of commands: the share or the rate of each.
type Mix = BTreeMap<RemoteText, f64>;

/// What each shard of a deployment is asked, and all of them together, by their primaries' counts: a replica counts the
/// writes that it repeats.
#[derive(Debug, Default)]
pub(crate) struct Mixes {
    of: BTreeMap<Subject, Mix>,
    all: Mix,
}

/// The mixes of a deployment, worked out once in an evaluation.
fn mixes(scene: &Scene<'_>, cluster: &Subject) -> Rc<Mixes> {
    if let Some(known) = scene.looked.mixes.borrow().get(cluster) {
        return Rc::clone(known);
    }
    let mut mixes = Mixes::default();
    for shard in scene.world.shards(cluster) {
        let mut own = Mix::new();
        for node in shard.nodes.iter().filter(|node| node.primary) {
            add_calls(scene, &node.subject, &mut own);
        }
        for (command, rate) in &own {
            *mixes.all.entry(command.clone()).or_insert(0.0) += rate;
        }
        mixes.of.insert(shard.subject.clone(), own);
    }
    let mixes = Rc::new(mixes);
    scene.looked.mixes.borrow_mut().insert(cluster.clone(), Rc::clone(&mixes));
    mixes
}

/// How far a shard's mix of commands is from that of the other shards together: 0 is the same, 1 is nothing in
/// common; with the command that differs most and its shares here and there. `None` where either is not known.
pub(super) fn apart(scene: &Scene<'_>, shard: &Subject) -> Option<(f64, RemoteText, f64, f64)> {
    let mixes = mixes(scene, &shard.component_of());
    let own = mixes.of.get(shard)?;
    let mut others = mixes.all.clone();
    for (command, rate) in own {
        others.entry(command.clone()).and_modify(|all| *all = (*all - rate).max(0.0));
    }
    let (own, others) = (shares(own.clone())?, shares(others)?);
    let of = |mix: &Mix, command: &RemoteText| mix.get(command).copied().unwrap_or(0.0);
    let all: BTreeSet<&RemoteText> = own.keys().chain(others.keys()).collect();
    let differs = |command: &&RemoteText| (of(&own, command) - of(&others, command)).abs();
    let distance = all.iter().map(differs).sum::<f64>() / 2.0;
    let most = all.iter().max_by(|one, other| differs(one).total_cmp(&differs(other)))?;
    Some((distance, (*most).clone(), of(&own, most), of(&others, most)))
}

/// Rates as shares of their sum; `None` where there is none.
fn shares(mut rates: Mix) -> Option<Mix> {
    let sum: f64 = rates.values().sum();
    // A difference of sums leaves a rounding error where nothing is left.
    if sum <= 1e-6 {
        return None;
    }
    rates.values_mut().for_each(|rate| *rate /= sum);
    Some(rates)
}
