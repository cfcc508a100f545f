//! Requests are pushed out of batches because the KV cache is full.

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
          one in ten seconds at least, and twice the healthy rate where that is known. What was read for them is \
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

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let fullest = scene
        .world
        .parts(queue)
        .filter_map(|(part, _)| Some((part, scene.present(part, KV_USAGE)?)))
        .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let Some((fullest, usage)) = fullest else {
        return Judgement::Unknown(format!("no use of the KV cache: {}", scene.missing(queue)));
    };
    let shown = format!("KV cache {} full", show(usage.value, Unit::Ratio));
    if usage.value < limits.of("usage") {
        return Judgement::Clear(shown);
    }
    let Some(pushed) = scene.total(queue, PREEMPTIONS) else {
        return Judgement::Unknown(format!("{shown}, and no page counts who is pushed out"));
    };
    let usual = scene.total_baseline(queue, PREEMPTIONS);
    let limit = usual.map_or(0.0, |usual| usual.typical * limits.of("rise")).max(limits.of("floor"));
    let rate = show(pushed.value, Unit::PerSecond);
    if pushed.value < limit {
        return Judgement::Clear(format!("{shown}, and {rate} pushed out"));
    }
    let whose = fullest.address().map_or(String::new(), |address| format!(" at {address}"));
    let mut numbers = vec![
        evidence(KV_USAGE, usage, Some(limits.of("usage")), None),
        evidence(PREEMPTIONS, pushed, Some(limit), usual),
    ];
    let waiting: Option<Seen> = scene.total(queue, QUEUE_WAITING);
    numbers.extend(waiting.map(|seen| evidence(QUEUE_WAITING, seen, None, None)));
    Breach::new(
        format!(
            "{shown}{whose}, and {rate} requests are pushed out of batches, limit {}",
            show(limit, Unit::PerSecond)
        ),
        shown,
        pushed.value / limit,
        numbers,
    )
    .with_rival(&RULE.rivals[0])
    .judged()
}
