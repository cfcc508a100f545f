//! Candidate causes: which findings accuse, what they absorb, and in which order they are named.

use std::collections::BTreeSet;
use std::time::Duration;

use super::symptom::Suffering;
use crate::findings::Finding;
use crate::report::{Confidence, KeyEvidence, Suspect, Symptom, Verdict};
use crate::rules::{Nature, RULES};
use crate::scene::Scene;
use crate::subject::Subject;

/// Share of the symptom's time that must be spent in a dependency for its trouble to explain the symptom.
const EXPLAINING_SHARE: f64 = 0.3;

/// For this long after its end a cause can still be what callers suffer from: queues drain, windows widen.
const LINGERING: Duration = Duration::from_secs(60);

/// The suspects, guilty first, best first.
pub(super) fn ranked(scene: &Scene<'_>, suffering: Option<&Suffering>) -> Vec<Suspect> {
    let accusing: Vec<&Finding> = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature != Nature::Symptom && finding.counts())
        .collect();
    let reachable = suffering.map(|suffering| reachable(scene, &suffering.service));
    let mut suspects: Vec<(usize, f64, Suspect)> = accusing
        .iter()
        .filter(|finding| !is_absorbed(finding, &accusing))
        .filter_map(|finding| {
            let place = RULES.iter().position(|rule| rule.id == finding.rule.id)?;
            let suspect = suspect(scene, finding, &accusing, suffering, reachable.as_ref())?;
            Some((place, finding.breach.as_ref()?.severity, suspect))
        })
        .collect();
    suspects.sort_by(|(place, severity, one), (other_place, other_severity, other)| {
        let onset = |suspect: &Suspect| (!suspect.since.before, suspect.since.at);
        one.verdict
            .cmp(&other.verdict)
            .then(other.confidence.cmp(&one.confidence))
            .then(place.cmp(other_place))
            .then(other_severity.total_cmp(severity))
            .then(onset(one).cmp(&onset(other)))
            .then(one.subject.cmp(&other.subject))
    });
    suspects.into_iter().map(|(_, _, suspect)| suspect).collect()
}

/// What can be the cause of a symptom: all that the subject calls, and all that calls it.
fn reachable(scene: &Scene<'_>, service: &Subject) -> BTreeSet<Subject> {
    scene.graph.below(service).into_keys().chain(scene.graph.above(service).into_keys()).collect()
}

/// Whether one finding explains another. What has a rival itself explains no mechanism that has none: the
/// evidence of a resource that is used up is never discounted for a guess.
fn absorbs(one: &Finding, other: &Finding) -> bool {
    let is_open = |finding: &Finding| finding.breach.as_ref().is_some_and(|breach| !breach.rivals.is_empty());
    let is_stronger = other.rule.nature == Nature::Mechanism && !is_open(other) && is_open(one);
    one.rule.absorbs.contains(&other.rule.id)
        && !is_stronger
        && (one.subject.contains(&other.subject) || other.subject.contains(&one.subject))
}

fn is_absorbed(finding: &Finding, accusing: &[&Finding]) -> bool {
    accusing.iter().any(|other| absorbs(other, finding) && !absorbs(finding, other))
}

fn suspect(
    scene: &Scene<'_>,
    finding: &Finding,
    accusing: &[&Finding],
    suffering: Option<&Suffering>,
    reachable: Option<&BTreeSet<Subject>>,
) -> Option<Suspect> {
    let breach = finding.breach.as_ref()?;
    let component = finding.subject.component_of();
    let apart = suffering.and_then(|suffering| apart_in_time(finding, suffering));
    let in_reach = apart.is_none() && reachable.is_some_and(|reachable| reachable.contains(&component));
    let share = suffering.and_then(|suffering| share_of(scene, suffering, &component));
    let confidence = confidence(finding, in_reach, share).min(breach.at_most);
    let convicts = finding.rule.nature == Nature::Mechanism
        && in_reach
        && breach.rivals.is_empty()
        && confidence > Confidence::Low;
    let absorbed: Vec<&&Finding> = accusing.iter().filter(|other| absorbs(finding, other)).collect();
    let mut evidence = breach.evidence.clone();
    let mut keys = breach.keys.clone();
    for other in absorbed.iter().filter_map(|other| other.breach.as_ref()) {
        let known: BTreeSet<String> = evidence.iter().map(|row| row.metric.clone()).collect();
        evidence.extend(other.evidence.iter().filter(|row| !known.contains(&row.metric)).cloned());
        add_keys(&mut keys, &other.keys);
    }
    let mut sentence = breach.sentence.clone();
    if let Some(share) = share.filter(|share| *share < EXPLAINING_SHARE) {
        let spent = crate::quantity::show(share, crate::metric::Unit::Ratio);
        sentence.push_str(&format!("; but only {spent} of the slow requests' time is spent there"));
    }
    sentence.extend(apart);
    Some(Suspect {
        subject: finding.subject.clone(),
        rule: finding.rule.id.to_owned(),
        role: finding.rule.role,
        confidence,
        verdict: if convicts { Verdict::Guilty } else { Verdict::Suspect },
        since: finding.since,
        until: finding.until(),
        sentence,
        rivals: breach.rivals.clone(),
        explains: absorbed
            .iter()
            .map(|other| other.rule.id.to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        evidence,
        keys,
    })
}

/// Why a finding cannot be the cause of a symptom by its time, if it cannot: it ended well before callers suffered,
/// or it began only afterwards. What was there before anybody looked takes no part in the order.
fn apart_in_time(finding: &Finding, suffering: &Suffering) -> Option<&'static str> {
    let began = suffering.symptom.since;
    if !began.before && finding.until().is_some_and(|until| until + LINGERING < began.at) {
        return Some("; but it ended before callers suffered");
    }
    let (_, over) = suffering.ended?;
    (!finding.since.before && finding.since.at > over)
        .then_some("; but it began when callers suffered no more")
}

fn confidence(finding: &Finding, in_reach: bool, share: Option<f64>) -> Confidence {
    match (finding.rule.nature, in_reach, share) {
        (Nature::Mechanism | Nature::Circumstance, true, Some(share)) if share < EXPLAINING_SHARE => {
            Confidence::Low
        }
        (Nature::Mechanism, true, Some(_)) => Confidence::High,
        (Nature::Mechanism, true, None) => Confidence::Medium,
        (Nature::Circumstance, true, _) => Confidence::Medium,
        _ => Confidence::Low,
    }
}

/// The share of the symptomatic requests' time spent in a component: of the mean or of the 99th percentile,
/// whichever is greater. `None` where no stage is placed in it: then nobody knows.
fn share_of(scene: &Scene<'_>, suffering: &Suffering, component: &Subject) -> Option<f64> {
    let Suffering { symptom, service, stages, .. } = suffering;
    if component == service {
        return Some(1.0);
    }
    let slowest = stages.iter().filter_map(|stage| stage.p99).map(|p99| p99.number()).fold(0.0, f64::max);
    stages
        .iter()
        .filter(|stage| {
            stage.spent_in.as_ref().is_some_and(|spent| scene.graph.below(spent).contains_key(component))
        })
        .map(|stage| {
            let of_slowest = stage.p99.filter(|_| slowest > 0.0).map_or(0.0, |p99| p99.number() / slowest);
            stage.share.max(of_slowest * stage_weight(stage.mean, symptom))
        })
        .reduce(f64::max)
}

/// A stage's slow tail counts only where it is a visible part of the symptom: a fifth of its value.
fn stage_weight(mean: f64, symptom: &Symptom) -> f64 {
    let visible =
        symptom.evidence.unit != crate::metric::Unit::Seconds || mean >= symptom.evidence.value / 20.0;
    if visible { 1.0 } else { 0.0 }
}

fn add_keys(keys: &mut Vec<KeyEvidence>, more: &[KeyEvidence]) {
    for key in more {
        match keys.iter_mut().find(|known| known.key == key.key) {
            Some(known) => {
                known.bytes = known.bytes.or(key.bytes);
                known.what = format!("{}, {}", known.what, key.what);
            }
            None => keys.push(key.clone()),
        }
    }
}
