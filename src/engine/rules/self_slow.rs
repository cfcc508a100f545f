//! The service's own code is slow.

use super::host_starved::ID as HOST_STARVED;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::State;
use crate::metric::{STAGE_DURATION, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, Stage, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "self-slow",
    title: "the service's own code is slow",
    doc: "While the service shows a symptom, one of its own stages (one that the configuration does not place \
          in a dependency; without any such word, and with anything below the service, nobody can say) takes at least half of a request's time and at least a fifth of the objective. While a \
          rule that names a mechanism stirs in something it calls, and requests may lose their time there, the \
          service is a suspect at most: dependencies first. Without numbers of its host, a starved host stays as a rival.",
    next: "look at this stage's code, its host, and what changed in the service in the last 24 h",
    watches: Watches::Components(&[Kind::Service]),
    nature: Nature::Mechanism,
    exonerates: true,
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

/// Share of a request's time from which trouble in a dependency comes before the service's own code.
const HOLDING_SHARE: f64 = 0.3;

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
    let says_which = scene.settings.component(service).is_some_and(|component| !component.stages.is_empty());
    if !says_which && scene.graph.callees(service).next().is_some() {
        return Judgement::Unknown(format!(
            "stage {} takes {}, and no 'stages' of the configuration say whether it is the service's own or spent \
             in what it calls",
            longest.name,
            show(longest.mean, Unit::Seconds)
        ));
    }
    if !scene.callers_suffer(service) {
        return Judgement::Clear(format!("{shown}, and callers do not suffer"));
    }
    let Stage { name, mean, share, p99, .. } = longest;
    let p99_text = p99
        .map_or(String::new(), |p99| format!(" (p99 {}{})", p99.sign(), show(p99.number(), Unit::Seconds)));
    // Two looks at one scrape are one observation.
    let at = scene.last_scrape(service, STAGE_DURATION, Some(name)).unwrap_or(scene.now);
    let stirring = stirring_below(scene, service, &stages);
    let below = match &stirring {
        Some(subject) => format!("though {subject} is in trouble below it"),
        None => "and nothing it calls is in trouble".to_owned(),
    };
    let breach = Breach::new(
        format!(
            "its own stage {name} takes {}{p99_text}, {} of a request's time, {below}",
            show(*mean, Unit::Seconds),
            show(*share, Unit::Ratio)
        ),
        format!("own stage {name} {}", show(*mean, Unit::Seconds)),
        share / limits.of("share"),
        vec![
            named_evidence(
                format!("{}[{name}] mean", STAGE_DURATION.name()),
                Unit::Seconds,
                Seen { value: *mean, at },
                Some(scene.objective(service) * limits.of("floor")),
                None,
            ),
            named_evidence(
                format!("share of {name}"),
                Unit::Ratio,
                Seen { value: *share, at },
                Some(limits.of("share")),
                None,
            ),
        ],
    );
    let breach = if host_is_fine(scene, service) { breach } else { breach.with_rival(&RULE.rivals[0]) };
    if stirring.is_some() { breach.at_most(Confidence::Low).judged() } else { breach.judged() }
}

/// Whether the machine of a service was looked at and has no more to run than it can.
fn host_is_fine(scene: &Scene<'_>, service: &Subject) -> bool {
    let below = scene.graph.below(service);
    let mut hosts = below.keys().filter(|subject| subject.kind() == Kind::Host).peekable();
    let is_clear = |host: &Subject| {
        scene.findings.get(HOST_STARVED, host).is_some_and(|finding| matches!(finding.state, State::Clear(_)))
    };
    hosts.peek().is_some() && hosts.all(is_clear)
}

/// The first thing below a service, itself left out, on which a mechanism that could convict is pending or firing, and
/// in which requests may spend their time.
fn stirring_below(scene: &Scene<'_>, service: &Subject, stages: &[Stage]) -> Option<Subject> {
    let below = scene.graph.below(service);
    scene
        .findings
        .iter()
        .filter(|finding| {
            finding.rule.nature == Nature::Mechanism
                && matches!(finding.state, State::Pending | State::Firing)
                && finding.breach.as_ref().is_some_and(|breach| breach.at_most > Confidence::Low)
        })
        .map(|finding| &finding.subject)
        .find(|subject| {
            let component = subject.component_of();
            component != *service && below.contains_key(&component) && may_hold(scene, stages, &component)
        })
        .cloned()
}

/// Whether slow requests may lose their time in a component: no stage says how long they are in it, or one says that it
/// is long, on the whole or among the slowest.
fn may_hold(scene: &Scene<'_>, stages: &[Stage], component: &Subject) -> bool {
    let p99 = |stage: &Stage| stage.p99.map_or(0.0, |p99| p99.number());
    let slowest = stages.iter().map(p99).fold(0.0, f64::max);
    let mut within = stages
        .iter()
        .filter(|stage| {
            stage.spent_in.as_ref().is_some_and(|spent| scene.graph.below(spent).contains_key(component))
        })
        .peekable();
    within.peek().is_none()
        || within.any(|stage| stage.share >= HOLDING_SHARE || p99(stage) >= slowest * HOLDING_SHARE)
}
