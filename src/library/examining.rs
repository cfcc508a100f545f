//! What a runbook and an action must name so that they can be followed: real rules, metrics, panels, steps and actions.

use headwater_engine::Library;
use headwater_engine::filter::Filter;
use headwater_engine::rules::RULES;
use headwater_engine::runbook::{
    Check, PLACEHOLDERS, Remedy, Runbook, Step, parse_expectation, parse_subjects, placeholders_in,
};
use headwater_panels::PANELS;

use crate::config::{Document, unknown_name};

/// The panel that shows runbooks, which cannot stand beside itself.
const OWN_PANEL: &str = "runbook";

/// The longest id of a step: it stands in a narrow list.
const LONGEST_ID: usize = 6;

/// Complains of everything in a runbook that could not be followed.
pub(super) fn runbook(runbook: &Runbook, document: &mut Document<'_>, known: &Library) {
    for (place, rule) in runbook.when.iter().enumerate() {
        known_rule(rule, &["when", &place.to_string()], document);
    }
    if runbook.steps.is_empty() {
        document.complain(&["title"], "a runbook needs steps: write [[step]] with a question to answer");
    }
    for (place, step) in runbook.steps.iter().enumerate() {
        let here = Place { step: place.to_string() };
        identity(runbook, place, step, &here, document);
        shown(step, &here, document);
        if step.checks.is_empty() {
            let sentence = format!("step '{}' needs a check: write [[step.check]]", step.id);
            document.complain(&here.path(&["id"]), sentence);
        }
        for (number, check) in step.checks.iter().enumerate() {
            examine_check(check, &here, &number.to_string(), document);
        }
        let remedies: Vec<&str> = known.remedies.iter().map(|remedy| remedy.id.as_str()).collect();
        for (number, id) in
            step.remedies.iter().enumerate().filter(|(_, id)| !remedies.contains(&id.as_str()))
        {
            let number = number.to_string();
            document.complain(&here.path(&["remedies", &number]), unknown_name("action", id, &remedies));
        }
        for (key, text) in [
            ("question", &step.question),
            ("why", &step.why),
            ("good", &step.good),
            ("if_bad", &step.if_bad),
            ("if_good", &step.if_good),
        ] {
            words(text, &here.path(&[key]), document);
        }
        for (number, text) in step.avoid.iter().enumerate() {
            words(text, &here.path(&["avoid", &number.to_string()]), document);
        }
    }
}

/// Complains of everything in an action that could not be followed.
pub(super) fn remedy(remedy: &Remedy, document: &mut Document<'_>) {
    for (place, rule) in remedy.against.iter().enumerate() {
        known_rule(rule, &["for", &place.to_string()], document);
    }
    let optional = |key: &'static str, text: &Option<String>| text.clone().map(|text| (key, text));
    let texts =
        [("text", &remedy.text), ("effect", &remedy.effect), ("risk", &remedy.risk), ("undo", &remedy.undo)];
    let texts = texts.map(|(key, text)| (key, text.clone()));
    let more = [optional("gate", &remedy.gate), optional("command", &remedy.command)];
    for (key, text) in texts.into_iter().chain(more.into_iter().flatten()) {
        words(&text, &[key], document);
    }
}

/// Where a step stands in its document.
struct Place {
    step: String,
}

impl Place {
    fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        ["step", &self.step].into_iter().chain(rest.iter().copied()).collect()
    }
}

fn identity(runbook: &Runbook, place: usize, step: &Step, here: &Place, document: &mut Document<'_>) {
    let is_word = !step.id.is_empty() && !step.id.contains(char::is_whitespace);
    if !is_word || step.id.chars().count() > LONGEST_ID {
        let complaint = format!(
            "is no id: write a short one without blanks, up to {LONGEST_ID} characters, such as '2.1'"
        );
        document.wrong(&here.path(&["id"]), complaint);
    }
    if runbook.step(&step.id).is_some_and(|first| first < place) {
        document.wrong(&here.path(&["id"]), "is the id of an earlier step already: each step has its own");
    }
    let Some(id) = &step.bad_leads_to else { return };
    match runbook.step(id) {
        Some(other) if other == place => {
            document
                .wrong(&here.path(&["bad_leads_to"]), "is this very step: name another one, or leave it out");
        }
        Some(_) => {}
        None => {
            let ids: Vec<&str> = runbook.steps.iter().map(|step| step.id.as_str()).collect();
            document.complain(&here.path(&["bad_leads_to"]), unknown_name("step", id, &ids));
        }
    }
}

/// The panel and its filter.
fn shown(step: &Step, here: &Place, document: &mut Document<'_>) {
    let names: Vec<&str> = PANELS.iter().map(|row| row.name).filter(|name| *name != OWN_PANEL).collect();
    let Some(row) = PANELS.iter().find(|row| row.name == step.panel && row.name != OWN_PANEL) else {
        return document.complain(&here.path(&["panel"]), unknown_name("panel", &step.panel, &names));
    };
    let Some(filter) = &step.filter else { return };
    let fields = (row.make)().fields();
    if fields.is_empty() {
        return document
            .wrong(&here.path(&["filter"]), format!("has nothing to filter on panel '{}'", row.name));
    }
    if let Err(error) = Filter::parse(filter, &fields) {
        document.wrong(&here.path(&["filter"]), format!("makes no sense on panel '{}': {error}", row.name));
    }
}

fn examine_check(check: &Check, here: &Place, number: &str, document: &mut Document<'_>) {
    let at = |key| here.path(&["check", number, key]);
    let asked = [!check.rules.is_empty(), check.expect.is_some(), check.asks.is_some()];
    if asked.iter().filter(|is| **is).count() != 1 {
        document.complain(
            &at("says"),
            "a check has exactly one of 'rules', 'expect' and 'asks': write one of them",
        );
    }
    for (place, rule) in check.rules.iter().enumerate() {
        known_rule(rule, &here.path(&["check", number, "rules", &place.to_string()]), document);
    }
    if let Some(Err(error)) = check.expect.as_deref().map(parse_expectation) {
        document.wrong(&at("expect"), format!("makes no sense: {error}"));
    }
    if let Some(Err(_)) = check.on.as_deref().map(parse_subjects) {
        document.wrong(&at("on"), "is no pattern of subjects: write for example 'redis/*'");
    }
}

fn known_rule(id: &str, path: &[&str], document: &mut Document<'_>) {
    if !RULES.iter().any(|rule| rule.id == id) {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        document.complain(path, unknown_name("rule", id, &ids));
    }
}

/// A text must say something, with placeholders that exist.
fn words(text: &str, path: &[&str], document: &mut Document<'_>) {
    if text.trim().is_empty() {
        document.wrong(path, "is empty: whoever reads it in an incident needs it");
    }
    let names: Vec<&str> = PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
    for name in placeholders_in(text).filter(|name| !names.contains(name)) {
        document.complain(path, unknown_name("placeholder", name, &names));
    }
}
