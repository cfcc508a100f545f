//! Guilty, suspect, unknown or innocent, for everything that is known.

use std::collections::BTreeMap;

use crate::findings::{Finding, State};
use crate::report::{Exonerated, SubjectVerdict, Suspect, Verdict};
use crate::rules::Nature;
use crate::scene::Scene;
use crate::subject::Subject;

/// The verdict on every component, shard and instance; guilty first, then in the order of the visit.
pub(super) fn of_all(scene: &Scene<'_>, suspects: &[Suspect]) -> Vec<SubjectVerdict> {
    let rows = by_subject(scene);
    let mut verdicts = vec![];
    for component in scene.graph.dependencies_first() {
        let parts = parts(scene, &component);
        let part_verdicts: Vec<SubjectVerdict> =
            parts.iter().map(|part| of_part(scene, part, &rows, suspects)).collect();
        verdicts.push(of_component(scene, &component, &part_verdicts, &rows, suspects));
        verdicts.extend(part_verdicts);
    }
    verdicts.sort_by_key(|row| row.verdict);
    verdicts
}

/// Who is innocent, and which rules earned it that.
pub(super) fn exonerated(scene: &Scene<'_>, verdicts: &[SubjectVerdict]) -> Vec<Exonerated> {
    let rows = by_subject(scene);
    verdicts
        .iter()
        .filter(|row| row.verdict == Verdict::Innocent)
        .map(|row| {
            let mut by: Vec<String> = vec![];
            for finding in deciding(&row.subject, &rows).iter().filter(|finding| speaks_for(finding)) {
                if !by.iter().any(|known| known == finding.rule.id) {
                    by.push(finding.rule.id.to_owned());
                }
            }
            Exonerated { subject: row.subject.clone(), by }
        })
        .collect()
}

type Rows<'a> = BTreeMap<&'a Subject, Vec<&'a Finding>>;

fn by_subject<'a>(scene: &'a Scene<'_>) -> Rows<'a> {
    let mut rows: Rows<'a> = BTreeMap::new();
    for finding in scene.findings.iter() {
        rows.entry(&finding.subject).or_default().push(finding);
    }
    rows
}

/// What is judged below a component: its shards, or its instances where there are several.
fn parts(scene: &Scene<'_>, component: &Subject) -> Vec<Subject> {
    let shards: Vec<Subject> =
        scene.world.shards(component).iter().map(|shard| shard.subject.clone()).collect();
    if !shards.is_empty() {
        return shards;
    }
    let instances: Vec<Subject> = scene
        .world
        .parts(component)
        .filter(|(part, _)| *part != component)
        .map(|(part, _)| part.clone())
        .collect();
    if instances.len() > 1 { instances } else { vec![] }
}

/// The findings that decide on a subject: those on it or on its parts; where no rule looks at instances one by one, those
/// on their component, which look at all of them together.
fn deciding<'a>(subject: &Subject, rows: &Rows<'a>) -> Vec<&'a Finding> {
    let own = decisive(subject.within(rows).flat_map(|(_, findings)| findings.iter().copied()));
    if !own.is_empty() || subject.address().is_none() {
        return own;
    }
    decisive(rows.get(&subject.component_of()).into_iter().flatten().copied())
}

/// Of some findings those that decide: of the rules that name a mechanism or support one; where there are none, those of
/// circumstances.
fn decisive<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<&'a Finding> {
    let within: Vec<&Finding> = findings.collect();
    // One that speaks for nobody when it is clear makes nobody innocent, and stands in no other's way.
    let is_mute = |finding: &Finding| !finding.rule.exonerates && matches!(finding.state, State::Clear(_));
    let of = |natures: &[Nature]| -> Vec<&'a Finding> {
        let decides = |finding: &&Finding| natures.contains(&finding.rule.nature) && !is_mute(finding);
        within.iter().copied().filter(decides).collect()
    };
    let strong = of(&[Nature::Mechanism, Nature::Support]);
    if !strong.is_empty() {
        return strong;
    }
    of(&[Nature::Circumstance]).into_iter().filter(|finding| finding.rule.exonerates).collect()
}

/// Whether a finding is a reason to call its subject innocent.
fn speaks_for(finding: &Finding) -> bool {
    finding.rule.exonerates && matches!(finding.state, State::Clear(_))
}

fn of_part(scene: &Scene<'_>, part: &Subject, rows: &Rows<'_>, suspects: &[Suspect]) -> SubjectVerdict {
    let (verdict, reason) = accused(part, suspects).unwrap_or_else(|| judge(scene, part, rows));
    row(scene, part, verdict, reason)
}

fn of_component(
    scene: &Scene<'_>,
    component: &Subject,
    parts: &[SubjectVerdict],
    rows: &Rows<'_>,
    suspects: &[Suspect],
) -> SubjectVerdict {
    let own = suspects.iter().find(|suspect| suspect.subject == *component);
    let worst_part = parts.iter().min_by_key(|part| part.verdict);
    let (verdict, reason) = match (own, worst_part) {
        (Some(own), part) if part.is_none_or(|part| own.verdict <= part.verdict) => {
            (own.verdict, own.sentence.clone())
        }
        (_, Some(part)) if part.verdict != Verdict::Innocent => {
            (part.verdict, format!("{}: {}", part.subject, part.reason))
        }
        (_, Some(_)) => {
            let (verdict, reason) = judge(scene, component, rows);
            let all = match parts {
                [only] => only.reason.clone(),
                _ => format!("all {} of its parts are innocent", parts.len()),
            };
            (verdict, if verdict == Verdict::Innocent { all } else { reason })
        }
        _ => accused(component, suspects).unwrap_or_else(|| judge(scene, component, rows)),
    };
    row(scene, component, verdict, reason)
}

fn row(scene: &Scene<'_>, subject: &Subject, verdict: Verdict, reason: String) -> SubjectVerdict {
    let age_s = scene.world.last_data(subject).map(|at| scene.now.seconds_after(at));
    SubjectVerdict { subject: subject.clone(), verdict, reason, age_s }
}

/// The verdict by the first suspect that is this subject or a part of it.
fn accused(subject: &Subject, suspects: &[Suspect]) -> Option<(Verdict, String)> {
    let suspect = suspects.iter().find(|suspect| subject.contains(&suspect.subject))?;
    Some((suspect.verdict, suspect.sentence.clone()))
}

fn judge(scene: &Scene<'_>, subject: &Subject, rows: &Rows<'_>) -> (Verdict, String) {
    if scene.world.last_data(subject).is_none_or(|at| at < scene.stale_before_of(subject)) {
        return (Verdict::Unknown, scene.missing(subject));
    }
    let findings = deciding(subject, rows);
    if findings.is_empty() {
        return (Verdict::Unknown, "no rule looks at it yet".to_owned());
    }
    let mut seen: Vec<&str> = vec![];
    for finding in &findings {
        match &finding.state {
            // Rules that look at the same number say the same of it, with others between them.
            State::Clear(detail) if seen.iter().any(|said| said.contains(detail.as_ref())) => {}
            State::Clear(detail) => {
                seen.retain(|said| !detail.contains(said));
                seen.push(detail.as_ref());
            }
            State::Unknown(missing) => {
                return (Verdict::Unknown, format!("not seen: {} ({missing})", finding.rule.id));
            }
            State::Pending => {
                return (Verdict::Unknown, format!("{} stirs: {}", finding.rule.id, finding.sentence()));
            }
            // What accuses the whole names an instance where it can: whoever it is, none has earned to be cleared.
            State::Firing | State::Ended(_)
                if finding.subject != *subject && finding.subject.contains(subject) =>
            {
                return (
                    Verdict::Unknown,
                    format!("judged as a part of {}: {}", finding.subject, finding.rule.id),
                );
            }
            State::Firing | State::Ended(_) => {}
        }
    }
    if !findings.iter().any(|finding| speaks_for(finding)) {
        return (Verdict::Unknown, "no rule that could clear it has looked".to_owned());
    }
    (Verdict::Innocent, seen.into_iter().take(3).collect::<Vec<_>>().join("; "))
}
