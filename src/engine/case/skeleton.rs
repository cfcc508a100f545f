//! A finished incident as a case, to be completed by whoever knows it.

use super::{Case, CaseFinding};
use crate::report::{NoteKind, Report, ShapeKind, Verdict};
use crate::subject::Subject;
use crate::wording::{chain, keys, span};

/// What a written report tells as a case: what was seen, what it was, what was done and when. `date` is its day in
/// words, because a report knows moments alone. `None` when it holds neither a symptom nor a suspect: then nothing
/// happened.
pub fn skeleton(report: &Report, date: &str) -> Option<Case> {
    let first = report.suspects.first();
    // A library that takes guesses for causes finds them again in the next incident.
    let guilty = first.filter(|suspect| suspect.verdict == Verdict::Guilty);
    let onset = report.onset()?;
    let title = match (guilty, &report.symptom, first) {
        (Some(guilty), ..) => format!("{}: {} on {}", report.name, guilty.rule, guilty.subject),
        (None, Some(symptom), _) => format!("{}: {}", report.name, symptom.sentence),
        (None, None, Some(first)) => format!("{}: suspect {} by {}", report.name, first.subject, first.rule),
        (None, None, None) => return None,
    };
    let symptom = report.symptom.as_ref().map(|symptom| format!("{}: {}", symptom.subject, symptom.sentence));
    let mut symptoms: Vec<String> = symptom.into_iter().collect();
    if !report.shape.sentence.is_empty() {
        symptoms.push(report.shape.sentence.clone());
    }
    symptoms.extend(chain(report));
    let remedies = report.notes.iter().filter(|note| note.kind == NoteKind::Remedy);
    let noted = report.notes.iter().filter(|note| note.kind == NoteKind::Note && !note.text.is_empty());
    symptoms.extend(noted.map(|note| format!("noted at {} UTC: {}", note.at.clock(), note.text)));
    let ended = report.ended().map(|ended| format!("what was found guilty ended at {} UTC", ended.clock()));
    Some(Case {
        title,
        when: format!("{date}, {} UTC", span(onset, report.ended())).trim_start_matches(", ").to_owned(),
        shape: Some(report.shape.kind).filter(|kind| !matches!(kind, ShapeKind::Calm | ShapeKind::Unknown)),
        symptoms,
        root_cause: guilty.map(|suspect| root_cause(&suspect.sentence, keys(suspect))).unwrap_or_default(),
        // Whether it helped is for whoever completes the case; until then it must not read as a cure.
        tried: remedies.map(|note| format!("at {} UTC: {}", note.at.clock(), note.text)).collect(),
        verification: ended.into_iter().collect(),
        findings: findings(report),
        tags: vec!["saved".to_owned()],
        source: format!("saved by Headwater from {}", report.name),
        ..Case::default()
    })
}

fn root_cause(sentence: &str, keys: impl Iterator<Item = String>) -> String {
    [sentence.to_owned()].into_iter().chain(keys).collect::<Vec<_>>().join("; ")
}

/// Every rule that accused, once for each kind of component: the suspects', and what they explain.
fn findings(report: &Report) -> Vec<CaseFinding> {
    let mut findings: Vec<CaseFinding> = vec![];
    let mut add = |rule: &str, subject: &Subject, role, seen: String| {
        let on = Some(subject.kind().word().to_owned());
        if !findings.iter().any(|known| known.rule == rule && known.on == on) {
            findings.push(CaseFinding { rule: rule.to_owned(), on, role, seen });
        }
    };
    for suspect in &report.suspects {
        let seen = format!("{}: {}", suspect.subject, suspect.sentence);
        add(&suspect.rule, &suspect.subject, Some(suspect.role), seen);
    }
    for suspect in &report.suspects {
        for rule in &suspect.explains {
            add(rule, &suspect.subject, None, String::new());
        }
    }
    findings
}
