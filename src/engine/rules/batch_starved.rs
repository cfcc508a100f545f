//! Requests wait although there is room for them in the batches.

use super::queueing::{Fill, WAIT, Wait, before, busiest_accelerator};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_UTILIZATION, QUEUE_WAITING, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "batch-starved",
    title: "requests wait though batches have room for them",
    doc: "The wait in the queue is at least half the latency objective and does not fall, while the mean batch of the \
          last ten seconds holds less than half of what it may; or, where no page says what it may hold, while batches \
          keep one size although the queue became twice as long. Then the batcher is fed one at a time, waits for \
          a batch that never fills, or has a limit that somebody set too low. A busy accelerator with small batches \
          has long requests instead: then it is a suspect at most.",
    next: "look at the batcher: its size limit, how long it waits for a batch to fill, and whether one long request \
           holds the others; raise the limit on one instance first",
    watches: Watches::Components(&[Kind::Queue]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "fill",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of a batch that must be filled while requests wait",
        },
        WAIT,
        Threshold {
            name: "busy",
            default: 0.9,
            unit: Unit::Ratio,
            help: "utilisation from which the accelerator may be the limit, however small batches are",
        },
    ],
    rivals: &[RivalRow {
        rule: "compute-bound",
        told_by: "GPU utilisation, and whether a larger batch makes more of them a second",
    }],
    absorbs: &["queue-not-compute"],
    judge,
};

/// How little the size of batches may change to be called one size.
const ONE_SIZE: f64 = 0.02;

/// How much longer a queue must have become for batches of one size to be a sign.
const GROWN: f64 = 2.0;

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let (wait, limit) = match Wait::that_troubles(scene, queue, limits) {
        Ok(troubles) => troubles,
        Err(judgement) => return judgement,
    };
    let Some(fill) = Fill::of(scene, &wait.whose) else {
        return Judgement::Unknown(format!(
            "a wait of {}, and no page says how full batches are",
            wait.shown()
        ));
    };
    let is_starved = match fill.share() {
        Some(share) => share < limits.of("fill"),
        None => match keeps_one_size(scene, &fill, &wait) {
            Some(keeps) => keeps,
            None => {
                return Judgement::Unknown(format!(
                    "{}, and no page says what they may hold: nobody can say whether that is full",
                    fill.words()
                ));
            }
        },
    };
    if !is_starved {
        return Judgement::Clear(fill.words());
    }
    let busy = busiest_accelerator(scene, &wait.whose);
    let most = if fill.share().is_some() { "" } else { " whatever the queue" };
    let mut numbers = fill.evidence(fill.share().map(|_| limits.of("fill")));
    numbers.extend(wait.evidence(limit));
    numbers.extend(busy.map(|seen| evidence(GPU_UTILIZATION, seen, Some(limits.of("busy")), None)));
    let breach = Breach::new(
        format!("{}{most} while {}, limit {}", fill.words(), wait.words(), show(limit, Unit::Seconds)),
        fill.share().map_or("batch of one size".to_owned(), |share| {
            format!("batches {} full", show(share, Unit::Ratio))
        }),
        wait.seconds / limit,
        numbers,
    );
    let is_busy = busy.is_some_and(|seen| seen.value >= limits.of("busy"));
    match busy {
        Some(_) if is_busy => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Low).judged(),
        Some(_) if fill.share().is_some() => breach.judged(),
        _ => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged(),
    }
}

/// Whether batches kept their size while the queue became much longer; `None` while it has not.
fn keeps_one_size(scene: &Scene<'_>, fill: &Fill, wait: &Wait) -> Option<bool> {
    let then = before(scene, &wait.whose, QUEUE_WAITING, wait.waiting)?;
    let has_grown = wait.waiting.value >= then.value * GROWN;
    let size = fill.before.filter(|_| has_grown)?;
    Some((fill.mean.value - size).abs() <= size * ONE_SIZE)
}
