//! Checkpoints of a pipeline take long, or fail.

use std::time::Duration;

use super::late_flow::{Past, levels};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{BACK_PRESSURE, CHECKPOINT_DURATION, CHECKPOINT_FAILURES, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, Told, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "checkpoint-slow",
    title: "checkpoints of a pipeline take long or fail",
    doc: "The last checkpoint took more than twice the 90th percentile of the last healthy hour, or two and more \
          failed within 10 minutes: one alone is made up for by the next. Barriers travel with the data, so tasks that cannot pass their output on hold them up: back pressure \
          shows first as slow checkpoints. Meanwhile what the pipeline writes grows old. A declared or learned healthy \
          value goes first; without 30 healthy points nobody knows what is usual.",
    next: "look for the task with the highest back pressure and at what it writes to; then at the store of the state",
    watches: Watches::Those {
        kinds: &[Kind::Pipeline],
        which: "that tells of its checkpoints",
        are: |scene, pipeline| scene.tells(pipeline, CHECKPOINT_DURATION),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "multiple",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the 90th percentile of a healthy hour",
        },
        Threshold {
            name: "floor",
            default: 1.0,
            unit: Unit::Seconds,
            help: "duration below which a multiple means nothing",
        },
        Threshold {
            name: "failures",
            default: 2.0,
            unit: Unit::Count,
            help: "checkpoints that fail within 10 minutes",
        },
    ],
    rivals: &[RivalRow {
        rule: "consumer-lag",
        told_by: "back pressure per task: without any, the state or its store is slow and not the flow",
    }],
    absorbs: &["deviation"],
    judge,
};

/// The span in which failures count.
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// The past in which a duration is usual.
const HOUR: Duration = Duration::from_secs(3_600);

fn judge(scene: &Scene<'_>, pipeline: &Subject, limits: &Limits<'_>) -> Judgement {
    let past = Past { span: HOUR, quantile: 0.9, multiple: limits.of("multiple"), floor: limits.of("floor") };
    let all = levels(scene, pipeline, CHECKPOINT_DURATION, &past);
    let Some(worst) = all.first() else {
        return Judgement::Unknown(format!("no checkpoint: {}", scene.missing(pipeline)));
    };
    let seconds = |value: f64| show(value, Unit::Seconds);
    let shown = format!("the last checkpoint of {} took {}", worst.name, seconds(worst.seen.value));
    let pressure = back_pressure(scene, pipeline);
    // Counted from a rate, which is a little less or more than the whole.
    let failures = failures(scene, pipeline).filter(|seen| seen.value.round() >= limits.of("failures"));
    let limit = worst.limit.filter(|limit| worst.seen.value > *limit);
    let mut numbers = vec![];
    let (sentence, short, severity) = match (limit, failures) {
        (Some(limit), _) => {
            let usual =
                worst.usual.map_or(String::new(), |usual| format!(", usually {}", seconds(usual.typical)));
            numbers.push(evidence(CHECKPOINT_DURATION, worst.seen, Some(limit), worst.usual));
            let sentence = format!("{shown}{usual}, limit {}", seconds(limit));
            (sentence, format!("checkpoint {}", seconds(worst.seen.value)), worst.severity())
        }
        (None, Some(failed)) => (
            format!(
                "{:.0} checkpoints failed within 10 min, limit {:.0}",
                failed.value,
                limits.of("failures")
            ),
            "checkpoints fail".to_owned(),
            failed.value / limits.of("failures"),
        ),
        (None, None) => {
            return match all.iter().find(|level| level.limit.is_none()) {
                Some(_) => {
                    Judgement::Unknown(format!("{shown}, and no healthy duration to compare with yet"))
                }
                None => Judgement::Clear(shown),
            };
        }
    };
    let limit = Some(limits.of("failures"));
    numbers.extend(
        failures.map(|seen| named_evidence("failed checkpoints".to_owned(), Unit::Count, seen, limit, None)),
    );
    numbers.extend(pressure.map(|seen| evidence(BACK_PRESSURE, seen, None, None)));
    let breach = Breach::new(sentence, short, severity, numbers);
    match pressure {
        Some(_) => breach.judged(),
        None => breach.with_rival(&RULE.rivals[0]).judged(),
    }
}

/// How many checkpoints failed in the last ten minutes, over all jobs.
fn failures(scene: &Scene<'_>, pipeline: &Subject) -> Option<Seen> {
    let told = scene.told(pipeline, CHECKPOINT_FAILURES).into_iter();
    let gained =
        |told: Told| scene.gained_over(&told.by, CHECKPOINT_FAILURES, told.part.as_ref(), TEN_MINUTES);
    Seen::sum(told.filter_map(gained))
}

/// The highest back pressure of its tasks.
fn back_pressure(scene: &Scene<'_>, pipeline: &Subject) -> Option<Seen> {
    let told = scene.told(pipeline, BACK_PRESSURE).into_iter();
    told.filter_map(|told| scene.present_part(&told.by, BACK_PRESSURE, told.part.as_ref()))
        .max_by(|one, other| one.value.total_cmp(&other.value))
}
