//! A node takes longer to answer us than its peers do.

use std::rc::Rc;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{REDIS_ANSWER_TIME, Unit};
use crate::peers::Peers;
use crate::quantity::show;
use crate::report::{BaselineFrom, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "slow-to-answer",
    title: "a shard takes longer to answer than its peers",
    doc: "Our own time to an INFO reply, over a connection that is already open (the median of the last five, or \
          how long an answer has been outstanding) is, without the time by which our own loop is late, at least three times the \
          median of the other shards and at least 5 ms. A standalone server is \
          compared with its own earlier time, else with ten times the floor. It is evidence for other rules and \
          convicts nothing alone: the cause may be the server, its link, or the way from here. If our own loop \
          is more than 50 ms late, or all shards slow down together, the observer or the network between is the suspect and the \
          rule answers Unknown.",
    next: "look at what the shard is short of: CPU, link, or a long command",
    watches: Watches::Shards,
    nature: Nature::Support,
    exonerates: false,
    role: Role::Victim,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "skew",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the median of the other shards",
        },
        Threshold {
            name: "floor",
            default: 0.005,
            unit: Unit::Seconds,
            help: "time to answer below which nothing is slow: a busy host's scheduler alone costs a few ms",
        },
    ],
    rivals: &[RivalRow {
        rule: "network-path",
        told_by: "retransmits, or several nodes of one host slow together",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if let Some(late) = scene.observer_is_late() {
        return Judgement::Unknown(late);
    }
    let Some((node, own)) = scene.worst_node(shard, |node| node_answer_time(scene, node)) else {
        return Judgement::Unknown(scene.missing(shard));
    };
    let (floor, skew) = (limits.of("floor"), limits.of("skew"));
    let group = answer_times(scene, &shard.component_of());
    let shown = show(own.value, Unit::Seconds);
    let (compared, limit) = match group.median_of_others(shard) {
        Some(others) => {
            let peers = Baseline::new(others, BaselineFrom::Peers);
            (Some(peers), floor.max(others * skew))
        }
        None => match scene.baseline(&node, REDIS_ANSWER_TIME, None) {
            Some(earlier) => (Some(earlier), floor.max(earlier.typical * skew)),
            None => (None, floor * 10.0),
        },
    };
    // An answer that waits for us is no fault of who gave it, and shows nobody to be well either.
    let lag = scene.observer_lag().unwrap_or(0.0);
    if own.value >= limit && own.value < limit + lag {
        let lag = show(lag, Unit::Seconds);
        return Judgement::Unknown(format!("answers in {shown}, of which our own loop may be {lag} late"));
    }
    if own.value >= limit {
        let than = compared.map_or(String::new(), |healthy| {
            let who = if healthy.from == BaselineFrom::Peers { "its peers" } else { "usually" };
            format!(", {who} in {}", show(healthy.typical, Unit::Seconds))
        });
        return Breach::new(
            format!("answers in {shown}{than}"),
            format!("#{} answers in {shown}", shard.shard_index().unwrap_or(0)),
            own.value / limit,
            vec![evidence(REDIS_ANSWER_TIME, own, Some(limit), compared)],
        )
        .judged();
    }
    let all_slow = group.median().is_some_and(|median| median >= floor * 10.0) && group.values().len() > 1;
    if all_slow {
        return Judgement::Unknown(
            "all shards answer slowly together: look at the way from here first".to_owned(),
        );
    }
    match scene.unseen_primary(shard, |node| node_answer_time(scene, node)) {
        Some(missing) => Judgement::Unknown(missing),
        None => Judgement::Clear(format!("answers in {shown}")),
    }
}

/// A node's present time to answer: how long an answer that is late has been outstanding, else the median of the
/// last five, so that one hiccup of ours accuses nobody.
pub(super) fn node_answer_time(scene: &Scene<'_>, node: &Subject) -> Option<Seen> {
    if let Some(since) = scene.world.source(node).and_then(|state| state.late_since) {
        return Some(Seen { value: scene.now.seconds_after(since), at: scene.now });
    }
    scene.present_median(node, REDIS_ANSWER_TIME)
}

/// The present time to answer of every shard of a deployment.
pub(super) fn answer_times(scene: &Scene<'_>, cluster: &Subject) -> Rc<Peers> {
    scene.shards("answers", cluster, |node| node_answer_time(scene, node).map(|seen| seen.value))
}
