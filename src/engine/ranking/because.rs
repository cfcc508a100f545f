//! The ranking in words.

use super::calls::Calls;
use super::nature::Nature;
use super::robust::{finite, median};
use super::view::View;
use super::{Course, Evidence, Mechanism, Question, Worse};
use crate::metric::Unit;
use crate::quantity::{show, times};

/// A second number is worth a word from this share of the first one's strength.
const WORTH_A_WORD: f64 = 0.3;

/// One sentence from the evidence, strongest first.
pub(super) fn sentence(evidence: &[Evidence], symptom: &str, is_weak: bool, seen_as: Option<&str>) -> String {
    let Some((first, rest)) = evidence.split_first() else { return String::new() };
    if is_weak {
        return format!("hardly differs: {}", clause(first, symptom));
    }
    let mut text = seen_as.map_or_else(String::new, |name| format!("seen as {name}: "));
    text += &clause(first, symptom);
    for other in rest.iter().filter(|other| other.strength >= WORTH_A_WORD * first.strength) {
        text += "; ";
        text += &clause(other, symptom);
    }
    text
}

fn clause(evidence: &Evidence, symptom: &str) -> String {
    let change = change(evidence);
    match evidence.mechanism {
        Mechanism::OwnTime | Mechanism::OwnFailures => {
            let lost = if evidence.mechanism == Mechanism::OwnTime { "time" } else { "requests" };
            match evidence.share {
                Some(share) => format!(
                    "{change}; beyond its dependencies this is {} of the {lost} that {symptom} lost",
                    show(share, Unit::Ratio)
                ),
                None => format!("{change}, beyond what its dependencies explain"),
            }
        }
        Mechanism::Slow => format!("{change}, more than any dependency"),
        Mechanism::Fails if evidence.is_for_each_request => {
            format!("for each request its {change}, worse than any dependency")
        }
        Mechanism::Fails => format!("{change}, worse than any dependency"),
        Mechanism::Resource => format!("its own {change}"),
        Mechanism::Work => format!("for each request its {change}"),
        Mechanism::Link => {
            let wait = |value| evidence.nature.show(value);
            format!(
                "on the way {} the caller waits {} longer than the callee takes, usually {} ({})",
                evidence.subject,
                wait(evidence.to),
                wait(evidence.from),
                evidence.metric
            )
        }
        Mechanism::Silence => format!(
            "it calls {} less than its own traffic asks for: from {} to {} for each request",
            evidence.subject,
            show(evidence.from, Unit::Count),
            show(evidence.to, Unit::Count)
        ),
        Mechanism::Odd => change,
    }
}

/// `latency.avg rose from 12 ms to 340 ms (28x)`; of a part or a call with its name before it.
fn change(evidence: &Evidence) -> String {
    let Evidence { metric, nature, from, to, .. } = evidence;
    let verb = if to >= from { "rose" } else { "fell" };
    let mut text = format!("{metric} {verb} from {} to {}", nature.show(*from), nature.show(*to));
    if *from > 0.0 && to / from >= 1.5 {
        text += &format!(" ({})", times(to / from));
    }
    text
}

/// How the symptom's own series went.
pub(super) fn course(question: &Question<'_>, view: &View<'_>) -> Course {
    let symptom = view.symptom.map(|seen| seen.series);
    let nature = symptom.map_or_else(|| Nature::of(question.symptom.metric), |series| series.nature);
    let values = |points| finite(points).map(|point| point.value).collect::<Vec<f64>>();
    let usual = symptom.and_then(|series| median(&mut values(series.baseline)));
    let badness = |value: &f64| match nature.worse {
        Worse::Up => *value,
        Worse::Down => -value,
        Worse::Either => (value - usual.unwrap_or(0.0)).abs(),
    };
    let worst = symptom.and_then(|series| {
        values(series.window).into_iter().max_by(|one, other| badness(one).total_cmp(&badness(other)))
    });
    Course { usual, worst, nature }
}

/// What a reader must know that the numbers do not say.
pub(super) fn missing(question: &Question<'_>, calls: &Calls<'_>, view: &View<'_>) -> Vec<String> {
    let symptom = question.symptom;
    let mut missing = vec![];
    let has = |points| finite(points).next().is_some();
    match view.symptom.map(|seen| seen.series) {
        None => missing.push(format!(
            "{} has no {}: no moment counts more than another, and nobody's share of the symptom is known",
            symptom.subject, symptom.metric
        )),
        Some(series) if !has(series.window) => {
            missing.push(format!("{} of {} has no value in the window", symptom.metric, symptom.subject));
        }
        Some(series) if !has(series.baseline) => {
            missing.push(format!("{} of {} has no value in the baseline", symptom.metric, symptom.subject));
        }
        Some(_) => {}
    }
    if calls.len() == 1 {
        missing.push(format!("{} calls nothing that is known: it is the only candidate", symptom.subject));
    }
    let silent: Vec<&str> =
        (0..calls.len()).filter(|place| !view.tells_of(*place)).map(|place| calls.names[place]).collect();
    if !silent.is_empty() {
        missing.push(format!(
            "not judged, because baseline or window has none of their numbers: {}",
            silent.join(", ")
        ));
    }
    if view.beyond > 0 {
        missing.push(format!(
            "{} {} not among what {} calls, directly or not, and cannot be ranked",
            view.beyond,
            if view.beyond == 1 { "subject is" } else { "subjects are" },
            symptom.subject
        ));
    }
    missing
}
