//! A dependency is not as it usually is, and nothing says how that makes anybody wait.

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::measured::Measured;
use crate::metric::{MetricName, OWN_COST, Unit};
use crate::quantity::{show, times};
use crate::ranking::{Meaning, Nature as Named, Worse};
use crate::report::{BaselineFrom, Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::subject::{Kind, Subject};
use crate::wording::baseline_words;

pub(super) static RULE: Rule = Rule {
    id: "deviation",
    title: "a dependency's own numbers are not as they usually are",
    doc: "While callers suffer, a level or a rate of a database, log, pipeline or host is at least 6 robust \
          standard deviations and half its healthy value away from that: the declared one, that of earlier \
          runs, of this run before the incident, or a counter's lifetime. Which way is worse follows from a \
          metric's row or from the words of its name, else both ways count; counts of requests are left out, because \
          who waits asks less. It names no mechanism: it says where \
          to look when nothing better is known, and convicts nobody.",
    next: "see what changed there since it began; declare 'alerts' for the numbers that matter, and they convict",
    watches: Watches::Those {
        kinds: &[Kind::Dependency, Kind::Kafka, Kind::Pipeline, Kind::Host],
        which: "that tells any number",
        are: |scene, component| scene.world.parts(component).next().is_some(),
    },
    nature: Nature::Circumstance,
    exonerates: true,
    role: Role::Victim,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "robust_z",
            default: 6.0,
            unit: Unit::Ratio,
            help: "robust standard deviations from the healthy value; many numbers are looked at, so three would be chance",
        },
        Threshold {
            name: "change",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of the healthy value by which it must differ",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

/// A healthy value that never moved still has this much spread: a share of itself.
const LEAST_SPREAD: f64 = 0.05;

/// From a healthy zero a number must come to one thing, or one a second.
const LEAST_FROM_ZERO: f64 = 1.0;

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    if scene.graph.callers(component).next().is_none() {
        return Judgement::Unknown(
            "nobody is known to call it, so nobody can say whom it makes wait".to_owned(),
        );
    }
    if !scene.callers_suffer(component) {
        return Judgement::Clear("no caller of it is seen to suffer".to_owned());
    }
    let (mut looked, mut without, mut unusual) = (0, 0, vec![]);
    for measured in numbers(scene, component) {
        let Some(usual) = measured.usual else {
            without += 1;
            continue;
        };
        looked += 1;
        let score = score(&measured, usual);
        let least = usual.typical.abs() * limits.of("change");
        let far = (measured.seen.value - usual.typical).abs();
        let is_far = if usual.typical == 0.0 { far >= LEAST_FROM_ZERO } else { far >= least };
        if score >= limits.of("robust_z") && is_far {
            unusual.push((score, measured, usual));
        }
    }
    if looked == 0 {
        return Judgement::Unknown(format!("no healthy value to compare with: {}", scene.missing(component)));
    }
    unusual.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let Some((score, worst, usual)) = unusual.first() else {
        let rest =
            if without > 0 { format!(", {without} have no past to compare with") } else { String::new() };
        return Judgement::Clear(format!(
            "{looked} {} as usual{rest}",
            if looked == 1 { "number" } else { "numbers" }
        ));
    };
    let unit = worst.unit();
    let more = if unusual.len() > 1 {
        format!("; {} of {looked} numbers are unusual", unusual.len())
    } else {
        String::new()
    };
    let multiple = worst.seen.value / usual.typical;
    let multiple = if multiple.is_finite() { format!("{} ", times(multiple)) } else { String::new() };
    Breach::new(
        format!(
            "{} is {}, {multiple}its {} ({}){more}; how that makes anybody wait is not known",
            worst.name(),
            worst.show(),
            show(usual.typical, unit),
            baseline_words(usual.from)
        ),
        format!("{} {}", worst.name(), worst.show()),
        (score / limits.of("robust_z")).min(100.0),
        unusual
            .iter()
            .take(3)
            .map(|(_, measured, usual)| {
                named_evidence(measured.name(), measured.unit(), measured.seen, None, Some(*usual))
            })
            .collect(),
    )
    .at_most(Confidence::Low)
    .judged()
}

/// Every level and rate of a component, instance by instance, with its healthy value.
fn numbers(scene: &Scene<'_>, component: &Subject) -> Vec<Measured> {
    let mut numbers = vec![];
    let are_several = scene.world.parts(component).filter(|(part, _)| *part != component).nth(1).is_some();
    for (instance, _) in scene.world.parts(component) {
        for (metric, part) in scene.store.names(instance) {
            if matches!(metric, MetricName::Known(known) if OWN_COST.contains(known)) {
                continue;
            }
            // Traffic is an effect more often than a cause: who waits asks less.
            if Named::of(metric.as_str()).meaning == Meaning::Requests {
                continue;
            }
            let Some(seen) = scene.present_part(instance, metric, part) else { continue };
            let usual = scene.baseline(instance, metric, part);
            // What was declared is the component's, and this is the number of one instance of several.
            let is_shared = are_several && usual.is_some_and(|usual| usual.from == BaselineFrom::Declared);
            let usual = usual.filter(|_| !is_shared);
            numbers.push(Measured {
                seen,
                subject: instance.clone(),
                usual,
                metric: metric.clone(),
                part: part.cloned(),
            });
        }
    }
    numbers
}

/// Robust standard deviations in the direction that is worse, or in either where that is not known.
fn score(measured: &Measured, usual: Baseline) -> f64 {
    let scale = (usual.spread.unwrap_or(0.0) / 1.349)
        .max(usual.typical.abs() * LEAST_SPREAD)
        .max(LEAST_FROM_ZERO * LEAST_SPREAD);
    let z = (measured.seen.value - usual.typical) / scale;
    match Named::of(measured.metric.as_str()).worse {
        Worse::Up => z,
        Worse::Down => -z,
        Worse::Either => z.abs(),
    }
}
