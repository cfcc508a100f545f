//! Which symptom a finding is held against: by its place in the graph, by its time, and by where requests lose theirs.

use std::time::Duration;

use super::symptom::Suffering;
use crate::findings::Finding;
use crate::report::{Role, Symptom};
use crate::rules::Nature;
use crate::scene::{Scene, Stage};

/// Share of the symptom's time that must be spent in a dependency for its trouble to explain the symptom.
pub(super) const EXPLAINING_SHARE: f64 = 0.3;

/// For this long after its end a cause can still be what callers suffer from: queues drain, windows widen.
pub(super) const LINGERING: Duration = Duration::from_secs(60);

/// Whether a finding's subject can be the cause of what a service's callers see: what the service calls can, by any
/// finding; who calls it only by a circumstance, as a surge does, or by making it worse, as retries do.
fn is_in_reach(suffering: &Suffering, finding: &Finding) -> bool {
    let component = finding.subject.component_of();
    suffering.below.contains(&component)
        || ((finding.rule.nature == Nature::Circumstance || finding.rule.role == Role::Amplifier)
            && suffering.above.contains(&component))
}

/// The nearest symptom that a finding can explain: in its reach, at its time, and none that only passes on what is
/// suffered below it. Where little of the slow requests' time is spent there, another that it explains better.
pub(super) fn nearest<'s>(
    scene: &Scene<'_>,
    finding: &Finding,
    sufferings: &'s [Suffering],
) -> Option<&'s Suffering> {
    let is_possible = |one: &Suffering| apart_in_time(finding, one).is_none() && is_in_reach(one, finding);
    let possible: Vec<bool> = sufferings.iter().map(is_possible).collect();
    let passes_on = |one: &Suffering| one.passes_on.iter().any(|place| possible[*place]);
    let near = || {
        let near = sufferings.iter().zip(&possible).filter(|(one, possible)| **possible && !passes_on(one));
        near.map(|(one, _)| one)
    };
    let explains = |one: &Suffering| {
        let share = share_of(scene, one, finding);
        if one.is_latency {
            share.is_none_or(|share| share >= EXPLAINING_SHARE)
        } else {
            began_together(finding, one)
        }
    };
    let first = near().next()?;
    if !first.is_latency || explains(first) {
        return Some(first);
    }
    Some(near().find(|one| explains(one)).unwrap_or(first))
}

/// Whether a symptom began with a finding, as far as anybody knows. Requests that are slow for one reason fail for want
/// of time soon, so of what fails beside them the time is the only witness.
fn began_together(finding: &Finding, suffering: &Suffering) -> bool {
    let (one, other) = (finding.since, suffering.symptom.since);
    one.before && other.before
        || (!one.before && !other.before && one.at.since(other.at).max(other.at.since(one.at)) <= LINGERING)
}

/// Why a finding cannot be the cause of a symptom by its time, if it cannot: it ended well before callers suffered,
/// or it began only afterwards. What was there before anybody looked takes no part in the order.
pub(super) fn apart_in_time(finding: &Finding, suffering: &Suffering) -> Option<&'static str> {
    let began = suffering.symptom.since;
    if !began.before && finding.until().is_some_and(|until| until + LINGERING < began.at) {
        return Some("; but it ended before callers suffered");
    }
    let (_, over) = suffering.ended?;
    (!finding.since.before && finding.since.at > over)
        .then_some("; but it began when callers suffered no more")
}

/// The share of the symptomatic requests' time spent in a component: of the mean or of the 99th percentile,
/// whichever is greater. `None` where no stage is placed in it: then nobody knows.
///
/// What callers make up for elsewhere is lost elsewhere: then a small share says nothing.
pub(super) fn share_of(scene: &Scene<'_>, suffering: &Suffering, finding: &Finding) -> Option<f64> {
    let is_elsewhere = finding.breach.as_ref().is_some_and(|breach| breach.elsewhere);
    share_spent(scene, suffering, finding).filter(|share| !is_elsewhere || *share >= EXPLAINING_SHARE)
}

fn share_spent(scene: &Scene<'_>, suffering: &Suffering, finding: &Finding) -> Option<f64> {
    let Suffering { symptom, is_latency, service, .. } = suffering;
    let component = &finding.subject.component_of();
    if component == service {
        return Some(1.0);
    }
    // A refusal is quick: where requests fail, the time they take says nothing of who failed them.
    if !is_latency {
        return None;
    }
    let stages = suffering.stages_during(scene, finding.since, finding.until());
    let slowest = stages.iter().filter_map(|stage| stage.p99).map(|p99| p99.number()).fold(0.0, f64::max);
    stages
        .iter()
        .filter(|stage| {
            stage.spent_in.as_ref().is_some_and(|spent| scene.graph.below(spent).contains_key(component))
        })
        .map(|stage| {
            let of_slowest = stage.p99.filter(|_| slowest > 0.0).map_or(0.0, |p99| p99.number() / slowest);
            stage.share.max(of_slowest * stage_weight(stage, symptom))
        })
        .reduce(f64::max)
}

/// A stage's slow tail counts only where the stage is a visible part of the symptom: by its mean a twentieth of its
/// value, or by its own slowest requests as much as explains it. What stalls now and then is in few requests and in
/// all slow ones.
fn stage_weight(stage: &Stage, symptom: &Symptom) -> f64 {
    let value = symptom.evidence.value;
    let is_visible =
        stage.mean >= value / 20.0 || stage.p99.is_some_and(|p99| p99.number() >= value * EXPLAINING_SHARE);
    if is_visible { 1.0 } else { 0.0 }
}
