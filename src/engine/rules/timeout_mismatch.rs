//! A gateway waits far longer than anybody wants an answer.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{CLIENT_TIMEOUT, UPSTREAM_TIMEOUT, Unit};
use crate::quantity::{show, times};
use crate::report::Role;
use crate::scene::{Patience, Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

pub(super) static RULE: Rule = Rule {
    id: "timeout-mismatch",
    title: "a gateway waits far longer than the answer may take",
    doc: "While callers are not seen to be well, a gateway's time-out for an upstream is at least three times the declared objective of \
          what it calls. The time-out is what its page tells, or 'timeout' in its [[component]]: most pages tell none. \
          The objective is the gateway's own, else that of the upstream. While that is slow, the gateway holds each connection for the whole time-out: connections pile up, and callers \
          who have left are still worked for. It contributes and begins nothing: a suspect at most. Without a declared \
          objective nobody can say what is too long.",
    next: "bring the gateway's time-out near the objective, above the callers' own; a gateway that waits 10 s where \
           3 s are expected only piles up connections",
    watches: Watches::Those {
        kinds: &[Kind::Gateway],
        which: "of which time-outs are known",
        are: |scene, gateway| scene.has_patience(gateway),
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

/// A time-out beside the objective that it should be near to.
struct Wait {
    patience: Patience,
    objective: f64,
    whose: Subject,
}

impl Wait {
    fn multiple(&self) -> f64 {
        self.patience.seconds.value / self.objective
    }
}

fn judge(scene: &Scene<'_>, gateway: &Subject, limits: &Limits<'_>) -> Judgement {
    let patience = scene.patience(gateway);
    let longest = patience.iter().max_by(|one, other| one.seconds.value.total_cmp(&other.seconds.value));
    let Some(longest) = longest.map(|patience| patience.seconds) else {
        return Judgement::Unknown(format!("no time-out of its upstreams: {}", scene.missing(gateway)));
    };
    let waits = patience.into_iter().filter_map(|patience| {
        let (objective, whose) = objective(scene, gateway, patience.upstream.as_ref())?;
        (objective > 0.0).then_some(Wait { patience, objective, whose })
    });
    let Some(wait) = waits.max_by(|one, other| one.multiple().total_cmp(&other.multiple())) else {
        return Judgement::Unknown(format!(
            "no objective is declared for what it calls: nobody can say whether {} are long",
            show(longest.value, Unit::Seconds)
        ));
    };
    let Wait { patience: Patience { seconds, upstream }, objective, whose } = &wait;
    let upstream = upstream.as_ref().map_or("what it calls", RemoteText::as_str);
    let [shown, wanted] = [seconds.value, *objective].map(|seconds| show(seconds, Unit::Seconds));
    let limit = objective * limits.of("multiple");
    if seconds.value < limit {
        return Judgement::Clear(format!("waits {shown} for {upstream}; objective of {whose} {wanted}"));
    }
    let long = format!(
        "waits up to {shown} for {upstream}, {} the objective of {whose} ({wanted})",
        times(wait.multiple())
    );
    // It is so on every day: alone it is nobody's trouble.
    let around = || scene.graph.callees(gateway).chain([gateway]);
    let suffers = around().any(|component| scene.callers_suffer(component));
    if !suffers && around().any(|component| scene.callers_are_well(component)) {
        return Judgement::Clear(format!("{long}, and callers do not suffer"));
    }
    let mut numbers = vec![evidence(UPSTREAM_TIMEOUT, *seconds, Some(limit), None)];
    let callers = callers_wait(scene, gateway);
    numbers.extend(callers.map(|seen| evidence(CLIENT_TIMEOUT, seen, None, None)));
    let left = callers.filter(|callers| callers.value < seconds.value).map_or(String::new(), |callers| {
        format!("; its callers leave after {}", show(callers.value, Unit::Seconds))
    });
    Breach::new(format!("{long}{left}"), format!("gateway waits {shown}"), seconds.value / limit, numbers)
        .with_rival(&RULE.rivals[0])
        .judged()
}

/// The declared objective that a gateway has to meet at an upstream: its own, else that of the service which the upstream
/// is or belongs to, else the longest of those that it calls.
fn objective(scene: &Scene<'_>, gateway: &Subject, upstream: Option<&RemoteText>) -> Option<(f64, Subject)> {
    let of = |component: &Subject| Some((scene.declared_objective(component)?, component.clone()));
    let is_upstream = |component: &&Subject| {
        upstream.is_some_and(|upstream| {
            component.name() == upstream.as_str()
                || scene.world.parts(component).any(|(part, _)| part.address() == Some(upstream.as_str()))
        })
    };
    let named = || scene.graph.callees(gateway).find(is_upstream);
    let longest = || {
        let below = scene.graph.callees(gateway).filter_map(of);
        below.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    of(gateway).or_else(|| named().and_then(of)).or_else(longest)
}

/// How long the most patient of the gateway's callers waits.
fn callers_wait(scene: &Scene<'_>, gateway: &Subject) -> Option<Seen> {
    let callers = scene.graph.callers(gateway).flat_map(|caller| scene.patience(caller));
    callers.map(|patience| patience.seconds).max_by(|one, other| one.value.total_cmp(&other.value))
}
