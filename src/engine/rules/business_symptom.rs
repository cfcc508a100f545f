//! A declared number says that users or the business suffer.

use super::{ANY_KIND, Breach, Judgement, Limits, Nature, Rule, Watches};
use crate::metric::Bad;
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::settings::BusinessSymptom;
use crate::subject::Subject;

/// The id of the rule, which the walk asks for by name.
pub(crate) const ID: &str = "business-symptom";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a number that people live by is past its limit",
    doc: "A metric that the configuration names as a symptom ([[symptom]]: name, subject, metric, at_most or \
          at_least) is past its limit: false kills, lost orders, empty answers. Rates are summed over instances \
          and labels; of levels the worst counts; of a histogram the 99th percentile. No latency needs to show \
          it: the walk begins at the component that tells it. It is a symptom: it accuses nobody. Where latency \
          or errors show too, these are explained first, because they say in which part of a request it hurts.",
    next: "walk the dependencies first: whatever this component reads from is looked at before itself",
    watches: Watches::Those {
        kinds: ANY_KIND,
        which: "of which a symptom is declared",
        are: |scene, component| declared(scene, component).next().is_some(),
    },
    nature: Nature::Symptom,
    exonerates: true,
    role: Role::Victim,
    hold: 3,
    thresholds: &[],
    rivals: &[],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, component: &Subject, _: &Limits<'_>) -> Judgement {
    let mut seen = vec![];
    let mut missing = vec![];
    let mut worst: Option<Breach> = None;
    for symptom in declared(scene, component) {
        match of_one(scene, component, symptom) {
            Judgement::Clear(says) => seen.push(says),
            Judgement::Unknown(what) => missing.push(what),
            Judgement::Breach(breach) if worst.as_ref().is_none_or(|w| breach.severity > w.severity) => {
                worst = Some(*breach);
            }
            Judgement::Breach(_) => {}
        }
    }
    match worst {
        Some(breach) => breach.judged(),
        None if missing.is_empty() => Judgement::Clear(seen.join("; ")),
        None => Judgement::Unknown(missing.join("; ")),
    }
}

fn of_one(scene: &Scene<'_>, component: &Subject, symptom: &BusinessSymptom) -> Judgement {
    // With both limits, the number is looked at from the side on which it may be passed.
    let sides = [(symptom.at_most, Bad::High, "at most"), (symptom.at_least, Bad::Low, "at least")];
    let mut said = String::new();
    for (limit, bad, word) in sides {
        let Some(limit) = limit else { continue };
        let measured = match scene.measured(component, &symptom.metric, symptom.part.as_ref(), bad) {
            Ok(measured) => measured,
            Err(why) => {
                let number = symptom.metric.as_str();
                return Judgement::Unknown(format!("{}: no number '{number}': {why}", symptom.name));
            }
        };
        let (value, unit) = (measured.seen.value, measured.unit());
        said = format!("{} {}, {word} {}", symptom.name, show(value, unit), show(limit, unit));
        let is_past = if bad == Bad::High { value > limit } else { value < limit };
        if is_past {
            let severity = if bad == Bad::High { value / limit } else { limit / value };
            let short = format!("{} {}", symptom.name, show(value, unit));
            let severity = if severity.is_finite() { severity } else { 10.0 };
            let evidence = named_evidence(measured.name(), unit, measured.seen, Some(limit), measured.usual);
            return Breach::new(said, short, severity, vec![evidence]).judged();
        }
    }
    Judgement::Clear(said)
}

fn declared<'a>(scene: &'a Scene<'_>, component: &Subject) -> impl Iterator<Item = &'a BusinessSymptom> {
    scene.settings.symptoms.iter().filter(move |symptom| symptom.subject == *component)
}
