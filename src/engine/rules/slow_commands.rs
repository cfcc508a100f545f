//! A shard executes slow commands.

use std::time::Duration;

use super::cluster_views::slot_of_key;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{REDIS_ANSWER_TIME, Unit};
use crate::quantity::{self, show};
use crate::reading::{FaultKind, RUNS_A_SCRIPT, SlowCommand};
use crate::report::{Confidence, KeyEvidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::snapshot::SourceState;
use crate::store::Seen;
use crate::subject::Subject;
use crate::world::keys_of;

pub(super) static RULE: Rule = Rule {
    id: "slow-commands",
    title: "a shard executes slow commands",
    doc: "More than 10 entries of a node's slow log that took at least 10 ms lie in the last 10 minutes, \
          administrators' and our own commands left out. The slow log times execution alone: waiting for the \
          network and in queues never shows there, so an empty one exonerates nobody. A script that refuses every other \
          command with BUSY is one slow command, and needs no log.",
    next: "open the slow log: replace the command, or bound what it touches",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "entries",
            default: 10.0,
            unit: Unit::Count,
            help: "entries in ten minutes above which it is no single accident",
        },
        Threshold {
            name: "took",
            default: 0.01,
            unit: Unit::Seconds,
            help: "execution time from which an entry counts, the servers' own default: a log set finer is no accusation",
        },
    ],
    rivals: &[RivalRow { rule: "shard-saturated", told_by: "the CPU of the node that ran them" }],
    absorbs: &["hit-but-slow", "big-key", "hot-key", "co-located-keys"],
    judge,
};

/// The span in which entries are counted.
const SPAN: Duration = Duration::from_secs(600);

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(place) = scene.world.shard(shard) else {
        return Judgement::Unknown("no such shard any more".to_owned());
    };
    if let Some(script) = place.nodes.iter().find_map(|node| runs_a_script(scene, shard, &node.subject)) {
        return script.judged();
    }
    // The primary runs the writes and most reads: another node's log does not speak for it.
    let readable = scene.primary(shard).is_some_and(|node| is_readable(scene, node));
    let counts =
        place.nodes.iter().map(|node| (counted(scene, &node.subject, limits).count(), &node.subject));
    let worst = counts.max_by_key(|(count, _)| *count);
    let (count, node) = match worst {
        Some(worst) if readable || worst.0 as f64 > limits.of("entries") => worst,
        _ => return Judgement::Unknown(format!("slow log not readable: {}", scene.missing(shard))),
    };
    if count as f64 <= limits.of("entries") {
        return Judgement::Clear(format!(
            "{} of at least {} in 10 min (the log sees execution alone)",
            quantity::counted(count as u64, "entry"),
            show(limits.of("took"), Unit::Seconds)
        ));
    }
    let longest = counted(scene, node, limits).map(|command| command.took).max().unwrap_or_default();
    let oldest = counted(scene, node, limits).map(|command| command.at).min().unwrap_or(scene.now);
    let mut keys: Vec<_> = keys_of(counted(scene, node, limits)).into_iter().collect();
    keys.sort_by_key(|(key, times)| (std::cmp::Reverse(*times), key.clone()));
    let mut breach = Breach::new(
        format!(
            "{} of at least {} in 10 min at {}, the longest {}",
            quantity::counted(count as u64, "command"),
            show(limits.of("took"), Unit::Seconds),
            node.address().unwrap_or("its node"),
            show(longest.as_secs_f64(), Unit::Seconds)
        ),
        format!("#{} slow commands", shard.shard_index().unwrap_or(0)),
        count as f64 / limits.of("entries"),
        vec![named_evidence(
            "slow-log entries in 10 min".to_owned(),
            Unit::Count,
            Seen { value: count as f64, at: scene.now },
            Some(limits.of("entries")),
            None,
        )],
    )
    .dated(oldest);
    breach.keys = keys
        .into_iter()
        .take(3)
        .map(|(key, times)| KeyEvidence {
            slot: slot_of_key(scene, shard, &key),
            bytes: None,
            shard: shard.clone(),
            what: quantity::counted(times as u64, "slow command"),
            key,
        })
        .collect();
    breach.judged()
}

/// A node that answers nothing, INFO too, because a script has its thread.
fn runs_a_script(scene: &Scene<'_>, shard: &Subject, node: &Subject) -> Option<Breach> {
    let state = scene.world.source(node)?;
    let (since, fault) = state.fault.as_ref()?;
    if fault.kind != FaultKind::Busy || !fault.message.as_str().contains(RUNS_A_SCRIPT) {
        return None;
    }
    let lasted = scene.now.seconds_after(state.last_data.unwrap_or(*since));
    let breach = Breach::new(
        format!(
            "a script or function has had the thread of {} for at least {}, and every other command is refused with \
             BUSY, INFO too: SCRIPT KILL or FUNCTION KILL ends it if it has written nothing",
            node.address().unwrap_or("its node"),
            show(lasted, Unit::Seconds)
        ),
        format!("#{} busy with a script", shard.shard_index().unwrap_or(0)),
        10.0,
        vec![named_evidence(
            "seconds without data".to_owned(),
            Unit::Seconds,
            Seen { value: lasted, at: scene.now },
            Some(0.0),
            None,
        )],
    );
    // Others answer for a replica, as long as the primary does.
    let primary = scene.primary(shard);
    let is_idle =
        primary.is_some_and(|primary| primary != node && scene.latest(primary, REDIS_ANSWER_TIME).is_some());
    let breach = if is_idle { breach.at_most(Confidence::Low) } else { breach };
    Some(if state.last_data.is_some() { breach.dated(*since) } else { breach.certain() })
}

pub(super) fn is_readable(scene: &Scene<'_>, node: &Subject) -> bool {
    let offers =
        |state: &SourceState| !state.unavailable.iter().any(|(what, _)| what.as_str().starts_with("SLOWLOG"));
    scene.latest(node, REDIS_ANSWER_TIME).is_some() && scene.world.source(node).is_some_and(offers)
}

fn counted<'a>(
    scene: &'a Scene<'_>,
    node: &Subject,
    limits: &Limits<'_>,
) -> impl Iterator<Item = &'a SlowCommand> {
    let (from, took) = (scene.now - SPAN, limits.of("took"));
    scene
        .world
        .slow_logs()
        .of(node)
        .filter(move |command| !command.excluded && command.at >= from && command.took.as_secs_f64() >= took)
}
