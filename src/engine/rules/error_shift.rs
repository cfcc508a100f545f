//! Callers get errors.

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{ERRORS, REQUESTS, Unit};
use crate::quantity::{share, show};
use crate::report::Role;
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, by which recovery is told.
pub(crate) const ID: &str = "error-shift";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "requests end in errors",
    doc: "The share of requests that end in an error is above 1 % and at least three times its healthy value, \
          with at least one error every two seconds. It is a symptom: it accuses nobody. Burn rates over hours \
          need a history that a tool started during the incident does not have.",
    next: "walk the dependencies first: a refusal names its component in the error text",
    watches: Watches::Components(&[Kind::Gateway, Kind::Service]),
    nature: Nature::Symptom,
    exonerates: true,
    role: Role::Victim,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "ratio",
            default: 0.01,
            unit: Unit::Ratio,
            help: "share of requests in error; ten times a usual objective of 99.9 %",
        },
        Threshold { name: "rise", default: 3.0, unit: Unit::Ratio, help: "multiple of the healthy share" },
        Threshold {
            name: "most",
            default: 0.1,
            unit: Unit::Ratio,
            help: "share that is never healthy: the lifetime of a target that started lately holds the incident too",
        },
        Threshold {
            name: "floor",
            default: 0.5,
            unit: Unit::PerSecond,
            help: "errors a second below which a share means nothing",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    let (Some(errors), Some(requests)) = (scene.total(subject, ERRORS), scene.total(subject, REQUESTS))
    else {
        return Judgement::Unknown(format!("no count of errors: {}", scene.missing(subject)));
    };
    let Some(ratio) = share(errors.value, requests.value) else {
        return Judgement::Unknown("no requests finish".to_owned());
    };
    let healthy = scene
        .total_baseline(subject, ERRORS)
        .zip(scene.total_baseline(subject, REQUESTS))
        .and_then(|(errors, requests)| share(errors.typical, requests.typical));
    let limit = limits.of("ratio").max(healthy.unwrap_or(0.0) * limits.of("rise")).min(limits.of("most"));
    let shown = show(ratio, Unit::Ratio);
    if ratio > limit && errors.value >= limits.of("floor") {
        let at = errors.at;
        return Breach::new(
            format!("{shown} of requests end in errors, limit {}", show(limit, Unit::Ratio)),
            format!("errors {shown}"),
            ratio / limit,
            vec![
                named_evidence(
                    "error ratio".to_owned(),
                    Unit::Ratio,
                    Seen { value: ratio, at },
                    Some(limit),
                    None,
                ),
                evidence(ERRORS, errors, None, None),
            ],
        )
        .judged();
    }
    Judgement::Clear(format!("{shown} of requests end in errors"))
}
