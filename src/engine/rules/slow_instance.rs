//! One instance of a service is slow and the others are not.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::{Baseline, LEAST_EVENTS};
use crate::metric::{MODEL_DURATION, PER_TOKEN, REQUEST_DURATION, TTFT, Unit};
use crate::peers::quantile;
use crate::quantity::{show, times};
use crate::report::{BaselineFrom, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "slow-instance",
    title: "one instance is slow and the others are not",
    doc: "An instance's 99th percentile of request duration, time to first token or time per token, over at \
          least 200 requests, is at least three times that of the fastest quarter of the other instances, and \
          at least a fifth of the objective longer. With two instances the other one is the comparison; with \
          one there is none, and the rule is not evaluated.",
    next: "take it out of rotation softly, never below two instances, and compare its host, GPU and version",
    watches: Watches::Instances(Kind::Service),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "skew",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the fastest quarter of the others",
        },
        Threshold {
            name: "floor",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of the objective by which it must be slower",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "requests a second per instance" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Judgement {
    let service = instance.component_of();
    let mut seen = vec![];
    for metric in [REQUEST_DURATION, MODEL_DURATION, TTFT, PER_TOKEN] {
        let Some(Ok(own)) = scene.p99(instance, metric, None) else { continue };
        let mut others: Vec<f64> = scene
            .world
            .parts(&service)
            .filter(|(other, _)| *other != instance)
            .filter_map(|(other, _)| scene.p99(other, metric, None)?.ok())
            .filter(|other| other.gained.count >= LEAST_EVENTS)
            .map(|other| other.p99.number())
            .collect();
        others.sort_by(f64::total_cmp);
        let Some(fast) = quantile(&others, 0.25).filter(|fast| *fast > 0.0) else { continue };
        let value = own.p99.number();
        let limit = (fast * limits.of("skew")).max(fast + scene.objective(&service) * limits.of("floor"));
        let shown = format!("{}{}", own.p99.sign(), show(value, Unit::Seconds));
        if value < limit || own.p99.is_only_a_bound() {
            seen.push(format!("{} p99 {shown}", metric.name()));
            continue;
        }
        let peers = Baseline::new(fast, BaselineFrom::Peers);
        return Breach::new(
            format!(
                "p99 {shown}, {} the fastest quarter of the others ({})",
                times(value / fast),
                show(fast, Unit::Seconds)
            ),
            format!("{} p99 {shown}", instance.address().unwrap_or("instance")),
            value / limit,
            vec![named_evidence(
                format!("{} p99", metric.name()),
                Unit::Seconds,
                Seen { value, at: own.at },
                Some(limit),
                Some(peers),
            )],
        )
        .judged();
    }
    if seen.is_empty() {
        return Judgement::Unknown(format!(
            "fewer than 200 requests to compare: {}",
            scene.missing(instance)
        ));
    }
    Judgement::Clear(seen.join(", "))
}
