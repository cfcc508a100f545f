//! Candidate causes: which findings accuse, what they absorb, and in which order they are named.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use super::symptom::Suffering;
use crate::findings::Finding;
use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{Confidence, KeyEvidence, Role, Since, Suspect, Symptom, Verdict};
use crate::rules::{Nature, RULES};
use crate::scene::{Scene, Stage};
use crate::subject::Subject;

/// Share of the symptom's time that must be spent in a dependency for its trouble to explain the symptom.
const EXPLAINING_SHARE: f64 = 0.3;

/// For this long after its end a cause can still be what callers suffer from: queues drain, windows widen.
const LINGERING: Duration = Duration::from_secs(60);

/// Within this time rules with different holds may fire for one cause.
const A_STEP: Duration = Duration::from_secs(15);

/// For this long callers must have been well beside something for it to be no sufficient cause.
const BORNE_FOR: Duration = Duration::from_secs(120);

/// The suspects, guilty first, best first. A finding is held against the nearest symptom that it can explain.
pub(super) fn ranked(scene: &Scene<'_>, sufferings: &[Suffering]) -> Vec<Suspect> {
    let accusing: Vec<&Finding> = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature != Nature::Symptom && finding.counts())
        .collect();
    let mut suspects: Vec<Candidate> = accusing
        .iter()
        .filter(|finding| !is_absorbed(finding, &accusing, sufferings))
        .filter_map(|finding| {
            Some(Candidate {
                is_generic: finding.rule.nature != Nature::Mechanism,
                place: RULES.iter().position(|rule| rule.id == finding.rule.id)?,
                severity: finding.breach.as_ref()?.severity,
                suspect: suspect(scene, finding, &accusing, sufferings)?,
            })
        })
        .collect();
    let triggers: Vec<(Subject, Since)> = suspects
        .iter()
        .map(|candidate| &candidate.suspect)
        .filter(|suspect| suspect.role == Role::Trigger && suspect.verdict == Verdict::Guilty)
        .filter(|suspect| suspect.confidence == Confidence::High)
        .map(|suspect| (suspect.subject.clone(), suspect.since))
        .collect();
    for candidate in &mut suspects {
        candidate.make_way_for(&triggers);
    }
    suspects.sort_by_key(Candidate::group);
    // The order of onsets is known only among what all began while somebody looked.
    for group in suspects.chunk_by_mut(|one, other| one.group() == other.group()) {
        let is_dated = group.iter().all(|candidate| !candidate.suspect.since.before);
        let onset = |candidate: &Candidate| if is_dated { candidate.onset() } else { 0 };
        group.sort_by(|one, other| {
            onset(one)
                .cmp(&onset(other))
                .then(one.place.cmp(&other.place))
                .then(other.severity.total_cmp(&one.severity))
                .then(one.suspect.subject.cmp(&other.suspect.subject))
        });
    }
    suspects.into_iter().map(|candidate| candidate.suspect).collect()
}

/// A suspect with what decides its place.
struct Candidate {
    is_generic: bool,
    place: usize,
    severity: f64,
    suspect: Suspect,
}

impl Candidate {
    /// What counts before onset: verdict, confidence, whether it names a mechanism, and whether it began the failure.
    fn group(&self) -> (Verdict, Reverse<Confidence>, bool, Role) {
        let Suspect { verdict, confidence, role, .. } = self.suspect;
        (verdict, Reverse(confidence), self.is_generic, role)
    }

    /// What makes worse what another began is worth less than that, unless it was there first.
    fn make_way_for(&mut self, triggers: &[(Subject, Since)]) {
        let suspect = &mut self.suspect;
        if suspect.role != Role::Amplifier || suspect.confidence != Confidence::High {
            return;
        }
        let is_first =
            |began: &Since| !suspect.since.before && !began.before && suspect.since.at + A_STEP < began.at;
        if let Some((trigger, _)) = triggers.iter().find(|(_, began)| !is_first(began)) {
            suspect.confidence = Confidence::Medium;
            suspect.sentence.push_str(&format!("; it makes worse what {trigger} began"));
        }
    }

    /// When it began, in steps of time within which rules with different holds may fire for one cause.
    fn onset(&self) -> i64 {
        let step = i64::try_from(A_STEP.as_millis()).unwrap_or(i64::MAX);
        self.suspect.since.at.0.div_euclid(step)
    }
}

/// Whether a finding's subject can be the cause of what a service's callers see: what the service calls can, by any
/// finding; who calls it only by a circumstance, as a surge does, or by making it worse, as retries do.
fn is_in_reach(scene: &Scene<'_>, service: &Subject, finding: &Finding) -> bool {
    let component = finding.subject.component_of();
    scene.graph.below(service).contains_key(&component)
        || ((finding.rule.nature == Nature::Circumstance || finding.rule.role == Role::Amplifier)
            && scene.graph.above(service).contains_key(&component))
}

/// The nearest symptom that a finding can explain: in its reach, at its time, and none that only passes on what is
/// suffered below it.
pub(super) fn nearest<'s>(
    scene: &Scene<'_>,
    finding: &Finding,
    sufferings: &'s [Suffering],
) -> Option<&'s Suffering> {
    let possible: Vec<&Suffering> = sufferings
        .iter()
        .filter(|one| apart_in_time(finding, one).is_none() && is_in_reach(scene, &one.service, finding))
        .collect();
    let passes_on = |one: &Suffering| {
        let below = scene.graph.below(&one.service);
        possible.iter().any(|other| {
            other.service != one.service
                && below.contains_key(&other.service)
                // Of two that call each other neither is below.
                && !scene.graph.below(&other.service).contains_key(&one.service)
        })
    };
    possible.iter().find(|one| !passes_on(one)).copied()
}

/// Whether one finding explains another. What has a rival itself explains no mechanism that has none: the
/// evidence of a resource that is used up is never discounted for a guess. What ended before the other began, or
/// before callers suffered, explains neither.
fn absorbs(one: &Finding, other: &Finding, sufferings: &[Suffering]) -> bool {
    let is_open = |finding: &Finding| finding.breach.as_ref().is_some_and(|breach| !breach.rivals.is_empty());
    let is_stronger = other.rule.nature == Nature::Mechanism && !is_open(other) && is_open(one);
    one.rule.absorbs.contains(&other.rule.id)
        && !is_stronger
        && one.until().is_none_or(|until| until + LINGERING >= other.since.at)
        && (sufferings.is_empty() || sufferings.iter().any(|of| apart_in_time(one, of).is_none()))
        && (one.subject.contains(&other.subject) || other.subject.contains(&one.subject))
}

fn is_absorbed(finding: &Finding, accusing: &[&Finding], sufferings: &[Suffering]) -> bool {
    accusing.iter().any(|other| absorbs(other, finding, sufferings) && !absorbs(finding, other, sufferings))
}

fn suspect(
    scene: &Scene<'_>,
    finding: &Finding,
    accusing: &[&Finding],
    sufferings: &[Suffering],
) -> Option<Suspect> {
    let breach = finding.breach.as_ref()?;
    let component = finding.subject.component_of();
    let nearest = nearest(scene, finding, sufferings);
    let in_reach = nearest.is_some();
    let suffering = nearest.or(sufferings.first());
    let apart = suffering.and_then(|suffering| apart_in_time(finding, suffering));
    let share = suffering.and_then(|suffering| {
        let stages = suffering.stages_during(scene, finding.since, finding.until());
        share_of(scene, suffering, &stages, &component)
    });
    let was_borne = suffering.is_some_and(|suffering| was_borne(finding, suffering));
    // "A or B" is worth no more than the middle, whatever the numbers, and so is what callers have lived with.
    let is_open = !breach.rivals.is_empty() || was_borne;
    let most = if is_open { breach.at_most.min(Confidence::Medium) } else { breach.at_most };
    let confidence = confidence(finding, in_reach, share).min(most);
    let convicts = finding.rule.nature == Nature::Mechanism && in_reach && confidence > Confidence::Low;
    let absorbed: Vec<&&Finding> =
        accusing.iter().filter(|other| absorbs(finding, other, sufferings)).collect();
    let mut evidence = breach.evidence.clone();
    let mut keys = breach.keys.clone();
    for other in absorbed.iter().filter_map(|other| other.breach.as_ref()) {
        let known: BTreeSet<String> = evidence.iter().map(|row| row.metric.clone()).collect();
        evidence.extend(other.evidence.iter().filter(|row| !known.contains(&row.metric)).cloned());
        add_keys(&mut keys, &other.keys);
    }
    let mut sentence = breach.sentence.clone();
    if let Some(share) = share.filter(|share| *share < EXPLAINING_SHARE) {
        let spent = show(share, Unit::Ratio);
        sentence.push_str(&format!("; but only {spent} of the slow requests' time is spent there"));
    }
    sentence.extend(apart);
    if in_reach && was_borne {
        sentence.push_str("; but it was so while callers did not suffer");
    }
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

/// Whether callers were well beside it for a while: something else must have come on top.
fn was_borne(finding: &Finding, suffering: &Suffering) -> bool {
    let suffered = suffering.symptom.since;
    if suffered.before {
        return false;
    }
    let enough = if finding.since.before { A_STEP } else { BORNE_FOR };
    finding.since.at + enough <= suffered.at
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
fn share_of(scene: &Scene<'_>, suffering: &Suffering, stages: &[Stage], component: &Subject) -> Option<f64> {
    let Suffering { symptom, is_latency, service, .. } = suffering;
    if component == service {
        return Some(1.0);
    }
    // A refusal is quick: where requests fail, the time they take says nothing of who failed them.
    if !is_latency {
        return None;
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

/// A stage's slow tail counts only where the stage is a visible part of the symptom: a twentieth of its value.
fn stage_weight(mean: f64, symptom: &Symptom) -> f64 {
    if mean >= symptom.evidence.value / 20.0 { 1.0 } else { 0.0 }
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
