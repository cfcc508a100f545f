//! A gateway waits far longer than anybody wants an answer.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{CLIENT_TIMEOUT, UPSTREAM_TIMEOUT, Unit};
use crate::quantity::{show, times};
use crate::report::Role;
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "timeout-mismatch",
    title: "a gateway waits far longer than the answer may take",
    doc: "A gateway's time-out for an upstream is at least three times the declared objective of what it calls. While \
          that is slow, the gateway holds each connection for the whole time-out: connections pile up, and callers \
          who have left are still worked for. It contributes and begins nothing: a suspect at most. Without a declared \
          objective nobody can say what is too long.",
    next: "bring the gateway's time-out near the objective, above the callers' own; a gateway that waits 10 s where \
           3 s are expected only piles up connections",
    watches: Watches::Those {
        kinds: &[Kind::Gateway],
        which: "that tells its time-outs",
        are: |scene, gateway| scene.tells(gateway, UPSTREAM_TIMEOUT),
    },
    nature: Nature::Circumstance,
    exonerates: false,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[Threshold {
        name: "multiple",
        default: 3.0,
        unit: Unit::Ratio,
        help: "multiple of the objective from which a time-out no longer bounds anything",
    }],
    rivals: &[RivalRow {
        rule: "queue-not-compute",
        told_by: "connections and attempts under way against the queue's depth: a time-out alone fills no queue",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, gateway: &Subject, limits: &Limits<'_>) -> Judgement {
    let waits = scene.told(gateway, UPSTREAM_TIMEOUT).into_iter().filter_map(|told| {
        Some((scene.latest_part(&told.by, UPSTREAM_TIMEOUT, told.part.as_ref())?, told.name()))
    });
    let Some((wait, upstream)) = waits.max_by(|one, other| one.0.value.total_cmp(&other.0.value)) else {
        return Judgement::Unknown(format!("no time-out of its upstreams: {}", scene.missing(gateway)));
    };
    let Some((objective, whose)) = objective(scene, gateway) else {
        return Judgement::Unknown(format!(
            "no objective is declared for what it calls: nobody can say whether {} are long",
            show(wait.value, Unit::Seconds)
        ));
    };
    let [shown, wanted] = [wait.value, objective].map(|seconds| show(seconds, Unit::Seconds));
    let limit = objective * limits.of("multiple");
    if wait.value < limit {
        return Judgement::Clear(format!("waits {shown} for {upstream}; objective of {whose} {wanted}"));
    }
    let mut numbers = vec![evidence(UPSTREAM_TIMEOUT, wait, Some(limit), None)];
    let callers = callers_wait(scene, gateway);
    numbers.extend(callers.map(|seen| evidence(CLIENT_TIMEOUT, seen, None, None)));
    let left = callers.filter(|callers| callers.value < wait.value).map_or(String::new(), |callers| {
        format!("; its callers leave after {}", show(callers.value, Unit::Seconds))
    });
    Breach::new(
        format!(
            "waits up to {shown} for {upstream}, {} the objective of {whose} ({wanted}){left}",
            times(wait.value / objective)
        ),
        format!("gateway waits {shown}"),
        wait.value / limit,
        numbers,
    )
    .with_rival(&RULE.rivals[0])
    .judged()
}

/// The declared objective that the gateway has to meet: its own, else the longest of those that it calls.
fn objective(scene: &Scene<'_>, gateway: &Subject) -> Option<(f64, Subject)> {
    let of = |component: &Subject| Some((scene.declared_objective(component)?, component.clone()));
    let below = scene.graph.callees(gateway).filter_map(of);
    of(gateway).or_else(|| below.max_by(|one, other| one.0.total_cmp(&other.0)))
}

/// How long the most patient of the gateway's callers waits.
fn callers_wait(scene: &Scene<'_>, gateway: &Subject) -> Option<Seen> {
    let callers = scene.graph.callers(gateway).flat_map(|caller| scene.world.parts(caller));
    let waits = callers.filter_map(|(caller, _)| scene.latest(caller, CLIENT_TIMEOUT));
    waits.max_by(|one, other| one.value.total_cmp(&other.value))
}
