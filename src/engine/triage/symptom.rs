//! What callers see.

use crate::findings::Finding;
use crate::report::Symptom;
use crate::rules::{Nature, RULES};
use crate::scene::Scene;
use crate::subject::Kind;

/// The symptom to explain: latency before errors, present before ended, and where both a service and its caller
/// suffer, the service, because its stages lead on.
pub(super) fn worst(scene: &Scene<'_>) -> Option<Symptom> {
    let finding = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature == Nature::Symptom && finding.counts())
        .min_by(|one, other| {
            let severity = |finding: &Finding| finding.breach.as_ref().map_or(0.0, |breach| breach.severity);
            rank(one).cmp(&rank(other)).then(severity(other).total_cmp(&severity(one)))
        })?;
    let breach = finding.breach.as_ref()?;
    Some(Symptom {
        subject: finding.subject.clone(),
        evidence: breach.evidence.first()?.clone(),
        since: finding.since,
        sentence: breach.sentence.clone(),
    })
}

fn rank(finding: &Finding) -> (bool, usize, Option<usize>) {
    let kinds = [Kind::Service, Kind::Gateway, Kind::Client];
    let kind = kinds.iter().position(|kind| *kind == finding.subject.kind()).unwrap_or(kinds.len());
    let rule = RULES.iter().position(|rule| rule.id == finding.rule.id);
    (finding.until().is_some(), kind, rule)
}
