//! A full cache throws out what is still read.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{REDIS_EVICTED, REDIS_EXPIRED, REDIS_HITS, REDIS_MEMORY, REDIS_MISSES, Unit};
use crate::quantity::{show, times};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::subject::Subject;
use crate::wording::baseline_words;

pub(super) static RULE: Rule = Rule {
    id: "evicting",
    title: "a full cache throws out what is still read",
    doc: "A node evicts at least three times as many keys a second as it usually does, and at least 10, while its \
          misses are at least 1.5 times the usual, and so are those for each look-up that finds its key: more traffic \
          alone makes a healthy cache evict and miss more. A full cache that evicts is healthy by itself: the harm is in \
          the misses, each of which someone must compute or read elsewhere. Where nothing says how many reads miss, \
          or hit, it is a suspect at most.",
    next: "see what was written that took the place: a new caller, larger values, or less maxmemory; then make room",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "rise",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the usual evictions: those of its life, where nothing better is known",
        },
        Threshold {
            name: "floor",
            default: 10.0,
            unit: Unit::PerSecond,
            help: "evictions a second below which no cache is being emptied",
        },
        Threshold {
            name: "misses",
            default: 1.5,
            unit: Unit::Ratio,
            help: "multiple of the usual misses, and of those for each hit, from which what is evicted is missed",
        },
        Threshold {
            name: "missed",
            default: 5.0,
            unit: Unit::PerSecond,
            help: "misses a second below which nobody suffers from them",
        },
    ],
    rivals: &[RivalRow {
        rule: "expiry-herd",
        told_by: "keys that expire a second: more than are evicted, and the misses are of those",
    }],
    absorbs: &["hit-but-slow", "miss-flood"],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some((node, evicted)) = scene.worst_node(shard, |node| scene.present(node, REDIS_EVICTED)) else {
        return Judgement::Unknown(scene.missing(shard));
    };
    if let Some(missing) = scene.unseen_primary(shard, |node| scene.present(node, REDIS_EVICTED)) {
        return Judgement::Unknown(missing);
    }
    let shown = show(evicted.value, Unit::PerSecond);
    if evicted.value < limits.of("floor") {
        let what = if evicted.value > 0.0 { format!("evicts {shown}") } else { "evicts nothing".to_owned() };
        return Judgement::Clear(what);
    }
    let Some(usual) = scene.baseline(&node, REDIS_EVICTED, None) else {
        return Judgement::Unknown(format!("evicts {shown}, and nothing says how many are usual"));
    };
    let limit = limits.of("floor").max(usual.typical * limits.of("rise"));
    let than = format!("{} {}", baseline_words(usual.from), show(usual.typical, Unit::PerSecond));
    if evicted.value < limit {
        return Judgement::Clear(format!("evicts {shown}, {than}"));
    }
    let misses = scene.present(&node, REDIS_MISSES);
    let healthy = scene.baseline(&node, REDIS_MISSES, None);
    let mut numbers = vec![evidence(REDIS_EVICTED, evicted, Some(limit), Some(usual))];
    let used = scene.latest(&node, REDIS_MEMORY).map(|seen| evidence(REDIS_MEMORY, seen, None, None));
    let at = node.address().unwrap_or("its node");
    let said = format!("evicts {shown} at {at}, {than}");
    let short = format!("#{} evicts {shown}", shard.shard_index().unwrap_or(0));
    let severity = evicted.value / limit;
    let Some((missed, healthy)) = misses.zip(healthy) else {
        numbers.extend(used);
        let sentence = format!("{said}; nothing says whether more reads miss for it");
        return Breach::new(sentence, short, severity, numbers).at_most(Confidence::Low).judged();
    };
    let least = limits.of("missed").max(healthy.typical * limits.of("misses"));
    let reads = format!(
        "{} reads miss, {} {}",
        show(missed.value, Unit::PerSecond),
        baseline_words(healthy.from),
        show(healthy.typical, Unit::PerSecond)
    );
    if missed.value < least {
        return Judgement::Clear(format!("{said}; but {reads}: what it evicts is not missed"));
    }
    let hits = scene.hits(&node).zip(scene.baseline(&node, REDIS_HITS, None));
    let share = |misses: f64, hits: f64| misses / (misses + hits).max(f64::MIN_POSITIVE);
    let shares =
        hits.map(|(now, usual)| (share(missed.value, now.value), share(healthy.typical, usual.typical)));
    // By hits, because a share that is above two thirds cannot become half as much again.
    let odds = |share: f64| share / (1.0 - share).max(f64::MIN_POSITIVE);
    if let Some((now, before)) =
        shares.filter(|(now, before)| odds(*now) < odds(*before) * limits.of("misses"))
    {
        return Judgement::Clear(format!(
            "{said}; {reads}, and so do more reads hit: {} of all miss, usually {}",
            show(now, Unit::Ratio),
            show(before, Unit::Ratio)
        ));
    }
    numbers.push(evidence(REDIS_MISSES, missed, Some(least), Some(healthy)));
    numbers.extend(used);
    let rise = times(evicted.value / usual.typical.max(1.0));
    let of_all = match shares {
        Some((now, _)) => format!(" ({} of all)", show(now, Unit::Ratio)),
        None => ", and nothing says of how many".to_owned(),
    };
    let breach = Breach::new(format!("{said} ({rise}); {reads}{of_all}"), short, severity, numbers);
    let breach = if shares.is_none() { breach.at_most(Confidence::Low) } else { breach };
    let expires = scene.present(&node, REDIS_EXPIRED).is_some_and(|seen| seen.value > evicted.value);
    if expires { breach.with_rival(&RULE.rivals[0]).judged() } else { breach.judged() }
}
