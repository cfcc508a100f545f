//! Many keys of a shard expired at once.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{Metric, REDIS_EXPIRE_CAPPED, REDIS_EXPIRE_TIME, REDIS_EXPIRED, REDIS_MISSES, Unit};
use crate::quantity::show;
use crate::report::{BaselineFrom, Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::time::Moment;

/// The id of the rule, which others ask for by name.
pub(crate) const ID: &str = "expiry-herd";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "many keys of a shard expired at once",
    doc: "At least 1000 keys expired in a second and at least ten times as many as this shard usually has, or as the \
          others where its usual is not known, and the server cut more than ten expiry cycles a second short for want \
          of time. Keys that were written together \
          with one lifetime expire together: for some seconds the thread is busy deleting them, which no slow log \
          shows, and then everybody who wants one of them misses and fetches it anew. The burst is short, and what it \
          began lasts longer: the finding stays a candidate after it. It is told from INFO alone. Deletions of a \
          replica come from its primary, so the primary is judged.",
    next: "let one reader fetch a missing key while the others wait for it, and serve old values meanwhile; then give \
           lifetimes 10 % of chance",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "floor",
            default: 1_000.0,
            unit: Unit::PerSecond,
            help: "keys expired in a second below which no server is held up: it deletes half a million a second",
        },
        Threshold {
            name: "rise",
            default: 10.0,
            unit: Unit::Ratio,
            help: "multiple of its own healthy value, else of the other shards' median",
        },
        Threshold {
            name: "capped",
            default: 10.0,
            unit: Unit::PerSecond,
            help: "expiry cycles cut short in a second up to which a server keeps up",
        },
        Threshold {
            name: "misses",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the healthy misses from which its callers are seen to fetch what expired",
        },
    ],
    rivals: &[RivalRow { rule: "miss-flood", told_by: "how many keys expire in a second when all is well" }],
    absorbs: &["miss-flood", "slow-to-answer", "hit-but-slow", "access-changed"],
    judge,
};

/// With nothing to compare with, a burst must be this many times above the floor.
const WITHOUT_COMPARISON: f64 = 10.0;

/// How far back misses before a herd are looked at.
const BEFORE: Duration = Duration::from_secs(30);

/// Points of a node before a herd from which their mean says what was usual.
const LEAST_BEFORE: u32 = 3;

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(primary) = scene.primary(shard) else {
        return Judgement::Unknown("no primary is known".to_owned());
    };
    let Some(expired) = highest(scene, primary, REDIS_EXPIRED) else {
        return Judgement::Unknown(scene.missing(primary));
    };
    let shown = show(expired.value, Unit::PerSecond);
    if expired.value < limits.of("floor") {
        return Judgement::Clear(format!("keys expire at {shown}"));
    }
    let cluster = shard.component_of();
    let group =
        scene.shards("expired", &cluster, |node| highest(scene, node, REDIS_EXPIRED).map(|seen| seen.value));
    let peers = group.median_of_others(shard).map(|others| Baseline::new(others, BaselineFrom::Peers));
    // A herd mostly runs over all shards at once, and one shard may expire more than others at any time: its own past
    // tells, and the others only where that is not known. In a short life the herd itself may be most: then the lower
    // of the two is the judge.
    let healthy = scene.past(primary, REDIS_EXPIRED, None).or_else(|| {
        let life = scene.baseline(primary, REDIS_EXPIRED, None);
        let both = [peers, life].into_iter().flatten();
        both.min_by(|one, other| one.typical.total_cmp(&other.typical))
    });
    let limit = match healthy {
        Some(healthy) => limits.of("floor").max(healthy.typical * limits.of("rise")),
        None => limits.of("floor") * WITHOUT_COMPARISON,
    };
    if expired.value < limit {
        return match healthy {
            Some(healthy) => Judgement::Clear(format!(
                "keys expire at {shown}, as usual ({})",
                show(healthy.typical, Unit::PerSecond)
            )),
            None => {
                Judgement::Unknown(format!("keys expire at {shown}, and nobody knows whether that is usual"))
            }
        };
    }
    let Some(capped) = highest(scene, primary, REDIS_EXPIRE_CAPPED) else {
        return Judgement::Unknown(format!(
            "keys expire at {shown}, and nothing says whether the server kept up"
        ));
    };
    if capped.value <= limits.of("capped") {
        return Judgement::Clear(format!("keys expire at {shown}, and each cycle had time for them"));
    }
    let misses = scene.total(&cluster, REDIS_MISSES);
    let begun = began(scene, primary, limit);
    let healthy_misses = scene.total_baseline(&cluster, REDIS_MISSES).or_else(|| {
        misses_before(scene, &cluster, begun?).map(|mean| Baseline::new(mean, BaselineFrom::Earlier))
    });
    let are_many = |(now, healthy): &(Seen, Baseline)| {
        now.value >= healthy.typical * limits.of("misses") && now.value > 1.0
    };
    // In a short life an earlier herd is much of what is usual: the other shards did not lose theirs.
    let at_shard = highest(scene, primary, REDIS_MISSES).zip(misses_of_others(scene, &cluster, shard));
    let missed = misses.zip(healthy_misses).filter(are_many).or_else(|| at_shard.filter(are_many));
    let mut numbers = vec![
        evidence(REDIS_EXPIRED, expired, Some(limit), healthy),
        evidence(REDIS_EXPIRE_CAPPED, capped, Some(limits.of("capped")), None),
    ];
    let busy = highest(scene, primary, REDIS_EXPIRE_TIME);
    numbers.extend(busy.map(|seen| evidence(REDIS_EXPIRE_TIME, seen, None, None)));
    numbers.extend(misses.map(|seen| evidence(REDIS_MISSES, seen, None, healthy_misses)));
    let beside = |healthy: Baseline| {
        let who = if healthy.from == BaselineFrom::Peers { "on the others" } else { "usually" };
        format!(", {who} {}", show(healthy.typical, Unit::PerSecond))
    };
    let usual = healthy.map_or(String::new(), beside);
    let then = missed.map_or(String::new(), |(now, healthy)| {
        format!("; then {} look-ups miss{}", show(now.value, Unit::PerSecond), beside(healthy))
    });
    let mut breach = Breach::new(
        format!("a herd of keys expired: {shown}{usual}; the server could not keep up{then}"),
        format!("#{} keys expire at {shown}", shard.shard_index().unwrap_or(0)),
        expired.value / limit,
        numbers,
    );
    // What had begun before anybody looked has no date.
    breach = match begun {
        Some(at) => breach.dated(at),
        None => breach.certain(),
    };
    if missed.is_some() {
        breach = breach.made_up_for_elsewhere();
    }
    match healthy {
        Some(_) => breach.judged(),
        None => breach.at_most(Confidence::Medium).with_rival(&RULE.rivals[0]).judged(),
    }
}

/// The highest of the newest points, as many as fall in three intervals: a burst may be over within a second.
pub(super) fn highest(scene: &Scene<'_>, node: &Subject, metric: Metric) -> Option<Seen> {
    let points = scene.store.points(node, metric, None)?;
    let newest = points.latest().filter(|seen| seen.at >= scene.fresh_from(node, metric))?;
    let recent = points.newest_first().take_while(|seen| seen.at > newest.at - scene.settings.interval * 3);
    recent.max_by(|one, other| one.value.total_cmp(&other.value))
}

/// When the run of points above the limit began that the newest are in or just behind; `None` where the first point that
/// is known of is in it already.
fn began(scene: &Scene<'_>, node: &Subject, limit: f64) -> Option<Moment> {
    let points = scene.store.points(node, REDIS_EXPIRED, None)?;
    let mut first = None;
    for seen in points.newest_first().skip_while(|seen| seen.value < limit) {
        if seen.value < limit {
            return first;
        }
        first = Some(seen.at);
    }
    None
}

/// Look-ups that miss on the other shards, a second.
fn misses_of_others(scene: &Scene<'_>, cluster: &Subject, shard: &Subject) -> Option<Baseline> {
    let group = scene.shards("misses", cluster, |node| Some(scene.present(node, REDIS_MISSES)?.value));
    group.median_of_others(shard).map(|others| Baseline::new(others, BaselineFrom::Peers))
}

/// Look-ups that missed, a second, over all nodes in the half minute before a herd: the healthy value of who was started
/// only shortly before. `None` where fewer than three points of a node are from then.
fn misses_before(scene: &Scene<'_>, cluster: &Subject, begun: Moment) -> Option<f64> {
    let before = |node: &Subject| {
        let points = scene.store.points(node, REDIS_MISSES, None)?.since(begun - BEFORE);
        let (sum, count) = points
            .take_while(|seen| seen.at < begun - scene.settings.interval)
            .fold((0.0, 0), |(sum, count), seen| (sum + seen.value, count + 1));
        (count >= LEAST_BEFORE).then(|| Seen { value: sum / f64::from(count), at: begun })
    };
    scene.over_parts(cluster, before).map(|sum| sum.value)
}
