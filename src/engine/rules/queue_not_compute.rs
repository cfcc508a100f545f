//! Requests wait in the queue although the accelerator is not the limit.

use super::no_progress;
use super::queueing::{WAIT, Wait, busiest_accelerator};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_UTILIZATION, QUEUE_RUNNING, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::subject::{Kind, Subject};

/// The id of the rule, which loops ask for by name.
pub(crate) const ID: &str = "queue-not-compute";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "requests wait in the queue though compute is not the limit",
    doc: "Waiting requests over the completion rate, the time a new request will wait (Little's law), is at \
          least half the latency objective and no shorter than ten intervals ago, while the accelerator is not busy. Of several instances one \
          that waits far longer than all together is the one that is told. Without a source for \
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
        WAIT,
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
    let (wait, limit) = match Wait::that_troubles(scene, queue, limits) {
        Ok(troubles) => troubles,
        Err(judgement) => return judgement,
    };
    let utilization = busiest_accelerator(scene, &wait.whose);
    if let Some(busy) = utilization.filter(|seen| seen.value >= limits.of("busy")) {
        // A kernel that hangs keeps its accelerator busy.
        let service = Subject::component(Kind::Service, queue.name());
        if scene.findings.stirring(&[no_progress::ID], &service) {
            return Judgement::Unknown(format!(
                "{:.0} wait and nothing ends, though the accelerator is {} busy: with what, nothing tells",
                wait.waiting.value,
                show(busy.value, Unit::Ratio)
            ));
        }
        return Judgement::Clear(format!(
            "a wait of {}, but the accelerator is {} busy: compute is the limit",
            wait.shown(),
            show(busy.value, Unit::Ratio)
        ));
    }
    let mut numbers = wait.evidence(limit);
    numbers.extend(
        scene.total(&wait.whose, QUEUE_RUNNING).map(|seen| evidence(QUEUE_RUNNING, seen, None, None)),
    );
    numbers.extend(utilization.map(|seen| evidence(GPU_UTILIZATION, seen, Some(limits.of("busy")), None)));
    let breach = Breach::new(
        format!("{}, limit {}", wait.words(), show(limit, Unit::Seconds)),
        format!("queue wait {}", wait.shown()),
        wait.seconds / limit,
        numbers,
    );
    if utilization.is_some() {
        breach.judged()
    } else {
        breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
    }
}
