//! Requests are pushed out of batches because the KV cache is full.

use std::time::Duration;

use super::surge::is_excluded as surge_is_excluded;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{KV_USAGE, PREEMPTIONS, QUEUE_WAITING, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "kv-cache-pressure",
    title: "the KV cache is full and pushes requests out",
    doc: "The KV cache of an instance is at least 95 % full, and requests are pushed out of batches for want of it: \
          three within half a minute at least, and twice the healthy rate where that is known. What was read for them is \
          read again later, so the more are pushed out the less is done. A full cache that pushes nobody out is a \
          cache in use.",
    next: "admit fewer at once or shorter ones (the limits of sequences and of context), see whether prompts became \
           longer, and add an instance by waiting requests",
    watches: Watches::Those {
        kinds: &[Kind::Queue],
        which: "whose page tells of its KV cache",
        are: |scene, queue| {
            scene.world.parts(queue).any(|(part, _)| scene.store.points(part, KV_USAGE, None).is_some())
        },
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "usage",
            default: 0.95,
            unit: Unit::Ratio,
            help: "share of the KV cache in use from which new requests push others out",
        },
        Threshold {
            name: "floor",
            default: 0.1,
            unit: Unit::PerSecond,
            help: "preemptions a second below which they cost nothing",
        },
        Threshold {
            name: "rise",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the healthy rate of preemptions",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "original requests against their healthy rate" }],
    absorbs: &["queue-not-compute", "batch-starved"],
    judge,
};

/// The span over which preemptions are counted: they come in bursts, and one alone costs nothing.
const SPAN: Duration = Duration::from_secs(30);

/// An instance with a full cache.
struct Full<'a> {
    instance: &'a Subject,
    usage: Seen,
    /// How often it pushes requests out; `None` where it does not count.
    pushed: Option<Seen>,
}

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let all: Vec<(&Subject, Seen)> = scene
        .world
        .parts(queue)
        .filter_map(|(part, _)| Some((part, scene.present(part, KV_USAGE)?)))
        .collect();
    let fullest = all.iter().max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let Some((_, most)) = fullest else {
        return Judgement::Unknown(format!("no use of the KV cache: {}", scene.missing(queue)));
    };
    let shown = |usage: Seen| format!("KV cache {} full", show(usage.value, Unit::Ratio));
    if most.value < limits.of("usage") {
        return Judgement::Clear(shown(*most));
    }
    // Who pushes requests out must be who is full: of several instances each has a cache of its own.
    let full = all.iter().filter(|(_, usage)| usage.value >= limits.of("usage"));
    let full = full.map(|(instance, usage)| Full {
        instance,
        usage: *usage,
        pushed: scene.mean_over(instance, PREEMPTIONS, None, SPAN),
    });
    let rate = |full: &Full<'_>| full.pushed.map_or(-1.0, |pushed| pushed.value);
    let worst = full.max_by(|one, other| rate(one).total_cmp(&rate(other)));
    let Some((Full { instance, usage, .. }, pushed)) = worst.and_then(|full| {
        let pushed = full.pushed?;
        Some((full, pushed))
    }) else {
        return Judgement::Unknown(format!("{}, and no page counts who is pushed out", shown(*most)));
    };
    let shown = shown(usage);
    let usual = scene.baseline(instance, PREEMPTIONS, None);
    let limit = usual.map_or(0.0, |usual| usual.typical * limits.of("rise")).max(limits.of("floor"));
    let rate = show(pushed.value, Unit::PerSecond);
    // One just after the start is a high rate and no pressure: as many as the least rate gives over the whole span.
    let gained = scene.gained_over(instance, PREEMPTIONS, None, SPAN).map_or(0.0, |gained| gained.value);
    if pushed.value < limit || gained < limits.of("floor") * SPAN.as_secs_f64() {
        return Judgement::Clear(format!("{shown}, and {rate} pushed out"));
    }
    let whose = instance.address().map_or(String::new(), |address| format!(" at {address}"));
    let mut numbers = vec![
        evidence(KV_USAGE, usage, Some(limits.of("usage")), None),
        evidence(PREEMPTIONS, pushed, Some(limit), usual),
    ];
    let waiting = scene.present(instance, QUEUE_WAITING);
    numbers.extend(waiting.map(|seen| evidence(QUEUE_WAITING, seen, None, None)));
    let breach = Breach::new(
        format!(
            "{shown}{whose}, and {rate} requests are pushed out of batches, limit {}",
            show(limit, Unit::PerSecond)
        ),
        shown,
        pushed.value / limit,
        numbers,
    );
    if surge_is_excluded(scene, queue) {
        breach.judged()
    } else {
        breach.with_rival(&RULE.rivals[0]).judged()
    }
}
