//! What to do next, in one sentence.

use super::symptom::Suffering;
use super::{LEAST_EVALUATIONS, has_symptom_source, sees_latency, sees_symptoms};
use crate::report::{Conclusion, Suspect, Unjudged};
use crate::rules::{BIG_KEY, Nature, by_id};
use crate::scene::Scene;
use crate::time::Moment;
use crate::wording;

/// Said in place of "nobody suffers" where that is not known.
const UNSEEN: &str = "nobody is seen to suffer, but how long callers wait is not known";

/// One sentence for whoever is to act.
pub(super) fn of(
    scene: &Scene<'_>,
    conclusion: Conclusion,
    suffering: Option<&Suffering>,
    suspects: &[Suspect],
    unknown: &[Unjudged],
) -> String {
    let blind_spot = blind_spot(scene, suffering, unknown);
    let has_source = |row: &&Unjudged| {
        row.subject.kind().names_a_source()
            || scene.settings.component(&row.subject).is_some_and(|declared| declared.has_source)
    };
    let suffering = suffering.is_some();
    let first = suspects.first();
    let advice = match conclusion {
        Conclusion::Guilty => first.and_then(advice_there),
        _ => first.and_then(advice),
    };
    let advice = advice.as_deref();
    if let Some(since) = scene.silent_since {
        let before = match (conclusion, advice) {
            (Conclusion::Guilty, Some(advice)) => format!("; what was known before says: {advice}"),
            _ => String::new(),
        };
        return format!(
            "{}: look at this machine's own network first, and run 'headwater doctor'{before}",
            wording::silence(since)
        );
    }
    match (conclusion, first, advice) {
        (Conclusion::NoTarget, ..) => {
            "no target answered: run 'headwater doctor' to see what is in the way".to_owned()
        }
        (Conclusion::Guilty, _, Some(advice)) => advice.to_owned(),
        (_, Some(suspect), Some(advice)) if suffering => {
            format!("look at {} first: {advice}", suspect.subject)
        }
        (_, Some(suspect), _) if !sees_symptoms(scene) && has_symptom_source(scene) => format!(
            "{} is abnormal; nobody can say whether it hurts anyone until the source that shows what callers see \
             gives data again",
            suspect.subject
        ),
        (_, Some(suspect), _) if !sees_symptoms(scene) => format!(
            "{} is abnormal, not proven to be the cause of anything you see: add a source for the service that \
             suffers",
            suspect.subject
        ),
        (Conclusion::Blind, Some(suspect), Some(advice)) => {
            format!("nobody is seen to suffer; look at {}: {advice}", suspect.subject)
        }
        (_, Some(suspect), Some(advice)) if is_mechanism(suspect) && suspect.goes_on() => {
            let foreseen = hurts_from(scene, suspect);
            let by = foreseen
                .map_or(String::new(), |at| format!("; by {} somebody will if it goes on so", at.clock()));
            match sees_latency(scene) {
                true => format!("nobody suffers yet{by}; look at {}: {advice}", suspect.subject),
                false => format!("{UNSEEN}{by}; look at {}: {advice}", suspect.subject),
            }
        }
        (_, Some(suspect), _) => {
            let nobody = if sees_latency(scene) { "nobody suffers" } else { UNSEEN };
            format!("{nobody}; keep an eye on {}", suspect.subject)
        }
        (_, None, _) if suffering => match blind_spot {
            Some(row) => format!(
                "nothing seen explains it; look where Headwater is blind: {} ({})",
                row.subject, row.missing
            ),
            None => {
                "nothing seen explains it: look at what no source covers, and at recent changes".to_owned()
            }
        },
        (Conclusion::Blind, None, _) if scene.evaluations < LEAST_EVALUATIONS => {
            "look longer: the rules need three evaluations in a row, so at least three seconds".to_owned()
        }
        // What has no source is unknown for ever, and blinds nobody.
        (Conclusion::Blind, None, _) => {
            match unknown.iter().find(|row| has_source(row)).or(unknown.first()) {
                Some(row) => format!("no verdict without data on {}: {}", row.subject, row.missing),
                None => "no verdict: a configured source gives no data".to_owned(),
            }
        }
        _ => "nothing to do".to_owned(),
    }
}

/// Whether a suspect is one for what it does, and not for what is odd about it.
fn is_mechanism(suspect: &Suspect) -> bool {
    by_id(&suspect.rule).is_some_and(|rule| rule.nature == Nature::Mechanism)
}

/// When what a suspect does will hurt if it goes on so; `None` where nobody foresees that.
fn hurts_from(scene: &Scene<'_>, suspect: &Suspect) -> Option<Moment> {
    scene.findings.get(&suspect.rule, &suspect.subject)?.breach.as_ref()?.hurts_from
}

/// What cannot be seen and matters most: where the slow requests spend their time, else the first that is unknown.
fn blind_spot<'u>(
    scene: &Scene<'_>,
    suffering: Option<&Suffering>,
    unknown: &'u [Unjudged],
) -> Option<&'u Unjudged> {
    let stages = suffering.iter().flat_map(|suffering| &suffering.stages);
    let mut spent_in = stages.filter_map(|stage| stage.spent_in.as_ref()).filter_map(|spent_in| {
        let below = scene.graph.below(spent_in);
        let within = |row: &&Unjudged| below.contains_key(&row.subject.component_of());
        // A part says more than its whole.
        unknown.iter().filter(within).max_by_key(|row| !row.subject.is_component())
    });
    spent_in.next().or(unknown.first())
}

/// What to do about a suspect, and at which node, because most advice is about one and names none.
fn advice_there(suspect: &Suspect) -> Option<String> {
    let advice = advice(suspect)?;
    Some(match suspect.subject.address() {
        Some(address) => format!("{address}: {advice}"),
        None => advice,
    })
}

/// What to do about a suspect: where it explains a big key, the key is the handle, and its rule says how to take it.
fn advice(suspect: &Suspect) -> Option<String> {
    let explained = suspect.explains.iter().find(|rule| rule.as_str() == BIG_KEY);
    match (explained.and_then(|rule| by_id(rule)), suspect.keys.first()) {
        (Some(rule), Some(key)) => Some(format!("{}: {}", key.key, rule.next)),
        _ => by_id(&suspect.rule).map(|rule| rule.next.to_owned()),
    }
}
