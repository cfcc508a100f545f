//! The cache hits as often as ever, and reads are slow.

use super::{Breach, Judgement, Limits, Nature, POOL_STARVED, RivalRow, Rule, Threshold, Watches};
use crate::histogram::Percentile;
use crate::metric::{DB_DURATION, REDIS_HITS, REDIS_MISSES, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Observed, Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "hit-but-slow",
    title: "the cache hits as often as ever, and reads are slow",
    doc: "The hit ratio is at its healthy value (or at least 80 % where none is known) while the callers' own \
          time for a read has a 99th percentile above 50 ms. So data is found and comes late: the cause is a \
          shard, its link, or the caller's pool, and not missing data. It has no mechanism of its own and is \
          explained by a shard's finding where there is one; where pool-starved fires on the caller, the time is lost \
          there and not here.",
    next: "compare the shards: time to answer, bytes against the link, CPU; then the caller's connection pool",
    watches: Watches::Components(&[Kind::Redis]),
    nature: Nature::Circumstance,
    exonerates: true,
    role: Role::Victim,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "read",
            default: 0.05,
            unit: Unit::Seconds,
            help: "callers' 99th percentile of a read; a healthy one takes about a millisecond",
        },
        Threshold {
            name: "hit_ratio",
            default: 0.8,
            unit: Unit::Ratio,
            help: "hit ratio that counts as steady where no healthy value is known",
        },
        Threshold {
            name: "hit_drop",
            default: 0.02,
            unit: Unit::Ratio,
            help: "fall of the hit ratio that is still steady",
        },
    ],
    rivals: &[RivalRow {
        rule: "pool-starved",
        told_by: "callers waiting for a connection while every shard is idle",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, redis: &Subject, limits: &Limits<'_>) -> Judgement {
    let (Some(hits), Some(misses)) = (scene.hits(redis), scene.total(redis, REDIS_MISSES)) else {
        return Judgement::Unknown(format!("no hit ratio: {}", scene.missing(redis)));
    };
    let lookups = hits.value + misses.value;
    let Some((caller, reads)) = slowest_reads(scene, redis) else {
        return Judgement::Unknown("no caller tells its own time for a read".to_owned());
    };
    let p99 = reads.p99.number();
    let shown = format!("{}{}", reads.p99.sign(), show(p99, Unit::Seconds));
    if lookups <= 0.0 {
        return Judgement::Clear(format!("no look-ups; callers' reads p99 {shown}"));
    }
    let ratio = hits.value / lookups;
    let hit = show(ratio, Unit::Ratio);
    let clear = || Judgement::Clear(format!("hit ratio {hit}, callers' reads p99 {shown}"));
    if p99 < limits.of("read") || reads.p99.is_only_a_bound() {
        return clear();
    }
    let healthy = scene
        .total_baseline(redis, REDIS_HITS)
        .zip(scene.total_baseline(redis, REDIS_MISSES))
        .filter(|(hits, misses)| hits.typical + misses.typical > 0.0)
        .map(|(hits, misses)| hits.typical / (hits.typical + misses.typical));
    let least = healthy.map_or(limits.of("hit_ratio"), |healthy| healthy - limits.of("hit_drop"));
    if ratio < least {
        return clear();
    }
    if scene.findings.stirring(&[POOL_STARVED], &caller.component_of()) {
        return Judgement::Clear(format!(
            "hit ratio {hit}; reads take {shown} (p99) as {caller} sees them, but it waits for its own pool"
        ));
    }
    Breach::new(
        format!("hit ratio {hit}, yet reads take {shown} (p99) as {caller} sees them"),
        format!("reads p99 {shown}"),
        p99 / limits.of("read"),
        vec![
            named_evidence(
                format!("{} p99", DB_DURATION.name()),
                Unit::Seconds,
                Seen { value: p99, at: reads.at },
                Some(limits.of("read")),
                None,
            ),
            named_evidence(
                "hit ratio".to_owned(),
                Unit::Ratio,
                Seen { value: ratio, at: hits.at },
                None,
                None,
            ),
        ],
    )
    .judged()
}

/// The slowest operation that any caller of this deployment reports, with the caller.
pub(crate) fn slowest_reads(scene: &Scene<'_>, redis: &Subject) -> Option<(Subject, Observed)> {
    let callers = scene.graph.above(redis).into_keys().filter(|caller| caller != redis);
    callers
        .flat_map(|caller| {
            operations(scene, &caller).into_iter().map(move |(_, observed)| (caller.clone(), observed))
        })
        .max_by(|(_, one), (_, other)| one.p99.number().total_cmp(&other.p99.number()))
}

/// The operations that a caller reports, each with its present 99th percentile.
pub(crate) fn operations(scene: &Scene<'_>, caller: &Subject) -> Vec<(Option<RemoteText>, Observed)> {
    operation_names(scene, caller)
        .into_iter()
        .filter_map(|name| Some((name.clone(), scene.p99(caller, DB_DURATION, name.as_ref())?.ok()?)))
        .collect()
}

/// The operations that a caller reports, each with its 99th percentile between two moments.
pub(crate) fn operations_between(
    scene: &Scene<'_>,
    caller: &Subject,
    (from, to): (Moment, Moment),
) -> Vec<(Option<RemoteText>, Percentile)> {
    let p99 = |name: &Option<RemoteText>| {
        scene.distribution_between(caller, DB_DURATION, name.as_ref(), from, to)?.percentile(0.99)
    };
    let names = operation_names(scene, caller).into_iter();
    names.filter_map(|name| p99(&name).map(|p99| (name, p99))).collect()
}

pub(super) fn operation_names(scene: &Scene<'_>, caller: &Subject) -> Vec<Option<RemoteText>> {
    let mut names: Vec<_> = scene
        .world
        .parts(caller)
        .flat_map(|(instance, _)| scene.store.parts(instance, DB_DURATION))
        .collect();
    names.sort();
    names.dedup();
    names
}
