//! Real traffic rose.

use super::asked::{Asked, answered, asked};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::State;
use crate::metric::{REQUESTS, Unit};
use crate::quantity::{show, times};
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which what only gets too much asks for by name.
const ID: &str = "surge";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "original requests rose",
    doc: "Original requests are at least twice their healthy rate, their successes rise with them, and attempts \
          per original are flat: it is traffic and not a storm of retries. Without a count of attempts the two \
          cannot be told apart and the rule answers Unknown. A gateway's own retries and request ids of an access log are \
          counted where no caller counts. What a service answers is no count of originals: where nobody above it is \
          seen and no log tells ids, a rise of its requests may be a surge or a storm, and the rule says so.",
    next: "see whether what is below has room: queue, batch fill, the busiest shard; scale on waiting requests",
    watches: Watches::Those {
        kinds: &[Kind::Client, Kind::Gateway, Kind::Service],
        which: "that asks others, or that answers and has no client and no gateway before it",
        are: |scene, component| component.kind() != Kind::Service || is_bare(scene, component),
    },
    nature: Nature::Circumstance,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold { name: "rise", default: 2.0, unit: Unit::Ratio, help: "multiple of the healthy rate" },
        Threshold {
            name: "retries",
            default: 0.1,
            unit: Unit::Ratio,
            help: "retries per original above which it may be a storm",
        },
        Threshold {
            name: "floor",
            default: 10.0,
            unit: Unit::PerSecond,
            help: "requests a second below which a multiple means nothing",
        },
    ],
    rivals: &[RivalRow { rule: "retry-storm", told_by: "attempts per original, and goodput" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    let asked =
        if subject.kind() == Kind::Service { answered(scene, subject) } else { asked(scene, subject) };
    let Some(asked) = asked else {
        return Judgement::Unknown(format!("no count of original requests: {}", scene.missing(subject)));
    };
    let Asked { originals, successes, usual_successes, .. } = asked;
    let Some(healthy) = asked.usual_originals else {
        return Judgement::Unknown("no healthy rate to compare with yet".to_owned());
    };
    let rise = originals.value / healthy.typical.max(limits.of("floor"));
    let shown = format!(
        "{} original requests, {} the healthy {}",
        show(originals.value, Unit::PerSecond),
        times(rise),
        show(healthy.typical, Unit::PerSecond)
    );
    if rise < limits.of("rise") {
        return Judgement::Clear(shown);
    }
    let Some(attempts) = asked.attempts else {
        return Judgement::Unknown(format!("{shown}: surge or storm? nothing counts what is asked again"));
    };
    let retries = (attempts.value / originals.value - 1.0).max(0.0);
    let goodput_rose = successes
        .zip(usual_successes)
        .is_none_or(|(now, healthy)| now.value >= healthy.typical * limits.of("rise") * 0.8);
    if retries >= limits.of("retries") || !goodput_rose {
        return Judgement::Clear(format!(
            "{shown}, with {} retries: no plain surge",
            show(retries, Unit::Ratio)
        ));
    }
    let seen = Seen { value: retries, at: attempts.at };
    let limit = healthy.typical.max(limits.of("floor")) * limits.of("rise");
    Breach::new(
        format!("{shown}, retries flat at {}", show(retries, Unit::Ratio)),
        format!("traffic {}", times(rise)),
        rise / limits.of("rise"),
        vec![
            named_evidence(asked.names[0].to_owned(), Unit::PerSecond, originals, Some(limit), Some(healthy)),
            named_evidence(
                "retries per original".to_owned(),
                Unit::Ratio,
                seen,
                Some(limits.of("retries")),
                None,
            ),
        ],
    )
    .judged()
}

/// Whether nobody is seen who asks a service: no client, no gateway, and no other service.
fn is_bare(scene: &Scene<'_>, service: &Subject) -> bool {
    scene.tells(service, REQUESTS) && scene.graph.callers(service).next().is_none()
}

/// Whether it was looked at, above a component, how much is asked, and nobody asks for more than usual.
pub(super) fn is_excluded(scene: &Scene<'_>, component: &Subject) -> bool {
    let above = scene.graph.above(component);
    let states = || above.keys().filter_map(|caller| Some(&scene.findings.get(ID, caller)?.state));
    states().any(|state| matches!(state, State::Clear(_)))
        && !states().any(|state| matches!(state, State::Pending | State::Firing))
}
