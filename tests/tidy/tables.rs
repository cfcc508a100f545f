//! Tables and the files that go with them: nothing is in one and missing from the other.

use std::collections::BTreeSet;
use std::fs;

use headwater::sources::metrics::dialect::Dialects;
use headwater::theme;
use headwater_engine::rules::RULES;
use headwater_panels::palette::ROLES;
use toml::{Table, Value};

use super::house::{assert_none, read, root};

/// The answers of a rule that its scenarios must show, each with what may stand in its place; `kind` is its hold and whether it
/// exonerates.
fn answers_of((hold, exonerates): (u32, bool)) -> Vec<(&'static str, &'static str)> {
    // A rule that fires at once is never pending; one that clears nobody besides may know nothing only after something bad.
    let is_at_once = hold == 1;
    let unknown = ("unknown", if is_at_once && !exonerates { "ended" } else { "unknown" });
    let pending = (!is_at_once).then_some(("pending", "pending"));
    [("clear", "clear"), ("firing", "firing"), unknown].into_iter().chain(pending).collect()
}

/// The states that the cases of a scenario file expect.
fn states_in(scenarios: &Table) -> BTreeSet<String> {
    let cases = scenarios.get("case").and_then(Value::as_array).into_iter().flatten();
    let expected = cases.filter_map(|case| case.get("expect").and_then(Value::as_array)).flatten();
    expected.filter_map(|row| row.get("state").and_then(Value::as_str).map(str::to_owned)).collect()
}

fn missing_answers(id: &str, kind: (u32, bool), scenarios: &str) -> Vec<String> {
    let states = match scenarios.parse::<Table>() {
        Ok(table) => states_in(&table),
        Err(error) => return vec![format!("tests/scenarios/{id}.toml cannot be read: {error}")],
    };
    let missing = answers_of(kind)
        .into_iter()
        .filter(|(answer, other)| !states.contains(*answer) && !states.contains(*other));
    missing
        .map(|(answer, _)| format!("tests/scenarios/{id}.toml has no case in which it is {answer}"))
        .collect()
}

#[test]
fn every_rule_has_scenarios_for_each_of_its_answers() {
    let mut breaches = vec![];
    for rule in RULES {
        match fs::read_to_string(root().join(format!("tests/scenarios/{}.toml", rule.id))) {
            Ok(text) => breaches.extend(missing_answers(rule.id, (rule.hold, rule.exonerates), &text)),
            Err(error) => breaches.push(format!("tests/scenarios/{}.toml: {error}", rule.id)),
        }
    }
    assert_none(&breaches);
}

#[test]
fn every_rule_is_one_file_and_every_file_is_in_the_table() {
    let table = read("src/engine/rules.rs");
    let mut breaches = vec![];
    for entry in fs::read_dir(root().join("src/engine/rules")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().replace(".rs", "");
        let is_rule = fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("static RULE: Rule"));
        if is_rule && !table.contains(&format!("&{name}::RULE,")) {
            breaches.push(format!("src/engine/rules/{name}.rs is not in RULES"));
        }
    }
    for rule in RULES {
        let file = format!("src/engine/rules/{}.rs", rule.id.replace('-', "_"));
        if !root().join(&file).exists() {
            breaches.push(format!("rule '{}' has no file {file}", rule.id));
        }
    }
    assert_none(&breaches);
}

#[test]
fn every_dialect_file_is_known_by_its_own_name() {
    let mut files: Vec<String> = fs::read_dir(root().join("assets/dialects"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().replace(".toml", ""))
        .collect();
    let mut known: Vec<String> = Dialects::built_in().list.iter().map(|dialect| dialect.id.clone()).collect();
    files.sort();
    known.sort();
    assert_eq!(known, files, "a dialect's file is named for its id");
}

/// What a built-in theme's file lacks of the roles, and what it has beside them.
fn breaches_of_theme(name: &str, text: &str) -> Vec<String> {
    let theme = match text.parse::<Table>() {
        Ok(theme) => theme,
        Err(error) => return vec![format!("themes/{name}: {error}")],
    };
    let empty = Table::new();
    let roles = theme.get("roles").and_then(Value::as_table).unwrap_or(&empty);
    let missing = ROLES.iter().filter(|(_, role)| !roles.contains_key(*role));
    let mut breaches: Vec<_> =
        missing.map(|(_, role)| format!("themes/{name} has no role '{role}'")).collect();
    let unknown = roles.keys().filter(|role| ROLES.iter().all(|(_, known)| known != role));
    breaches.extend(unknown.map(|role| format!("themes/{name}: there is no role '{role}'")));
    if !theme.contains_key("ground") {
        breaches.push(format!("themes/{name} has no ground"));
    }
    breaches
}

#[test]
fn every_theme_has_every_role_by_itself() {
    let mut breaches = vec![];
    let mut names = vec![];
    for entry in fs::read_dir(root().join("themes")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        breaches.extend(breaches_of_theme(&name, &read(&format!("themes/{name}"))));
        names.push(name.replace(".toml", ""));
    }
    assert_none(&breaches);
    names.sort();
    assert_eq!(names, theme::built_in_names().collect::<Vec<_>>());
}

#[test]
fn a_theme_without_a_role_is_seen() {
    let mut whole = "ground = {}\n[roles]\n".to_owned();
    for (_, role) in ROLES {
        whole += &format!("{role} = {{}}\n");
    }
    assert_eq!(breaches_of_theme("x.toml", &whole), [""; 0]);
    assert_eq!(breaches_of_theme("x.toml", &whole.replace("guilty", "gulity")).len(), 2);
    assert_eq!(breaches_of_theme("x.toml", &whole.replace("ground", "from")).len(), 1);
    assert_eq!(breaches_of_theme("x.toml", "[roles").len(), 1);
}

#[test]
fn a_missing_answer_is_seen() {
    let scenarios = "[[case]]\nexpect = [{ state = \"clear\" }, { state = \"firing\" }]\n\
                     [[case]]\nexpect = [{ state = \"unknown\" }]\n";
    assert_eq!(missing_answers("x", (1, true), scenarios), [""; 0]);
    assert_eq!(missing_answers("x", (3, true), scenarios).len(), 1);
    assert_eq!(missing_answers("x", (3, true), "").len(), 4);
    assert_eq!(missing_answers("x", (3, true), "[[case").len(), 1);
}
