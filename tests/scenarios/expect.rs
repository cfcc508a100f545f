//! Holds a snapshot against what a case expects, and says what differs together with what is.

use headwater_engine::Snapshot;
use headwater_engine::report::{Evidence, Report, Suspect};
use headwater_engine::wording;
use serde::Serialize;

use super::script::{Expect, ExpectEvidence, ExpectReport, ExpectSuspect, ExpectSymptom};
use super::world::BEGAN;

/// What differs from a rule's expected state.
pub(crate) fn rule(snapshot: &Snapshot, expect: &Expect, file: Option<&str>) -> Vec<String> {
    let id = expect.rule.as_deref().or(file).expect("a rule to look at");
    let found = snapshot.rules.iter().find(|row| row.rule == id && row.subject == expect.subject);
    let (state, detail) = found.map_or(("absent", ""), |row| (row.state, row.detail.as_ref()));
    let mut complaints = vec![];
    let second = (snapshot.at.0 - BEGAN.0) / 1_000;
    if state != expect.state {
        complaints.push(format!(
            "{id} on {} is '{state}' at second {second} and not '{}': {detail}",
            expect.subject, expect.state
        ));
    }
    for fragment in expect.says.iter().filter(|fragment| !detail.contains(fragment.as_str())) {
        complaints.push(format!("{id} on {} does not say '{fragment}': {detail}", expect.subject));
    }
    complaints
}

/// What differs from an expected report.
pub(crate) fn report(snapshot: &Snapshot, expect: &ExpectReport) -> Vec<String> {
    let report = &snapshot.report;
    let mut complaints = vec![];
    let mut differ = |what: &str, wanted: &str, is: &str| {
        if wanted != is {
            complaints.push(format!("{what} is '{is}' and not '{wanted}'"));
        }
    };
    differ("conclusion", &expect.conclusion, &word(report.conclusion));
    if let Some(shape) = &expect.shape {
        differ("shape", shape, &word(report.shape.kind));
    }
    match (&expect.symptom, &report.symptom) {
        (Some(wanted), Some(_)) => complaints.extend(symptom(report, wanted)),
        (Some(wanted), None) => complaints.push(format!("no symptom on {}", wanted.subject)),
        (None, Some(is)) if expect.no_symptom => complaints.push(format!("a symptom: {}", is.sentence)),
        _ => {}
    }
    for (place, wanted) in expect.suspects.iter().enumerate() {
        match report.suspects.get(place) {
            Some(is) => complaints.extend(suspect(is, wanted, place)),
            None => complaints.push(format!("no suspect {place}: {} by {}", wanted.subject, wanted.rule)),
        }
    }
    if expect.only && report.suspects.len() > expect.suspects.len() {
        complaints.push("there are more suspects".to_owned());
    }
    complaints.extend(verdicts(report, expect));
    for wanted in &expect.unknown {
        let row = report.unknown.iter().find(|row| row.subject == wanted.subject);
        match row {
            Some(row) if row.missing.contains(&wanted.missing) => {}
            Some(row) => complaints
                .push(format!("{} is unknown for '{}', not '{}'", row.subject, row.missing, wanted.missing)),
            None => complaints.push(format!("{} is not unknown", wanted.subject)),
        }
    }
    if let Some(wanted) = &expect.chain {
        let fits = wanted.len() == report.chain.len()
            && wanted.iter().zip(&report.chain).all(|(wanted, link)| link.text.contains(wanted.as_str()));
        if !fits {
            complaints.push(format!("the chain is {:?}", report.chain));
        }
    }
    if let Some(code) = expect.exit.filter(|code| *code != report.conclusion.exit_code()) {
        complaints.push(format!("the exit code is {} and not {code}", report.conclusion.exit_code()));
    }
    let stages: Vec<String> = wording::stages(report).collect();
    for wanted in expect.stages.iter().filter(|wanted| !stages.iter().any(|line| line.contains(*wanted))) {
        complaints.push(format!("no line of the stages says '{wanted}': {stages:?}"));
    }
    if let Some(wanted) = &expect.loops {
        let fits = wanted.len() == report.loops.len()
            && wanted.iter().zip(&report.loops).all(|(wanted, is)| {
                let trigger = is.trigger.as_ref().map(|trigger| &trigger.subject);
                wanted.name == is.name && wanted.trigger.as_ref() == trigger && wanted.break_at == is.break_at
            });
        if !fits {
            complaints.push(format!("the loops are {:?}", report.loops));
        }
    }
    if let Some(wanted) = expect.next_step.as_ref().filter(|wanted| !report.next_step.contains(*wanted)) {
        complaints.push(format!("the next step is '{}', without '{wanted}'", report.next_step));
    }
    if let Some(wanted) = expect.scans_wanted.as_ref().filter(|wanted| snapshot.scans_wanted != **wanted) {
        complaints.push(format!("scans wanted are {:?} and not {wanted:?}", snapshot.scans_wanted));
    }
    if let Some(wanted) =
        expect.searches_wanted.as_ref().filter(|wanted| snapshot.searches_wanted != **wanted)
    {
        complaints.push(format!("searches wanted are {:?} and not {wanted:?}", snapshot.searches_wanted));
    }
    if !complaints.is_empty() {
        complaints.push(described(report));
    }
    complaints
}

fn verdicts(report: &Report, expect: &ExpectReport) -> Vec<String> {
    let mut complaints = vec![];
    for wanted in &expect.innocent {
        match report.exonerated.iter().find(|row| row.subject == wanted.subject) {
            Some(row) => {
                for by in wanted.by.iter().filter(|by| !row.by.contains(by)) {
                    complaints.push(format!("{} is not innocent by {by}: {:?}", row.subject, row.by));
                }
            }
            None => complaints.push(format!("{} is not innocent", wanted.subject)),
        }
    }
    for wanted in &expect.not_innocent {
        if report.exonerated.iter().any(|row| row.subject == *wanted) {
            complaints.push(format!("{wanted} is innocent"));
        }
    }
    for wanted in &expect.not_guilty {
        if report.verdicts.iter().any(|row| row.subject == *wanted && word(row.verdict) == "guilty") {
            complaints.push(format!("{wanted} is guilty"));
        }
    }
    complaints
}

fn symptom(report: &Report, wanted: &ExpectSymptom) -> Vec<String> {
    let Some(is) = &report.symptom else { return vec![] };
    let mut complaints = vec![];
    if is.subject != wanted.subject {
        complaints.push(format!("the symptom is on {} and not on {}", is.subject, wanted.subject));
    }
    if let Some(says) = wanted.says.as_ref().filter(|says| !is.sentence.contains(*says)) {
        complaints.push(format!("the symptom does not say '{says}': {}", is.sentence));
    }
    if wanted.before.is_some_and(|before| before != is.since.before) {
        complaints.push(format!("the symptom's onset is {:?}", is.since));
    }
    if wanted.since.is_some_and(|second| (is.since.at.0 - BEGAN.0).div_euclid(1_000) != second) {
        complaints.push(format!("the symptom's onset is {:?}", is.since));
    }
    if let Some(wanted) = &wanted.evidence {
        complaints.extend(evidence(std::slice::from_ref(&is.evidence), wanted));
    }
    complaints
}

fn suspect(is: &Suspect, wanted: &ExpectSuspect, place: usize) -> Vec<String> {
    let mut complaints = vec![];
    if is.subject != wanted.subject || is.rule != wanted.rule {
        complaints.push(format!(
            "suspect {place} is {} by {} and not {} by {}",
            is.subject, is.rule, wanted.subject, wanted.rule
        ));
        return complaints;
    }
    let words = [
        ("verdict", &wanted.verdict, word(is.verdict)),
        ("confidence", &wanted.confidence, word(is.confidence)),
        ("role", &wanted.role, word(is.role)),
    ];
    for (what, wanted, is) in words {
        if let Some(wanted) = wanted.as_ref().filter(|wanted| **wanted != is) {
            complaints.push(format!("{what} of suspect {place} is '{is}' and not '{wanted}'"));
        }
    }
    for rule in wanted.explains.iter().filter(|rule| !is.explains.contains(rule)) {
        complaints.push(format!("suspect {place} does not explain {rule}: {:?}", is.explains));
    }
    let rivals: Vec<&str> = is.rivals.iter().map(|rival| rival.rule.as_str()).collect();
    if wanted.rivals.as_ref().is_some_and(|wanted| *wanted != rivals) {
        complaints.push(format!("the rivals of suspect {place} are {rivals:?}"));
    }
    for fragment in wanted.says.iter().filter(|fragment| !is.sentence.contains(fragment.as_str())) {
        complaints.push(format!("suspect {place} does not say '{fragment}': {}", is.sentence));
    }
    if wanted.before.is_some_and(|before| before != is.since.before)
        || wanted.since.is_some_and(|second| (is.since.at.0 - BEGAN.0).div_euclid(1_000) != second)
    {
        complaints.push(format!("the onset of suspect {place} is {:?}", is.since));
    }
    if wanted.ended.is_some_and(|ended| ended != is.until.is_some()) {
        complaints.push(format!("suspect {place} ended {:?}", is.until));
    }
    let keys: Vec<&str> = is.keys.iter().map(|key| key.key.as_str()).collect();
    for key in wanted.keys.iter().filter(|key| !keys.contains(&key.as_str())) {
        complaints.push(format!("suspect {place} does not name {key}: {keys:?}"));
    }
    complaints.extend(wanted.evidence.iter().flat_map(|wanted| evidence(&is.evidence, wanted)));
    complaints
}

fn evidence(all: &[Evidence], wanted: &ExpectEvidence) -> Vec<String> {
    let Some(is) = all.iter().find(|row| row.metric == wanted.metric) else {
        let names: Vec<&str> = all.iter().map(|row| row.metric.as_str()).collect();
        return vec![format!("no evidence '{}' among {names:?}", wanted.metric)];
    };
    let near = |wanted: Option<f64>, is: Option<f64>| match (wanted, is) {
        (Some(wanted), Some(is)) => (wanted - is).abs() <= wanted.abs() * 0.01,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let from = is.baseline_from.map(word);
    let fits = near(wanted.value, Some(is.value))
        && near(wanted.limit, is.limit)
        && near(wanted.baseline, is.baseline)
        && (wanted.baseline_from.is_none() || wanted.baseline_from == from);
    if fits { vec![] } else { vec![format!("the evidence is {is:?}")] }
}

/// The word that users see in JSON.
pub(crate) fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("a value of the report");
    value.as_str().expect("a word").to_owned()
}

fn described(report: &Report) -> String {
    let mut lines = vec![format!("  so it is: {} {}", word(report.conclusion), report.shape.sentence)];
    for row in &report.suspects {
        let words = format!("{} {}", word(row.verdict), word(row.confidence));
        lines.push(format!("  suspect {} {} {words}: {}", row.subject, row.rule, row.sentence));
    }
    for row in &report.verdicts {
        lines.push(format!("  verdict {} {}: {}", row.subject, word(row.verdict), row.reason));
    }
    for row in &report.unknown {
        lines.push(format!("  unknown {}: {}", row.subject, row.missing));
    }
    lines.join("\n")
}
