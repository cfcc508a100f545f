//! The form of the failure, before any cause: slow, refused, flooded or fine.

use crate::findings::Finding;
use crate::metric::{ERRORS, REQUESTS, Unit};
use crate::quantity::{share, show};
use crate::report::{Shape, ShapeKind};
use crate::rules::{BUSINESS_SYMPTOM, PROBE_FAILING, RETRY_STORM};
use crate::scene::Scene;
use crate::subject::{Kind, Subject};

/// The form of the failure with the numbers that say so.
pub(super) fn of(scene: &Scene<'_>) -> Shape {
    let firing = |rule: &str| {
        scene
            .findings
            .iter()
            .filter(|finding| finding.rule.id == rule && finding.counts())
            .max_by(|one, other| severity(one).total_cmp(&severity(other)))
    };
    // What callers count goes before what we see ourselves.
    let failing = firing("error-shift").or_else(|| firing(PROBE_FAILING));
    let (slow, surging) = (firing("latency-shift"), firing("surge"));
    let business = firing(BUSINESS_SYMPTOM);
    let numbers = numbers(scene, [slow, failing, business]);
    // Whether retries are a storm is said by the rule, in one place.
    let storming = firing(RETRY_STORM).is_some_and(|storm| storm.until().is_none());
    let (kind, words) = match (slow, failing) {
        _ if !super::sees_symptoms(scene) && super::has_symptom_source(scene) => {
            (ShapeKind::Unknown, "the source that shows what callers see gives no data")
        }
        _ if !super::sees_symptoms(scene) => (ShapeKind::Unknown, "no source shows what callers see"),
        (slow, failing) if storming && (slow.is_some() || failing.is_some()) => {
            (ShapeKind::Storm, "attempts rise over originals")
        }
        (Some(_), _) | (_, Some(_)) if surging.is_some() => {
            (ShapeKind::Surge, "originals rose, and callers suffer")
        }
        (Some(_), Some(_)) => (ShapeKind::SlowThenErrors, ""),
        (Some(_), None) => (ShapeKind::SlowOnly, ""),
        (None, Some(_)) => (ShapeKind::ErrorsOnly, ""),
        (None, None) if business.is_some() => (ShapeKind::BusinessOnly, "neither slow nor failing"),
        (None, None) if !super::sees_latency(scene) => {
            let kind = if surging.is_some() { ShapeKind::Surge } else { ShapeKind::Calm };
            (kind, "nothing seen, and how long callers wait is not known")
        }
        (None, None) if surging.is_some() => (ShapeKind::Surge, "originals rose, and nobody suffers"),
        (None, None) => (ShapeKind::Calm, "nothing that callers could see"),
    };
    let sentence =
        [words, numbers.as_str()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
    Shape { kind, sentence }
}

fn severity(finding: &Finding) -> f64 {
    finding.breach.as_ref().map_or(0.0, |breach| breach.severity)
}

fn services<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a Subject> {
    scene.graph.components().filter(|component| component.kind() == Kind::Service)
}

fn numbers(scene: &Scene<'_>, symptoms: [Option<&Finding>; 3]) -> String {
    let mut parts: Vec<String> = symptoms.into_iter().flatten().map(Finding::sentence).collect();
    if symptoms[1].is_none() {
        let sum = |metric| {
            services(scene).filter_map(|s| scene.total(s, metric)).map(|seen| seen.value).sum::<f64>()
        };
        let (errors, requests) = (sum(ERRORS), sum(REQUESTS));
        if let Some(failing) = share(errors, requests) {
            parts.push(format!("errors {}", show(failing, Unit::Ratio)));
            parts.push(show(requests, Unit::PerSecond));
        }
    }
    parts.join(", ")
}
