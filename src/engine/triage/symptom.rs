//! What callers see.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::findings::Finding;
use crate::report::{Since, Symptom};
use crate::rules::{BUSINESS_SYMPTOM as BUSINESS, LATENCY_SHIFT as LATENCY, Nature, RULES};
use crate::scene::{Scene, Stage};
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// A symptom with where its requests spent their time.
pub(super) struct Suffering {
    pub(super) symptom: Symptom,
    /// It in a few words, for the chain.
    pub(super) short: String,
    /// Whether it is time that is lost: of errors and of numbers of the business stages say nothing.
    pub(super) is_latency: bool,
    /// The component whose requests suffer.
    pub(super) service: Subject,
    /// Its span, when it has ended: then what happened within it explains it, and not the present.
    pub(super) ended: Option<(Moment, Moment)>,
    /// The stages of its requests while it lasted.
    pub(super) stages: Vec<Stage>,
    /// What the service calls, directly or not, and itself.
    pub(super) below: BTreeSet<Subject>,
    /// What calls the service, directly or not, and itself.
    pub(super) above: BTreeSet<Subject>,
    /// Where among all symptoms those stand that it may merely pass on: of services below it.
    pub(super) passes_on: Vec<usize>,
}

/// The symptoms, one of each kind a component, the one to explain first: present before ended; latency before errors and both
/// before a number of the business, because they say in which part of a request it hurts; where both a service and its
/// caller suffer, the service, because its stages lead on; then the one furthest past its limit.
pub(super) fn all(scene: &Scene<'_>) -> Vec<Suffering> {
    let mut findings: Vec<&Finding> = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature == Nature::Symptom && finding.counts())
        .collect();
    findings.sort_by(|one, other| {
        let severity = |finding: &Finding| finding.breach.as_ref().map_or(0.0, |breach| breach.severity);
        rank(one).cmp(&rank(other)).then(severity(other).total_cmp(&severity(one)))
    });
    let mut known = BTreeSet::new();
    findings.retain(|finding| known.insert((finding.subject.component_of(), finding.rule.id)));
    let mut all: Vec<Suffering> =
        findings.into_iter().filter_map(|finding| suffering(scene, finding)).collect();
    let passes_on = |one: &Suffering| -> Vec<usize> {
        let is_below = |other: &Suffering| {
            other.service != one.service
                && one.below.contains(&other.service)
                // Of two that call each other neither is below.
                && !other.below.contains(&one.service)
        };
        all.iter().enumerate().filter(|(_, other)| is_below(other)).map(|(place, _)| place).collect()
    };
    let passed_on: Vec<Vec<usize>> = all.iter().map(passes_on).collect();
    for (one, passes_on) in all.iter_mut().zip(passed_on) {
        one.passes_on = passes_on;
    }
    all
}

impl Suffering {
    /// Where its requests spent their time while something lasted that may have caused it: of what is over, the present
    /// says nothing.
    pub(super) fn stages_during(
        &self,
        scene: &Scene<'_>,
        since: Since,
        until: Option<Moment>,
    ) -> Cow<'_, [Stage]> {
        match until {
            Some(until) if self.ended.is_none() => {
                let from = if since.before { since.at } else { since.at.max(self.symptom.since.at) };
                Cow::Owned(scene.stages_between(&self.service, from.min(until), until))
            }
            _ => Cow::Borrowed(&self.stages),
        }
    }
}

fn suffering(scene: &Scene<'_>, finding: &Finding) -> Option<Suffering> {
    let breach = finding.breach.as_ref()?;
    let symptom = Symptom {
        subject: finding.subject.clone(),
        evidence: breach.evidence.first()?.clone(),
        since: finding.since,
        sentence: breach.sentence.clone(),
    };
    let service = finding.subject.component_of();
    let ended = finding.until().map(|until| (finding.since.at, until));
    let stages = match ended {
        Some((from, to)) => scene.stages_between(&service, from, to),
        None => scene.stages(&service),
    };
    let is_latency = finding.rule.id == LATENCY;
    Some(Suffering {
        symptom,
        short: breach.short.clone(),
        is_latency,
        ended,
        stages,
        below: scene.graph.below(&service).into_keys().collect(),
        above: scene.graph.above(&service).into_keys().collect(),
        passes_on: vec![],
        service,
    })
}

fn rank(finding: &Finding) -> (bool, bool, usize, Option<usize>) {
    let kinds = [Kind::Service, Kind::Gateway, Kind::Client];
    let kind = kinds.iter().position(|kind| *kind == finding.subject.kind()).unwrap_or(kinds.len());
    let rule = RULES.iter().position(|rule| rule.id == finding.rule.id);
    (finding.until().is_some(), finding.rule.id == BUSINESS, kind, rule)
}
