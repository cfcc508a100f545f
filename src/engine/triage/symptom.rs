//! What callers see.

use crate::findings::Finding;
use crate::report::Symptom;
use crate::rules::{Nature, RULES};
use crate::scene::{Scene, Stage};
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// A symptom with where its requests spent their time.
pub(super) struct Suffering {
    pub(super) symptom: Symptom,
    /// The component whose requests suffer.
    pub(super) service: Subject,
    /// Its span, when it has ended: then what happened within it explains it, and not the present.
    pub(super) ended: Option<(Moment, Moment)>,
    /// The stages of its requests while it lasted.
    pub(super) stages: Vec<Stage>,
}

/// The symptom to explain: latency before errors, present before ended, and where both a service and its caller
/// suffer, the service, because its stages lead on.
pub(super) fn worst(scene: &Scene<'_>) -> Option<Suffering> {
    let finding = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature == Nature::Symptom && finding.counts())
        .min_by(|one, other| {
            let severity = |finding: &Finding| finding.breach.as_ref().map_or(0.0, |breach| breach.severity);
            rank(one).cmp(&rank(other)).then(severity(other).total_cmp(&severity(one)))
        })?;
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
    Some(Suffering { symptom, service, ended, stages })
}

fn rank(finding: &Finding) -> (bool, usize, Option<usize>) {
    let kinds = [Kind::Service, Kind::Gateway, Kind::Client];
    let kind = kinds.iter().position(|kind| *kind == finding.subject.kind()).unwrap_or(kinds.len());
    let rule = RULES.iter().position(|rule| rule.id == finding.rule.id);
    (finding.until().is_some(), kind, rule)
}
