//! The service's own code is slow.

use super::{Breach, Judgement, Limits, Nature, RULES, RivalRow, Rule, Threshold, Watches};
use crate::metric::{STAGE_DURATION, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, Stage, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "self-slow",
    title: "the service's own code is slow",
    doc: "While the service shows a symptom, one of its own stages (one that the configuration does not place \
          in a dependency) takes at least half of a request's time and at least a fifth of the objective, and no \
          rule that names a mechanism stirs in anything it calls. The service itself is judged last: dependencies \
          first.",
    next: "look at this stage's code, its host, and what changed in the service in the last 24 h",
    watches: Watches::Components(&[Kind::Service]),
    nature: Nature::Mechanism,
    role: Role::Trigger,
    hold: 2,
    thresholds: &[
        Threshold {
            name: "share",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of a request's time in one own stage",
        },
        Threshold {
            name: "floor",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of the objective that the stage must take",
        },
    ],
    rivals: &[RivalRow { rule: "host-starved", told_by: "run queue and throttling of the service's host" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, service: &Subject, limits: &Limits<'_>) -> Judgement {
    let stages = scene.stages(service);
    let Some(longest) = stages.first() else {
        return Judgement::Unknown(format!("no stage times: {}", scene.missing(service)));
    };
    let own: f64 = stages.iter().filter(|stage| stage.spent_in.is_none()).map(|stage| stage.mean).sum();
    let shown = format!("own stages {}", show(own, Unit::Seconds));
    let is_long =
        longest.share >= limits.of("share") && longest.mean >= scene.objective(service) * limits.of("floor");
    if longest.spent_in.is_some() || !is_long {
        return Judgement::Clear(shown);
    }
    if !has_symptom(scene, service) {
        return Judgement::Clear(format!("{shown}, and callers do not suffer"));
    }
    if let Some(guilty) = stirring_below(scene, service) {
        return Judgement::Clear(format!("{shown}, but {guilty} stirs below it"));
    }
    let Stage { name, mean, share, p99, .. } = longest;
    let p99_text = p99
        .map_or(String::new(), |p99| format!(" (p99 {}{})", p99.sign(), show(p99.number(), Unit::Seconds)));
    Breach::new(
        format!(
            "its own stage {name} takes {}{p99_text}, {} of a request's time, and nothing it calls is in trouble",
            show(*mean, Unit::Seconds),
            show(*share, Unit::Ratio)
        ),
        format!("own stage {name} {}", show(*mean, Unit::Seconds)),
        share / limits.of("share"),
        vec![
            named_evidence(
                format!("{}[{name}] mean", STAGE_DURATION.name()),
                Unit::Seconds,
                Seen { value: *mean, at: scene.now },
                Some(scene.objective(service) * limits.of("floor")),
                None,
            ),
            named_evidence(
                format!("share of {name}"),
                Unit::Ratio,
                Seen { value: *share, at: scene.now },
                Some(limits.of("share")),
                None,
            ),
        ],
    )
    .judged()
}

fn has_symptom(scene: &Scene<'_>, service: &Subject) -> bool {
    let symptoms: Vec<&str> =
        RULES.iter().filter(|rule| rule.nature == Nature::Symptom).map(|rule| rule.id).collect();
    scene.graph.above(service).keys().any(|caller| scene.findings.stirring(&symptoms, caller))
}

/// The first thing below a service, itself left out, on which a mechanism is pending or firing.
fn stirring_below(scene: &Scene<'_>, service: &Subject) -> Option<Subject> {
    let mechanisms: Vec<&str> =
        RULES.iter().filter(|rule| rule.nature == Nature::Mechanism).map(|rule| rule.id).collect();
    scene
        .graph
        .below(service)
        .into_keys()
        .filter(|component| component != service)
        .find(|component| scene.findings.stirring(&mechanisms, component))
}
