//! A Redis node's one executing thread has no time left.

use super::shard_hot::{busy_evidence, node_busy, other_busy_evidence, others_sentence};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{REDIS_COMMANDS, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, evidence};
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "shard-saturated",
    title: "a shard's executing thread is used up",
    doc: "The main thread's CPU, or the share of time executing commands, is at least 90 % over three \
          intervals on one of the shard's nodes. Redis executes commands on one thread, so this is a ceiling \
          whatever the other shards do, and it holds for a standalone server too.",
    next: "see which commands take the time and which keys they read, then move or split the load; adding \
           shards does not help a single hot key",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[Threshold {
        name: "cpu",
        default: 0.9,
        unit: Unit::Ratio,
        help: "share of one core; above it queueing dominates",
    }],
    rivals: &[RivalRow { rule: "slow-commands", told_by: "the slow log and the time per command" }],
    absorbs: &[
        "shard-hot",
        "slow-to-answer",
        "hit-but-slow",
        "slow-commands",
        "big-key",
        "hot-key",
        "co-located-keys",
    ],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some((node, busy)) = scene.worst_node(shard, |node| node_busy(scene, node)) else {
        return Judgement::Unknown(scene.missing(shard));
    };
    let shown = show(busy.value, Unit::Ratio);
    if busy.value < limits.of("cpu") {
        if let Some(missing) = scene.unseen_primary(shard, |node| node_busy(scene, node)) {
            return Judgement::Unknown(missing);
        }
        return Judgement::Clear(format!("busiest node uses {shown} of its executing thread"));
    }
    let mut numbers = Vec::from_iter(busy_evidence(scene, &node, Some(limits.of("cpu")), None));
    numbers.extend(other_busy_evidence(scene, &node));
    numbers
        .extend(scene.present(&node, REDIS_COMMANDS).map(|seen| evidence(REDIS_COMMANDS, seen, None, None)));
    Breach::new(
        format!("{shown} of its executing thread is used{}", others_sentence(scene, shard)),
        format!("#{} CPU {shown}", shard.shard_index().unwrap_or(0)),
        busy.value / limits.of("cpu"),
        numbers,
    )
    .judged()
}
