//! Something keeps a little of a GPU's memory with every request.

use std::time::Duration;

use super::gpu_memory_full::{Used, failures, gravest, memories, tells_failures};
use super::gpus::{asked, at, may_load};
use super::rising::Rise;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches, gpu_memory_full};
use crate::gpu_memory::{Course, Growth};
use crate::metric::Unit;
use crate::quantity::{foreseen, show};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "gpu-memory-leak",
    title: "the memory of a GPU grows with every request and does not come back",
    doc: "Memory in use rises steadily, by a five-hundredth of all of it at least, and still rises in the last quarter of half a \
          minute, of two minutes or of half an hour; what came before a restart does not count, and neither do the \
          first 30 s after one. It must have stood still for two minutes before, or requests were served on this GPU meanwhile, or it \
          grows for a quarter of an hour: else it may be a server that loads; so may what a process holds that came to others within five minutes. The slope is the median over all pairs of points (Theil and Sen). Nothing fails \
          before all of it is used, so until then it is a suspect, with the time that is left; grown until it is full it is worth the middle for two minutes, and \
          once allocations fail in a memory that is nine tenths full, it convicts. Each memory is judged by itself. Memory that was flat from the first look on is none: a server takes what \
          it needs when it starts. Where requests rose as well, more at once may need more.",
    next: "go back to the build before, and until then restart the service on this GPU one instance at a time: a restart \
           frees its memory now, and alone only begins the same again",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 5,
    thresholds: &[
        Threshold {
            name: "room",
            default: 0.8,
            unit: Unit::Ratio,
            help: "share of the memory below which too short a look is no reason to doubt it",
        },
        Threshold {
            name: "rise",
            default: 1.3,
            unit: Unit::Ratio,
            help: "multiple of the requests before it grew from which more load may be what needs it",
        },
    ],
    rivals: &[RivalRow {
        rule: "surge",
        told_by: "requests and their length against before: what they need comes back when they end",
    }],
    absorbs: &[gpu_memory_full::ID],
    judge,
};

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let each = memories(scene, gpu).into_iter().map(|used| judge_memory(scene, gpu, &used, limits));
    gravest(each)
        .unwrap_or_else(|| Judgement::Unknown(format!("how full its memory is: {}", scene.missing(gpu))))
}

fn judge_memory(scene: &Scene<'_>, gpu: &Subject, used: &Used<'_>, limits: &Limits<'_>) -> Judgement {
    let words = used.words();
    match used.course(scene) {
        Course::Grows(growth) if !may_load(scene, used.part, &growth) => {
            leaks(scene, gpu, used, &growth, limits)
        }
        Course::Grows(Growth { full_since: Some(_), .. }) => {
            Judgement::Clear(format!("{words}, taken as a server loads"))
        }
        Course::Grows(_) => Judgement::Unknown(format!("{words}, and grows as it does while a server loads")),
        Course::Flat => Judgement::Clear(format!("{words}, not growing")),
        Course::TooShort if used.share() < limits.of("room") => Judgement::Clear(words),
        Course::TooShort => {
            Judgement::Unknown(format!("{words}, and not watched long enough to see whether it grows"))
        }
    }
}

fn leaks(
    scene: &Scene<'_>,
    gpu: &Subject,
    used: &Used<'_>,
    growth: &Growth,
    limits: &Limits<'_>,
) -> Judgement {
    let failures = failing(scene, gpu, used);
    if failures.is_none() && growth.has_settled(scene.now) {
        let words = used.words();
        return if tells_failures(scene, gpu) {
            Judgement::Clear(format!("{words}, and no allocation fails"))
        } else {
            Judgement::Unknown(format!("{words}; nothing tells whether allocations fail"))
        };
    }
    // While it grew, and not now: when it is full, those who are refused come again.
    let rate = asked(scene, gpu, used.part, (growth.slope_from, growth.to.at));
    let rate = rate.filter(|rate| *rate > 0.0);
    let each = rate.map(|rate| growth.per_second / rate);
    let per_request = each.map_or(String::new(), |bytes| format!(", {} a request", show(bytes, Unit::Bytes)));
    // What has no room left to grow grew. The slope is that of the shortest span that tells one: it may have begun slower.
    let grows = if growth.full_since.is_some() { "grew at last" } else { "grows now" };
    let ends = match (growth.full_since, growth.full_in_s) {
        (Some(since), _) => format!("it is full since {}", since.clock()),
        (None, Some(seconds)) => format!("full in {} as it grows now", foreseen(seconds)),
        (None, None) => "not full within a day".to_owned(),
    };
    let seen = |value: f64| Seen { value, at: growth.to.at };
    let mut numbers = used.evidence(of_full(scene, gpu, "full"));
    numbers.push(named_evidence(
        "growth".to_owned(),
        Unit::BytesPerSecond,
        seen(growth.per_second),
        Some(0.0),
        None,
    ));
    numbers.extend(
        each.map(|each| named_evidence("growth a request".to_owned(), Unit::Bytes, seen(each), None, None)),
    );
    numbers.extend(
        growth.full_in_s.map(|seconds| {
            named_evidence("time to full".to_owned(), Unit::Seconds, seen(seconds), None, None)
        }),
    );
    let fails = failures.as_ref().map_or(String::new(), |(words, ..)| format!("; {words}"));
    numbers.extend(failures.as_ref().map(|(_, _, number)| number.clone()));
    let breach = Breach::new(
        format!(
            "memory{} {grows} by {}/s{per_request}, from {} at {} to {}, and none comes back; {ends}{fails}",
            at(used.part),
            show(growth.per_second, Unit::Bytes),
            show(growth.from.value, Unit::Bytes),
            growth.from.at.clock(),
            used.words(),
        ),
        format!("{} leaks memory", gpu.name()),
        used.share(),
        numbers,
    );
    let more = asked_more(scene, gpu, used, growth);
    let breach = if more.is_none_or(|more| more >= limits.of("rise")) {
        breach.with_rival(&RULE.rivals[0])
    } else {
        breach
    };
    // It hurts from when there is none left, and not from when it began to go.
    let failing = failures.as_ref().and_then(|(_, rise, _)| rise.began);
    let hurts_since = [growth.full_since, failing].into_iter().flatten().min();
    let full_at = growth.full_in_s.map(|seconds| growth.to.at + Duration::from_secs_f64(seconds));
    let breach = match (&failures, growth.full_since) {
        (Some(_), _) => breach,
        (None, Some(_)) => breach.at_most(Confidence::Medium),
        (None, None) => breach.at_most(Confidence::Low).hurting_from(full_at),
    };
    match hurts_since {
        Some(since) => breach.dated(since).judged(),
        None => breach.judged(),
    }
}

/// Allocations that failed lately for want of memory: one that asked for too much while there was room has nothing to do
/// with it.
fn failing(scene: &Scene<'_>, gpu: &Subject, used: &Used<'_>) -> Option<(String, Rise, Evidence)> {
    failures(scene, gpu, Some(used)).filter(|_| used.share() >= of_full(scene, gpu, "failing"))
}

/// A limit of the rule about full memory.
fn of_full(scene: &Scene<'_>, gpu: &Subject, limit: &str) -> f64 {
    Limits { rule: &gpu_memory_full::RULE, settings: scene.settings, subject: gpu }.of(limit)
}

/// Requests a second at the end of a growth over those at its beginning; `None` where nobody tells both.
fn asked_more(scene: &Scene<'_>, gpu: &Subject, used: &Used<'_>, growth: &Growth) -> Option<f64> {
    let (from, to) = (growth.from.at, growth.to.at);
    let third = to.since(from) / 3;
    let rate = |from, to| asked(scene, gpu, used.part, (from, to));
    let (before, now) = (rate(from, from + third)?, rate(to - third, to)?);
    (before > 0.0).then(|| now / before)
}
