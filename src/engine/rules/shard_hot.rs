//! One shard works much harder than the others.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{Metric, REDIS_COMMANDS, REDIS_CPU, REDIS_EXEC, Unit};
use crate::quantity::{show, times};
use crate::report::{BaselineFrom, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "shard-hot",
    title: "one shard works much harder than the others",
    doc: "The main thread's CPU, or the share of time executing commands, is at least 70 % on one of the \
          shard's nodes and at least twice the median of the other shards. Replicas are judged too. The evenness \
          of the load (entropy over that of an even spread: 1 is even, 0 is all on one) is shown beside it, and \
          the average never without its maximum. With one shard there is nothing to compare with: \
          shard-saturated answers.",
    next: "name the keys: big keys by a scan, hot keys by the cheapest way this server offers; then spread them",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "cpu",
            default: 0.7,
            unit: Unit::Ratio,
            help: "share of one core; a soft limit that leaves room for a failover",
        },
        Threshold {
            name: "skew",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the median of the other shards",
        },
    ],
    rivals: &[RivalRow {
        rule: "shard-bandwidth",
        told_by: "CPU near its limit with the bytes below theirs",
    }],
    absorbs: &["slow-to-answer", "hit-but-slow", "slow-commands", "big-key", "hot-key", "co-located-keys"],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some((node, busy)) = scene.worst_node(shard, |node| node_busy(scene, node)) else {
        return Judgement::Unknown(scene.missing(shard));
    };
    let group = busy_shards(scene, &shard.component_of());
    let shown = show(busy.value, Unit::Ratio);
    let unseen = scene.unseen_primary(shard, |node| node_busy(scene, node));
    let Some(others) = group.median_of_others(shard) else {
        return Judgement::Clear(format!("{shown} busy; one shard has no others to compare with"));
    };
    let limit = limits.of("cpu").max(others * limits.of("skew"));
    if let Some(missing) = unseen.filter(|_| busy.value < limit) {
        return Judgement::Unknown(missing);
    }
    if busy.value < limit {
        return Judgement::Clear(format!("{shown} busy, the others' median {}", show(others, Unit::Ratio)));
    }
    let peers = Baseline::new(others, BaselineFrom::Peers);
    let mut numbers = Vec::from_iter(busy_evidence(scene, &node, Some(limit), Some(peers)));
    numbers.extend(other_busy_evidence(scene, &node));
    numbers
        .extend(scene.present(&node, REDIS_COMMANDS).map(|seen| evidence(REDIS_COMMANDS, seen, None, None)));
    numbers.extend(group.evenness().map(|evenness| {
        let seen = Seen { value: evenness, at: busy.at };
        named_evidence("evenness of CPU over shards".to_owned(), Unit::Ratio, seen, None, None)
    }));
    Breach::new(
        format!(
            "{shown} of its executing thread is used, {} the others{}",
            times(busy.value / others.max(0.01)),
            others_sentence(scene, shard)
        ),
        format!("#{} CPU {shown}", shard.shard_index().unwrap_or(0)),
        busy.value / limit,
        numbers,
    )
    .judged()
}

/// How busy a node's executing thread is: the greater of its CPU and of its time executing commands. The first
/// misses nothing but waits, the second is immune to busy-waiting threads.
pub(super) fn node_busy(scene: &Scene<'_>, node: &Subject) -> Option<Seen> {
    busier(scene, node).map(|(_, seen)| seen)
}

/// The number of [`node_busy`] as evidence, under the name of the metric that it is of.
pub(super) fn busy_evidence(
    scene: &Scene<'_>,
    node: &Subject,
    limit: Option<f64>,
    healthy: Option<Baseline>,
) -> Option<Evidence> {
    busier(scene, node).map(|(metric, seen)| evidence(metric, seen, limit, healthy))
}

/// The busy metric that is not in the evidence yet.
pub(super) fn other_busy_evidence(scene: &Scene<'_>, node: &Subject) -> Option<Evidence> {
    let (said, _) = busier(scene, node)?;
    let other = [REDIS_CPU, REDIS_EXEC].into_iter().find(|metric| *metric != said)?;
    scene.present(node, other).map(|seen| evidence(other, seen, None, None))
}

fn busier(scene: &Scene<'_>, node: &Subject) -> Option<(Metric, Seen)> {
    let seen =
        [REDIS_CPU, REDIS_EXEC].into_iter().filter_map(|metric| Some((metric, scene.present(node, metric)?)));
    seen.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
}

fn busy_shards(scene: &Scene<'_>, cluster: &Subject) -> std::rc::Rc<crate::peers::Peers> {
    scene.shards("busy", cluster, |node| node_busy(scene, node).map(|seen| seen.value))
}

/// `; all shards: max 96 %, mean 26 %`, or nothing for one shard.
pub(super) fn others_sentence(scene: &Scene<'_>, shard: &Subject) -> String {
    let group = busy_shards(scene, &shard.component_of());
    match group.mean_and_max() {
        Some((mean, max)) if group.values().len() > 1 => {
            format!("; all shards: max {}, mean {}", show(max, Unit::Ratio), show(mean, Unit::Ratio))
        }
        _ => String::new(),
    }
}
