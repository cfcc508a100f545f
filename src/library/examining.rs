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
    for (key, text) in [("title", &runbook.title), ("about", &runbook.about)] {
        words(text, &[key], document);
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
            ("title", &step.title),
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
    words(&check.says, &at("says"), document);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{built_in, read};
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let error = read::<Runbook>(text, "x", "x.toml", &built_in()).expect_err(text);
        error.to_string().lines().map(|line| line.replacen("x.toml:", "", 1)).collect()
    }

    /// A right runbook; each test makes one line of it wrong.
    const RIGHT: &str = r#"title = "x"
about = "y"
when = ["shard-bandwidth"]

[[step]]
id = "1"
title = "a"
question = "is {key} big?"
why = "w"
panel = "shards"
filter = "link > 70 %"
good = "g"
if_bad = "b"
if_good = "c"
bad_leads_to = "2"
remedies = ["local-cache"]

[[step.check]]
says = "quick"
expect = "redis.answer_time < 5 ms"
on = "redis/*"

[[step]]
id = "2"
title = "a"
question = "q"
why = "w"
panel = "overview"
good = "g"
if_bad = "b"
if_good = "c"

[[step.check]]
says = "clear"
rules = ["big-key"]
"#;

    #[test]
    fn every_mistake_is_told_with_its_line_its_key_and_what_was_meant() {
        assert!(read::<Runbook>(RIGHT, "x", "x.toml", &built_in()).is_ok());
        for (right, wrong, complaint) in [
            (
                "shard-bandwidth",
                "shard-bandwith",
                "3: unknown rule 'shard-bandwith': did you mean 'shard-bandwidth'?",
            ),
            ("id = \"1\"", "id = \"step one\"", "6: 'id' = 'step one' is no id"),
            ("{key}", "{kee}", "8: unknown placeholder 'kee': did you mean 'key'?"),
            ("why = \"w\"", "why = \" \"", "9: 'why' = ' ' is empty"),
            ("panel = \"shards\"", "panel = \"shard\"", "10: unknown panel 'shard': did you mean 'shards'?"),
            ("panel = \"shards\"", "panel = \"runbook\"", "10: unknown panel 'runbook'"),
            (
                "link > 70",
                "lnk > 70",
                "11: 'filter' = 'lnk > 70 %' makes no sense on panel 'shards': column 1: there is no field 'lnk'",
            ),
            ("bad_leads_to = \"2\"", "bad_leads_to = \"3\"", "15: unknown step '3'"),
            ("bad_leads_to = \"2\"", "bad_leads_to = \"1\"", "15: 'bad_leads_to' = '1' is this very step"),
            ("local-cache", "local-cash", "16: unknown action 'local-cash': did you mean 'local-cache'?"),
            (
                "answer_time < 5 ms",
                "answer_time < 5 MB",
                "20: 'expect' = 'redis.answer_time < 5 MB' makes no sense: column 23: bytes do not fit",
            ),
            ("on = \"redis/*\"", "on = \"a b = c\"", "21: 'on' = 'a b = c' is no pattern of subjects"),
            (
                "on = \"redis/*\"",
                "asks = \"recovery\"",
                "19: a check has exactly one of 'rules', 'expect' and 'asks'",
            ),
            ("id = \"2\"", "id = \"1\"", "24: 'id' = '1' is the id of an earlier step already"),
            ("big-key", "big-keys", "35: unknown rule 'big-keys': did you mean 'big-key'?"),
            (
                "if_good = \"c\"\nbad",
                "if_godo = \"c\"\nbad",
                "14: unknown key 'if_godo': did you mean 'if_good'?",
            ),
            ("about = \"y\"", "about = 5", "2: 'about' = '5' is not a text"),
        ] {
            let found = complaints(&RIGHT.replacen(right, wrong, 1));
            assert!(found.iter().any(|line| line.starts_with(complaint)), "{complaint}\n{found:#?}");
        }
        for (right, key) in
            [("title = \"x\"", "title"), ("title = \"a\"", "title"), ("says = \"quick\"", "says")]
        {
            let found = complaints(&RIGHT.replacen(right, &format!("{key} = \"\""), 1));
            assert!(found[0].contains(&format!("'{key}' = '' is empty")), "{found:?}");
        }
        assert_eq!(complaints("about = \"y\"\n"), ["1: 'title' is missing"]);
        assert!(complaints("title = \"x\"\nabout = \"y\"\nstep = []\n")[0].contains("needs steps"));
        let without_checks = RIGHT.replace("[[step.check]]\nsays = \"clear\"\nrules = [\"big-key\"]\n", "");
        assert_eq!(complaints(&without_checks), ["24: step '2' needs a check: write [[step.check]]"]);
    }

    #[test]
    fn an_action_needs_its_effect_its_risk_and_its_undo() {
        let right = "text = \"t\"\neffect = \"e\"\nrisk = \"r\"\nundo = \"u\"\nreversible = true\n";
        let read = |text: &str| read::<Remedy>(text, "x", "x.toml", &Library::default());
        assert!(read(right).is_ok());
        for key in ["effect", "risk", "undo"] {
            let without: String =
                right.lines().filter(|line| !line.starts_with(key)).map(|l| format!("{l}\n")).collect();
            let told = read(&without).unwrap_err().to_string();
            assert!(told.contains(key), "{told}");
        }
        let told = read(&format!("{right}for = [\"big-kye\"]\n")).unwrap_err().to_string();
        assert_eq!(told, "x.toml:6: unknown rule 'big-kye': did you mean 'big-key'?");
    }

    #[test]
    fn what_is_built_in_fits_together() {
        let library = built_in();
        let ids: Vec<&str> = library.runbooks[0].steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(library.runbooks[0].id, "dependencies-first");
        let walk = [
            "0", "1", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "3", "4", "5", "6", "7", "8",
            "9",
        ];
        assert_eq!(ids, walk);
        for remedy in &library.remedies {
            let named =
                |runbook: &Runbook| runbook.steps.iter().any(|step| step.remedies.contains(&remedy.id));
            assert!(library.runbooks.iter().any(named), "nobody names '{}'", remedy.id);
        }
    }

    #[test]
    fn every_cause_has_an_action_and_a_step_that_asks_for_it() {
        use headwater_engine::report::Role;
        use headwater_engine::rules::{Nature, RULES};
        use headwater_engine::runbook::Asks;
        // These are asked by questions that look at more than the rule.
        const BY_QUESTIONS: &[(&str, Asks)] =
            &[("slow-instance", Asks::Scope), ("recent-change", Asks::Changes)];
        let library = built_in();
        let walk = &library.runbooks[0];
        let stops = walk.steps.iter().flat_map(|step| &step.remedies);
        let stops: Vec<&Remedy> =
            stops.filter_map(|id| library.remedies.iter().find(|remedy| remedy.id == *id)).collect();
        let checks = || walk.steps.iter().flat_map(|step| &step.checks);
        for rule in RULES.iter().filter(|rule| rule.nature != Nature::Symptom) {
            let helps = stops.iter().any(|remedy| remedy.against.iter().any(|id| id == rule.id));
            let is_to_be_stopped = rule.nature != Nature::Support || rule.role == Role::Amplifier;
            assert!(helps || !is_to_be_stopped, "no action of the walk is for '{}'", rule.id);
            let by_question = BY_QUESTIONS.iter().find(|(id, _)| *id == rule.id).map(|(_, asks)| *asks);
            let is_asked = checks().any(|check| {
                check.rules.iter().any(|id| id == rule.id)
                    || (by_question.is_some() && check.asks == by_question)
            });
            assert!(is_asked, "no step of the walk asks for '{}'", rule.id);
        }
    }

    #[test]
    fn a_step_that_ends_the_search_offers_what_helps_against_what_it_asks_for() {
        use headwater_engine::runbook::Asks;
        let library = built_in();
        let walk = &library.runbooks[0];
        let asks =
            |asks: Asks| walk.steps.iter().position(|step| step.checks.iter().any(|c| c.asks == Some(asks)));
        let stop = asks(Asks::Action).unwrap();
        let helps = |id: &str, rule: &String| {
            library.remedies.iter().any(|remedy| remedy.id == id && remedy.against.contains(rule))
        };
        let ends = |step: &&Step| step.bad_leads_to.as_ref() == Some(&walk.steps[stop].id);
        let mut asked = 0;
        for step in walk.steps.iter().filter(ends) {
            for rule in step.checks.iter().flat_map(|check| &check.rules) {
                let is_helped = library.remedies.iter().any(|remedy| helps(&remedy.id, rule));
                let is_offered = step.remedies.iter().any(|id| helps(id, rule));
                assert!(!is_helped || is_offered, "step {} offers nothing against '{rule}'", step.id);
                asked += 1;
            }
        }
        assert!(asked > 20, "{asked}");
    }

    #[test]
    fn no_text_of_a_runbook_steers_a_terminal_or_runs_a_second_command() {
        let text = RIGHT.replacen("why = \"w\"", "why = \"a\\u001b[2Jb\"", 1);
        let runbook = read::<Runbook>(&text, "x", "x.toml", &built_in()).unwrap();
        assert_eq!(runbook.steps[0].why, "a\u{fffd}[2Jb");
        let remedy = "text = \"t\"\neffect = \"e\"\nrisk = \"r\"\nundo = \"u\"\nreversible = true\ncommand = \"ls\\nrm x\"\n";
        let remedy = read::<Remedy>(remedy, "x", "x.toml", &Library::default()).unwrap();
        assert_eq!(remedy.command.as_deref(), Some("ls rm x"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read_or_complained_of(
            line in 0_usize..36,
            piece in "[a-z=\\[\\]{}\"'<>0-9. %*\\\\é\n]{0,30}",
            cut in 0_usize..900,
        ) {
            let mut lines: Vec<&str> = RIGHT.lines().collect();
            if line < lines.len() {
                lines[line] = &piece;
            }
            let text = lines.join("\n");
            for text in [text.as_str(), RIGHT.get(..cut).unwrap_or(RIGHT), piece.as_str()] {
                if let Err(error) = read::<Runbook>(text, "x", "x.toml", &Library::default()) {
                    prop_assert!(!error.problems.is_empty());
                }
            }
        }
    }
}
