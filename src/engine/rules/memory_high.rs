//! A Redis that must not evict runs out of memory.

use std::time::Duration;

use super::rising::{errors, most};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{
    REDIS_MEMORY, REDIS_MEMORY_CLIENTS, REDIS_MEMORY_EVICTS, REDIS_MEMORY_MAX, REDIS_MEMORY_RSS, Unit,
};
use crate::quantity::{counted, foreseen, show};
use crate::report::{BaselineFrom, Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "memory-high",
    title: "a Redis that may not evict runs out of memory",
    doc: "The policy is noeviction and at least 80 % of maxmemory is used: a suspect, because nothing fails before \
          all of it is used; the trend says when that will be. Replies that begin with OOM are the failure itself: \
          writes are refused now, and they convict, whatever the policy says, because a policy that evicts only \
          keys with an expiry finds none where there are none. Where the policy is not told, nobody knows whether full \
          is healthy, and where less is resident than is used, a part may be swapped out: neither is clear. Without a \
          maxmemory there is no limit at which writes are refused; what room the host has cannot be seen from here. \
          Where keys may be evicted, evicting answers.",
    next: "see what grew: keys, buffers of clients, or replication; then free what can be spared or raise maxmemory \
           where the host has room",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "used",
            default: 0.8,
            unit: Unit::Ratio,
            help: "share of maxmemory from which there is little room for a burst or a full sync",
        },
        Threshold {
            name: "nearly_full",
            default: 0.9,
            unit: Unit::Ratio,
            help: "share of maxmemory that is called nearly full: what most fleets raise an alarm at",
        },
    ],
    rivals: &[RivalRow {
        rule: "evicting",
        told_by: "the policy: where keys may be evicted, full memory is usual and misses are the harm",
    }],
    absorbs: &[],
    judge,
};

/// The span whose trend says when memory will be full, and the least of it that must have been seen.
const TREND: Duration = Duration::from_secs(300);
const LEAST_TREND_S: f64 = 10.0;

/// Beyond this nobody is told when memory will be full: a trend of minutes does not last for days.
const FORESEEN_S: f64 = 86_400.0;

/// Resident bytes over used ones below which a part is likely swapped out.
const SWAPPED: f64 = 0.9;

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if let Some((node, rise)) = most(scene, shard, |node| errors(scene, node, "OOM")) {
        let used = share(scene, &node).map_or(String::new(), |(share, max)| {
            format!("; {} of {} is used", show(share.value, Unit::Ratio), show(max, Unit::Bytes))
        });
        let mut numbers =
            vec![named_evidence("redis.errors OOM".to_owned(), Unit::PerSecond, rise.rate, Some(0.0), None)];
        numbers.extend(of_memory(scene, &node, limits));
        return Breach::new(
            format!(
                "refuses writes for want of memory at {}: {} with OOM lately{used}{}",
                node.address().unwrap_or("its node"),
                counted(rise.gained.max(1.0).round() as u64, "reply"),
                policy_of(scene, &node),
            ),
            format!("#{} out of memory", shard.shard_index().unwrap_or(0)),
            10.0,
            numbers,
        )
        .begun(rise.began)
        .judged();
    }
    let fullest_of = |policy: Option<bool>| {
        let of = |node: &Subject| share(scene, node).filter(|_| evicts(scene, node) == policy);
        scene.worst_node(shard, |node| of(node).map(|(share, _)| share))
    };
    let fullest = fullest_of(Some(false));
    if let Some((node, used)) = fullest.filter(|(_, used)| used.value >= limits.of("used")) {
        return nearly_full(scene, shard, &node, used, limits);
    }
    if let Some(missing) = scene.unseen_primary(shard, |node| scene.latest(node, REDIS_MEMORY)) {
        return Judgement::Unknown(missing);
    }
    if let Some((node, used)) = fullest_of(None).filter(|(_, used)| used.value >= limits.of("used")) {
        return Judgement::Unknown(format!(
            "{} of its memory is used at {}, and nothing says whether it may evict keys",
            show(used.value, Unit::Ratio),
            node.address().unwrap_or("its node")
        ));
    }
    let seen = seen(scene, shard);
    if is_swapped(scene, shard) { Judgement::Unknown(seen) } else { Judgement::Clear(seen) }
}

fn nearly_full(
    scene: &Scene<'_>,
    shard: &Subject,
    node: &Subject,
    used: Seen,
    limits: &Limits<'_>,
) -> Judgement {
    let max = scene.latest(node, REDIS_MEMORY_MAX).map_or(0.0, |seen| seen.value);
    let word = if used.value >= limits.of("nearly_full") { "nearly full: " } else { "" };
    let seconds = time_to_full(scene, node, max);
    let full_in =
        seconds.map_or(String::new(), |seconds| format!("; full in {} as it grows now", foreseen(seconds)));
    Breach::new(
        format!(
            "{word}{} of {} is used at {}{full_in}; then writes fail with OOM, which none does yet",
            show(used.value, Unit::Ratio),
            show(max, Unit::Bytes),
            node.address().unwrap_or("its node"),
        ),
        format!("#{} memory {}", shard.shard_index().unwrap_or(0), show(used.value, Unit::Ratio)),
        used.value / limits.of("used"),
        of_memory(scene, node, limits),
    )
    .at_most(Confidence::Low)
    .hurting_from(seconds.map(|seconds| scene.now + Duration::from_secs_f64(seconds)))
    .judged()
}

/// The used share of a node's limit with the limit; `None` without a limit, or without fresh numbers.
fn share(scene: &Scene<'_>, node: &Subject) -> Option<(Seen, f64)> {
    let used = scene.latest(node, REDIS_MEMORY)?;
    let max = scene.latest(node, REDIS_MEMORY_MAX).filter(|max| max.value > 0.0)?.value;
    Some((Seen { value: used.value / max, at: used.at }, max))
}

/// Whether a node's policy may evict keys; `None` where it is not told.
fn evicts(scene: &Scene<'_>, node: &Subject) -> Option<bool> {
    scene.latest(node, REDIS_MEMORY_EVICTS).map(|seen| seen.value > 0.0)
}

/// Whether so much less than it uses is resident at the primary that a part is likely swapped out.
fn is_swapped(scene: &Scene<'_>, shard: &Subject) -> bool {
    let of_primary = |metric| scene.primary(shard).and_then(|node| scene.latest(node, metric));
    let numbers = of_primary(REDIS_MEMORY).zip(of_primary(REDIS_MEMORY_RSS));
    numbers.is_some_and(|(used, resident)| resident.value < used.value * SWAPPED)
}

fn policy_of(scene: &Scene<'_>, node: &Subject) -> &'static str {
    match scene.latest(node, REDIS_MEMORY_EVICTS) {
        Some(seen) if seen.value > 0.0 => {
            "; its policy may evict, and finds nothing to evict: keys without an expiry, or buffers"
        }
        Some(_) => "; its policy is noeviction",
        None => "",
    }
}

fn of_memory(scene: &Scene<'_>, node: &Subject, limits: &Limits<'_>) -> Vec<Evidence> {
    let max = scene.latest(node, REDIS_MEMORY_MAX).map(|seen| seen.value);
    let limit = max.map(|max| Baseline::new(max, BaselineFrom::Declared));
    let used = scene.latest(node, REDIS_MEMORY);
    let mut numbers: Vec<Evidence> = used
        .map(|seen| evidence(REDIS_MEMORY, seen, max.map(|max| max * limits.of("used")), limit))
        .into_iter()
        .collect();
    let others = [REDIS_MEMORY_RSS, REDIS_MEMORY_CLIENTS];
    numbers.extend(
        others.iter().filter_map(|metric| Some(evidence(*metric, scene.latest(node, *metric)?, None, None))),
    );
    numbers
}

/// Seconds until a node's memory is full, by the straight line through its last minutes; `None` where it does not
/// grow, or too little was seen.
fn time_to_full(scene: &Scene<'_>, node: &Subject, max: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = scene
        .store
        .points(node, REDIS_MEMORY, None)?
        .since(scene.now - TREND)
        .map(|seen| (-scene.now.seconds_after(seen.at), seen.value))
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    if last.0 - first.0 < LEAST_TREND_S {
        return None;
    }
    let count = points.len() as f64;
    let (mean_t, mean_v) =
        points.iter().fold((0.0, 0.0), |(t, v), point| (t + point.0 / count, v + point.1 / count));
    let (over, under) = points.iter().fold((0.0, 0.0), |(over, under), (t, v)| {
        (over + (t - mean_t) * (v - mean_v), under + (t - mean_t) * (t - mean_t))
    });
    let seconds = (max - last.1) / (over / under);
    (seconds.is_finite() && seconds > 0.0 && seconds <= FORESEEN_S).then_some(seconds)
}

fn seen(scene: &Scene<'_>, shard: &Subject) -> String {
    let is_swapped = is_swapped(scene, shard);
    let swapped = if is_swapped { ", less of it resident than used: a part may be swapped out" } else { "" };
    if let Some((node, used)) = scene.worst_node(shard, |node| share(scene, node).map(|(share, _)| share)) {
        let may = if evicts(scene, &node) == Some(true) { ", and may evict" } else { "" };
        let max = share(scene, &node).map_or(0.0, |(_, max)| max);
        let (used, max) = (show(used.value, Unit::Ratio), show(max, Unit::Bytes));
        return format!("uses {used} of its {max}{may}{swapped}");
    }
    let of_primary = |metric| scene.primary(shard).and_then(|node| scene.latest(node, metric));
    let used = of_primary(REDIS_MEMORY).map_or(0.0, |seen| seen.value);
    let resident = of_primary(REDIS_MEMORY_RSS)
        .map_or(String::new(), |seen| format!(", {} resident", show(seen.value, Unit::Bytes)));
    format!("uses {}{resident}{swapped}; no maxmemory is set to hold it against", show(used, Unit::Bytes))
}
