//! Look-ups miss far more often than usual.

use std::time::Duration;

use super::{Breach, EXPIRY_HERD, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{
    CACHE_MISSES, Metric, REDIS_EVICTED, REDIS_EXPIRED, REDIS_HITS, REDIS_KEYS, REDIS_MISSES, Unit,
};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "miss-flood",
    title: "look-ups miss far more often than usual",
    doc: "Misses a second, over all shards or on one, are at least three times their healthy value and at least 50 a \
          second, and their share of all look-ups has risen with them: more traffic alone is no flood. Of what kind it \
          is, the server's other counts say: with evictions the memory is short; with many expiries keys expired \
          together; with fewer keys than before they were deleted; with none of these, keys are asked for that never \
          existed. Where the misses of the server are as ever and a service counts more of its own, its reads come \
          too late: that is a slow shard and no flood; whether services count any is not known everywhere. A miss \
          costs its callers whatever it takes to fetch the value, so the time is lost elsewhere than in Redis.",
    next: "let one request fetch a missing key while the others wait for it; then see the kind: room, lifetimes, or \
           keys that are asked for and never were",
    watches: Watches::Components(&[Kind::Redis]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "rise",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the healthy misses a second",
        },
        Threshold {
            name: "share",
            default: 1.5,
            unit: Unit::Ratio,
            help: "multiple of the healthy share of misses among look-ups; below it the traffic rose and not the misses",
        },
        Threshold {
            name: "floor",
            default: 50.0,
            unit: Unit::PerSecond,
            help: "misses a second below which no store behind the cache is in trouble",
        },
    ],
    rivals: &[
        RivalRow { rule: "evicting", told_by: "keys that the server evicts in a second" },
        RivalRow { rule: EXPIRY_HERD, told_by: "keys that expire in a second, against their usual" },
        RivalRow { rule: "access-changed", told_by: "which keys are asked for, and by whom since when" },
    ],
    absorbs: &["access-changed"],
    judge,
};

/// Evictions or expiries for each additional miss from which they are what makes the misses.
const ENOUGH: f64 = 0.2;

/// A loss of this share of the keys is no coincidence.
const KEYS_LOST: f64 = 0.2;

/// How far back the number of keys is looked at.
const KEYS_SPAN: Duration = Duration::from_secs(300);

fn judge(scene: &Scene<'_>, redis: &Subject, limits: &Limits<'_>) -> Judgement {
    let (Some(_), Some(misses)) = (scene.hits(redis), scene.total(redis, REDIS_MISSES)) else {
        return Judgement::Unknown(format!("no look-ups are counted: {}", scene.missing(redis)));
    };
    let silent = scene
        .world
        .shards(redis)
        .iter()
        .find_map(|shard| scene.unseen_primary(&shard.subject, |node| scene.present(node, REDIS_MISSES)));
    let shards = scene.world.shards(redis).iter().map(|shard| &shard.subject).filter(|shard| *shard != redis);
    let floods: Vec<Flood> =
        std::iter::once(redis).chain(shards).filter_map(|place| flood(scene, place, limits)).collect();
    // The whole stands for its parts; one shard of many may be in it alone.
    let worst = floods.iter().max_by(|one, other| one.times.total_cmp(&other.times));
    let Some(flood) = floods.iter().find(|flood| flood.place == *redis).or(worst) else {
        let shown = show(misses.value, Unit::PerSecond);
        if misses.value >= limits.of("floor") && scene.total_baseline(redis, REDIS_MISSES).is_none() {
            return Judgement::Unknown(format!(
                "{shown} look-ups miss, and nobody knows whether that is usual"
            ));
        }
        if let Some(missing) = silent {
            return Judgement::Unknown(missing);
        }
        return judge_callers(scene, redis, limits, &shown);
    };
    let kind = kind(scene, flood);
    let shard = flood.place.shard_index().map_or(String::new(), |index| format!(" on shard {index}"));
    let mut numbers = vec![
        evidence(REDIS_MISSES, flood.misses, Some(flood.limit), Some(flood.healthy)),
        named_evidence(
            "hit ratio".to_owned(),
            Unit::Ratio,
            Seen { value: 1.0 - flood.share, at: flood.misses.at },
            None,
            None,
        ),
    ];
    numbers.extend(kind.seen.map(|(metric, seen)| evidence(metric, seen, None, None)));
    let mut breach = Breach::new(
        format!(
            "{} look-ups miss{shard}, usually {}; hit ratio {}, usually {}; {}",
            show(flood.misses.value, Unit::PerSecond),
            show(flood.healthy.typical, Unit::PerSecond),
            show(1.0 - flood.share, Unit::Ratio),
            show(1.0 - flood.usual_share, Unit::Ratio),
            kind.words,
        ),
        format!("{} misses", show(flood.misses.value, Unit::PerSecond)),
        flood.misses.value / flood.limit,
        numbers,
    )
    .at_most(kind.at_most)
    .made_up_for_elsewhere();
    for row in RULE.rivals.iter().filter(|row| kind.rivals.contains(&row.rule)) {
        breach = breach.with_rival(row);
    }
    breach.judged()
}

/// More misses than usual, of a whole deployment or of one shard.
struct Flood {
    place: Subject,
    misses: Seen,
    healthy: Baseline,
    limit: f64,
    times: f64,
    share: f64,
    usual_share: f64,
}

fn flood(scene: &Scene<'_>, place: &Subject, limits: &Limits<'_>) -> Option<Flood> {
    let misses = scene.total(place, REDIS_MISSES)?;
    // What is healthy costs a walk over a quarter of an hour: it is asked for where it can matter.
    if misses.value < limits.of("floor") {
        return None;
    }
    let hits = scene.hits(place)?;
    let (usual_hits, healthy) =
        (scene.total_baseline(place, REDIS_HITS)?, scene.total_baseline(place, REDIS_MISSES)?);
    let share = misses.value / (hits.value + misses.value);
    let usual = healthy.typical + usual_hits.typical;
    let usual_share = if usual > 0.0 { healthy.typical / usual } else { 0.0 };
    let limit = limits.of("floor").max(healthy.typical * limits.of("rise"));
    (misses.value >= limit && share >= usual_share * limits.of("share")).then(|| Flood {
        place: place.clone(),
        misses,
        healthy,
        limit,
        times: misses.value / limit,
        share,
        usual_share,
    })
}

/// What makes the misses, with the number that says so, and which rules see that from its own side: where one does,
/// misses are its consequence.
struct FloodKind {
    words: String,
    seen: Option<(Metric, Seen)>,
    rivals: &'static [&'static str],
    /// Who asks for what never was did it, and not who has it not.
    at_most: Confidence,
}

fn kind(scene: &Scene<'_>, flood: &Flood) -> FloodKind {
    let more = flood.misses.value - flood.healthy.typical;
    // A cache with lifetimes expires keys at any time: what is more than usual counts.
    let enough = |metric| {
        let seen = scene.total(&flood.place, metric)?;
        let usual = scene.total_baseline(&flood.place, metric)?;
        (seen.value - usual.typical >= more * ENOUGH).then_some(seen)
    };
    // Without a usual value nobody can say that there are no more.
    let is_told = |metric| {
        scene.total(&flood.place, metric).is_some_and(|seen| {
            seen.value < more * ENOUGH || scene.total_baseline(&flood.place, metric).is_some()
        })
    };
    let cluster = flood.place.component_of();
    let herd = scene.findings.iter().any(|finding| {
        finding.rule.id == EXPIRY_HERD && cluster.contains(&finding.subject) && finding.counts()
    });
    let expired = scene.total(&flood.place, REDIS_EXPIRED);
    if let Some(seen) = enough(REDIS_EVICTED) {
        let words = format!("{} keys are evicted: the memory is short", show(seen.value, Unit::PerSecond));
        return FloodKind {
            words,
            seen: Some((REDIS_EVICTED, seen)),
            rivals: &["evicting"],
            at_most: Confidence::Medium,
        };
    }
    if herd || enough(REDIS_EXPIRED).is_some() {
        let words = "keys expired together just before".to_owned();
        let seen = expired.map(|seen| (REDIS_EXPIRED, seen));
        return FloodKind { words, seen, rivals: &[EXPIRY_HERD], at_most: Confidence::Medium };
    }
    if let Some((before, now)) = lost_keys(scene, &flood.place) {
        let (before, shown) = (show(before, Unit::Count), show(now.value, Unit::Count));
        let words = format!("keys were deleted: {before} became {shown}");
        return FloodKind { words, seen: Some((REDIS_KEYS, now)), rivals: &[], at_most: Confidence::Medium };
    }
    let words =
        "neither evicted nor expired more than usual: keys are asked for that never existed".to_owned();
    // What is not counted is not excluded.
    match (is_told(REDIS_EVICTED), is_told(REDIS_EXPIRED)) {
        (true, true) => {
            FloodKind { words, seen: None, rivals: &["access-changed"], at_most: Confidence::Low }
        }
        (false, _) => {
            let words = "nothing says whether keys are evicted".to_owned();
            FloodKind { words, seen: None, rivals: &["evicting", "access-changed"], at_most: Confidence::Low }
        }
        (true, false) => {
            let words = "nothing says whether keys expired".to_owned();
            FloodKind {
                words,
                seen: None,
                rivals: &[EXPIRY_HERD, "access-changed"],
                at_most: Confidence::Low,
            }
        }
    }
}

/// How many keys there were in the last minutes and how many there are, where a fifth of them is gone.
fn lost_keys(scene: &Scene<'_>, place: &Subject) -> Option<(f64, Seen)> {
    let now = scene.total(place, REDIS_KEYS)?;
    let most = scene.over_parts(place, |node| {
        let points = scene.store.points(node, REDIS_KEYS, None)?;
        points.since(scene.now - KEYS_SPAN).max_by(|one, other| one.value.total_cmp(&other.value))
    })?;
    (most.value > 0.0 && now.value <= most.value * (1.0 - KEYS_LOST)).then_some((most.value, now))
}

/// Whether services count more misses of their own although the server's are as ever.
fn judge_callers(scene: &Scene<'_>, redis: &Subject, limits: &Limits<'_>, misses: &str) -> Judgement {
    let callers = scene.graph.above(redis).into_keys().filter(|caller| caller != redis);
    let counted: Vec<(Subject, Seen, Option<Baseline>)> = callers
        .filter_map(|caller| {
            let seen = scene.total(&caller, CACHE_MISSES)?;
            let healthy = scene.total_baseline(&caller, CACHE_MISSES);
            Some((caller, seen, healthy))
        })
        .collect();
    if counted.is_empty() {
        return Judgement::Clear(format!(
            "{misses} look-ups miss; what services count as misses is not told"
        ));
    }
    let rise = |healthy: &Baseline| limits.of("floor").max(healthy.typical * limits.of("rise"));
    let risen = counted.iter().find_map(|(caller, seen, healthy)| {
        let healthy = (*healthy)?;
        (seen.value >= rise(&healthy)).then_some((caller, *seen, healthy))
    });
    let Some((caller, seen, healthy)) = risen else {
        let unknown =
            counted.iter().find(|(_, seen, healthy)| healthy.is_none() && seen.value >= limits.of("floor"));
        if let Some((caller, seen, _)) = unknown {
            return Judgement::Unknown(format!(
                "{caller} counts {} misses, and nobody knows whether that is usual",
                show(seen.value, Unit::PerSecond)
            ));
        }
        return Judgement::Clear(format!("{misses} look-ups miss, and services count no more of their own"));
    };
    Breach::new(
        format!(
            "{caller} counts {} misses, usually {}, while Redis hits as ever ({misses} miss): reads come too late, so \
             look for a slow shard",
            show(seen.value, Unit::PerSecond),
            show(healthy.typical, Unit::PerSecond)
        ),
        format!("{} late reads", show(seen.value, Unit::PerSecond)),
        seen.value / rise(&healthy),
        vec![evidence(CACHE_MISSES, seen, Some(rise(&healthy)), Some(healthy))],
    )
    // It says that a shard is slow and not which.
    .at_most(Confidence::Low)
    .judged()
}
