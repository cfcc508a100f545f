//! Requests wait longer than their callers do, and nobody is refused.

use std::time::Duration;

use super::queueing::{WAIT, Wait};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{QUEUE_REJECTED, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "no-backpressure",
    title: "requests wait longer than their callers do, and nobody is refused",
    doc: "Waiting requests over the completion rate is longer than callers wait for an answer (the shortest time-out \
          that a client or a gateway above the queue exposes, or that is declared for it as 'timeout'), does not fall, and the queue refuses nobody. Then all \
          that is done is done for callers that have gone, and a queue that a short fault filled stays full. It keeps \
          a failure up and does not begin it: medium at most.",
    next: "answer 503 with Retry-After: 1 from 80 % of the queue on, or bound the queue by the time that callers wait; \
           drop what waited longer than its caller does",
    watches: Watches::Components(&[Kind::Queue]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        WAIT,
        Threshold {
            name: "refused",
            default: 0.1,
            unit: Unit::PerSecond,
            help: "refusals a second from which the queue pushes back",
        },
    ],
    rivals: &[RivalRow {
        rule: "queue-not-compute",
        told_by: "whether the queue drains once callers are refused",
    }],
    absorbs: &[],
    judge,
};

/// The span over which refusals are counted: a queue at its limit refuses some now and then.
const SPAN: Duration = Duration::from_secs(10);

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let (wait, _) = match Wait::that_troubles(scene, queue, limits) {
        Ok(troubles) => troubles,
        Err(judgement) => return judgement,
    };
    let refused = scene.total_over(queue, QUEUE_REJECTED, SPAN);
    if let Some(refused) = refused.filter(|seen| seen.value >= limits.of("refused")) {
        return Judgement::Clear(format!(
            "a wait of {}, and {} refused",
            wait.shown(),
            show(refused.value, Unit::PerSecond)
        ));
    }
    let Some((caller, timeout)) = shortest_patience(scene, queue) else {
        return Judgement::Unknown(format!(
            "a wait of {}, and no page says how long callers wait for an answer",
            wait.shown()
        ));
    };
    let patience = show(timeout.value, Unit::Seconds);
    if wait.seconds < timeout.value {
        return Judgement::Clear(format!("a wait of {}, {caller} waits {patience}", wait.shown()));
    }
    let Some(refused) = refused else {
        return Judgement::Unknown(format!(
            "a wait of {}, {caller} waits {patience}, and no page counts refused requests",
            wait.shown()
        ));
    };
    let mut numbers = wait.evidence(timeout.value);
    numbers.push(evidence(QUEUE_REJECTED, refused, Some(limits.of("refused")), None));
    Breach::new(
        format!("{}, {caller} gives up after {patience}, and nobody is refused", wait.words()),
        format!("queue wait {} beyond the time-out", wait.shown()),
        wait.seconds / timeout.value,
        numbers,
    )
    .at_most(Confidence::Medium)
    .judged()
}

/// Who of those above a queue gives up first, and after how many seconds.
fn shortest_patience(scene: &Scene<'_>, queue: &Subject) -> Option<(Subject, Seen)> {
    let above = scene.graph.above(queue);
    let callers = above.keys().filter(|caller| matches!(caller.kind(), Kind::Client | Kind::Gateway));
    callers
        .flat_map(|caller| scene.patience(caller).into_iter().map(move |patience| (caller, patience.seconds)))
        .min_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
        .map(|(caller, seconds)| (caller.clone(), seconds))
}
