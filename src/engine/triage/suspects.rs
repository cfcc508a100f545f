//! Candidate causes: which findings accuse, what they absorb, and in which order they are named.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use super::nearness::{EXPLAINING_SHARE, LINGERING, apart_in_time, nearest, share_of};
use super::symptom::Suffering;
use crate::findings::{Finding, State};
use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{Confidence, KeyEvidence, Role, Since, Suspect, Verdict};
use crate::rules::{HOT_KEY, Nature, RULES, hot_key_is_named};
use crate::scene::Scene;
use crate::subject::Subject;

/// Within this time rules with different holds may fire for one cause.
const A_STEP: Duration = Duration::from_secs(15);

/// For this long after it began an accusation names what stirs deeper: rules need some seconds to be sure, and what is
/// nearer to callers is often seen first.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);

/// For this long callers must have been well beside something for it to be no sufficient cause.
const BORNE_FOR: Duration = Duration::from_secs(120);

/// The suspects, guilty first, best first. A finding is held against the nearest symptom that it can explain.
pub(super) fn ranked(scene: &Scene<'_>, sufferings: &[Suffering]) -> Vec<Suspect> {
    let accusing: Vec<&Finding> = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature != Nature::Symptom && finding.counts())
        .collect();
    let stirring: Vec<&Finding> = scene
        .findings
        .iter()
        .filter(|finding| finding.state == State::Pending && finding.rule.nature == Nature::Mechanism)
        .collect();
    let mut suspects: Vec<Candidate> = accusing
        .iter()
        .filter(|finding| !is_absorbed(finding, &accusing, sufferings))
        .filter_map(|finding| {
            Some(Candidate {
                is_generic: finding.rule.nature != Nature::Mechanism,
                place: RULES.iter().position(|rule| rule.id == finding.rule.id)?,
                severity: finding.breach.as_ref()?.severity,
                suspect: suspect(scene, finding, (&accusing, &stirring), sufferings)?,
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
        let earliest = group.iter().map(|candidate| candidate.suspect.since.at).min();
        let onset = |candidate: &Candidate| match earliest.filter(|_| is_dated) {
            // In steps of time within which rules with different holds may fire for one cause.
            Some(earliest) => candidate.suspect.since.at.since(earliest).as_millis() / A_STEP.as_millis(),
            None => 0,
        };
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
}

/// Whether one finding explains another. What has a rival itself explains no mechanism that has none: the
/// evidence of a resource that is used up is never discounted for a guess; but what is flooded was seen to have room
/// otherwise. What ended before the other began, or
/// before callers suffered, explains neither.
fn absorbs(one: &Finding, other: &Finding, sufferings: &[Suffering]) -> bool {
    let is_open = |finding: &Finding| finding.breach.as_ref().is_some_and(|breach| !breach.rivals.is_empty());
    let is_stronger = other.rule.nature == Nature::Mechanism && !is_open(other) && is_open(one);
    let is_one_subject = one.subject.contains(&other.subject) || other.subject.contains(&one.subject);
    one.rule.absorbs.contains(&other.rule.id)
        && (is_one_subject && !is_stronger || floods(one, other))
        && one.until().is_none_or(|until| until + LINGERING >= other.since.at)
        && (sufferings.is_empty() || sufferings.iter().any(|of| apart_in_time(one, of).is_none()))
}

/// Whether the load that one finding tells of is what the subject of another suffers from.
fn floods(one: &Finding, other: &Finding) -> bool {
    let flooded = one.breach.iter().flat_map(|breach| &breach.floods);
    flooded.into_iter().any(|component| component.contains(&other.subject))
}

fn is_absorbed(finding: &Finding, accusing: &[&Finding], sufferings: &[Suffering]) -> bool {
    accusing.iter().any(|other| absorbs(other, finding, sufferings) && !absorbs(finding, other, sufferings))
}

fn suspect(
    scene: &Scene<'_>,
    finding: &Finding,
    (accusing, stirring): (&[&Finding], &[&Finding]),
    sufferings: &[Suffering],
) -> Option<Suspect> {
    let breach = finding.breach.as_ref()?;
    let nearest = nearest(scene, finding, sufferings);
    let in_reach = nearest.is_some();
    let suffering = nearest.or(sufferings.first());
    let apart = suffering.and_then(|suffering| apart_in_time(finding, suffering));
    let share = suffering.and_then(|suffering| share_of(scene, suffering, finding));
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
    // A key that is likely and that no share names yet is what to look for next: evidence alone would not say so.
    let nameless =
        absorbed.iter().filter(|other| other.rule.id == HOT_KEY && !hot_key_is_named(scene, &other.subject));
    for likely in nameless.filter_map(|other| other.breach.as_ref()) {
        sentence.push_str("; ");
        sentence.push_str(&likely.sentence);
    }
    if let Some(share) = share.filter(|share| *share < EXPLAINING_SHARE) {
        let spent = show(share, Unit::Ratio);
        sentence.push_str(&format!("; but only {spent} of the slow requests' time is spent there"));
    }
    sentence.extend(apart);
    if let Some(deeper) = stirs_below(scene, finding, stirring) {
        sentence
            .push_str(&format!("; but {} stirs at {}, on which it depends", deeper.rule.id, deeper.subject));
    }
    if in_reach && was_borne {
        sentence.push_str("; but it was so while callers did not suffer");
    }
    // What it began on the same subject is a part of it.
    let goes_on =
        absorbed.iter().any(|other| finding.subject.contains(&other.subject) && other.until().is_none());
    let unseen_since = finding.unseen_since();
    sentence
        .extend(unseen_since.map(|at| format!("; since {} nothing tells whether it goes on", at.clock())));
    Some(Suspect {
        subject: finding.subject.clone(),
        rule: finding.rule.id.to_owned(),
        role: finding.rule.role,
        confidence,
        verdict: if convicts { Verdict::Guilty } else { Verdict::Suspect },
        since: finding.since,
        until: finding.until().filter(|_| unseen_since.is_none() && !goes_on),
        unseen_since,
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

/// What may become sure in some seconds of something that a subject depends on, while what is found of the subject itself
/// is new.
fn stirs_below<'a>(scene: &Scene<'_>, finding: &Finding, stirring: &[&'a Finding]) -> Option<&'a Finding> {
    let is_new = !finding.since.before && scene.now.since(finding.since.at) <= SETTLES_WITHIN;
    if stirring.is_empty() || !is_new || finding.rule.nature != Nature::Mechanism {
        return None;
    }
    let component = finding.subject.component_of();
    let below = scene.graph.below(&component);
    let whose = |other: &Finding| other.subject.component_of();
    let is_deeper = |other: &Finding| whose(other) != component && below.contains_key(&whose(other));
    stirring.iter().copied().find(|other| is_deeper(other))
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
