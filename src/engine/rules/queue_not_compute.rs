//! Requests wait in the queue although the accelerator is not the limit.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_UTILIZATION, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which loops ask for by name.
pub(crate) const ID: &str = "queue-not-compute";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "requests wait in the queue though compute is not the limit",
    doc: "Waiting requests over the completion rate, the time a new request will wait (Little's law), is at \
          least half the latency objective and rising, while the accelerator is not busy. Without a source for \
          the accelerator the two cannot be told apart: compute-bound stays as a rival and the confidence at \
          medium.",
    next: "look at the batcher: batch size, its wait, and whether it is fed one at a time; answer 503 with \
           Retry-After at 80 % of the queue",
    watches: Watches::Components(&[Kind::Queue]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "wait",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of the latency objective that may be spent waiting",
        },
        Threshold {
            name: "busy",
            default: 0.9,
            unit: Unit::Ratio,
            help: "utilisation from which the accelerator may be the limit",
        },
    ],
    rivals: &[RivalRow {
        rule: "compute-bound",
        told_by: "GPU utilisation and tokens a second at the plateau",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(waiting) = scene.total(queue, QUEUE_WAITING) else {
        return Judgement::Unknown(format!("no queue depth: {}", scene.missing(queue)));
    };
    let service = Subject::component(Kind::Service, queue.name());
    let Some(done) = scene.total(&service, REQUESTS) else {
        return Judgement::Unknown(format!("no completion rate: {}", scene.missing(&service)));
    };
    let wait = waiting.value / done.value.max(0.1);
    let limit = scene.objective(&service) * limits.of("wait");
    let shown = show(wait, Unit::Seconds);
    if wait < limit {
        return Judgement::Clear(format!("{:.0} waiting, a wait of {shown}", waiting.value));
    }
    if !is_rising(scene, queue, waiting) {
        return Judgement::Clear(format!("{:.0} waiting, a wait of {shown}, and falling", waiting.value));
    }
    let gpu = Subject::component(Kind::Gpu, queue.name());
    let utilization = scene
        .world
        .parts(&gpu)
        .filter_map(|(part, _)| scene.present(part, GPU_UTILIZATION))
        .reduce(|one, other| if other.value > one.value { other } else { one });
    if let Some(busy) = utilization.filter(|seen| seen.value >= limits.of("busy")) {
        return Judgement::Clear(format!(
            "a wait of {shown}, but the accelerator is {} busy: compute is the limit",
            show(busy.value, Unit::Ratio)
        ));
    }
    let mut numbers = vec![
        named_evidence(
            "waiting time".to_owned(),
            Unit::Seconds,
            Seen { value: wait, at: waiting.at },
            Some(limit),
            None,
        ),
        evidence(QUEUE_WAITING, waiting, None, None),
        evidence(REQUESTS, done, None, None),
    ];
    numbers.extend(scene.total(queue, QUEUE_RUNNING).map(|seen| evidence(QUEUE_RUNNING, seen, None, None)));
    numbers.extend(utilization.map(|seen| evidence(GPU_UTILIZATION, seen, Some(limits.of("busy")), None)));
    let breach = Breach::new(
        format!(
            "{:.0} waiting at {} done: a wait of {shown}, limit {}",
            waiting.value,
            show(done.value, Unit::PerSecond),
            show(limit, Unit::Seconds)
        ),
        format!("queue wait {shown}"),
        wait / limit,
        numbers,
    );
    if utilization.is_some() {
        breach.judged()
    } else {
        breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
    }
}

/// Whether the queue is no shorter than it was ten intervals ago, or had no past to compare with.
fn is_rising(scene: &Scene<'_>, queue: &Subject, now: Seen) -> bool {
    let then = now.at - scene.settings.interval * 10;
    let before =
        scene.over_parts(queue, |part| scene.store.points(part, QUEUE_WAITING, None)?.since(then).next());
    before.is_none_or(|before| now.value >= before.value * 0.9)
}
