//! Pages that are made from tables: the same as what the tables say now. `UPDATE=1` writes them anew.

use std::env;
use std::fmt::Write;
use std::fs;

use headwater::keymap;
use headwater_engine::filter::GRAMMAR;
use headwater_engine::metric::{Bad, Form, METRICS, Unit};
use headwater_engine::rules::{RULES, Rule};

use super::house::root;

const NOTE: &str =
    "<!-- Made from the code by `UPDATE=1 cargo test --test tidy generated`; edit the code instead. -->";

/// Compares a page with its file, or writes the file where UPDATE is set.
fn assert_fresh(path: &str, page: &str) {
    let file = root().join(path);
    if env::var_os("UPDATE").is_some() {
        fs::write(&file, page).expect("docs/ can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "'{path}' is stale: run 'UPDATE=1 cargo test --test tidy generated' and commit it"
    );
}

fn rules_page() -> String {
    let mut page = format!("{NOTE}\n# Rules\n\n");
    page += "Every way in which Headwater can accuse, in the order of their strength. \
             `headwater explain ID` prints the same for one rule.\n\n\
             | id | fires when | watches | worth |\n| --- | --- | --- | --- |\n";
    for rule in RULES {
        let _ = writeln!(
            page,
            "| [{0}](#{0}) | {1} | {2} | {3} |",
            rule.id,
            cell(rule.title),
            rule.watches.words(),
            rule.nature.word()
        );
    }
    for rule in RULES {
        page += &rule_section(rule);
    }
    page
}

fn rule_section(rule: &Rule) -> String {
    let mut section = format!("\n## {}\n\n{}\n\n", rule.id, rule.doc);
    if rule.hold > 1 {
        let _ =
            writeln!(section, "Fires after {} evaluations in a row, unless a counter dates it.\n", rule.hold);
    }
    let _ = writeln!(section, "**Next:** {}", rule.next);
    if !rule.absorbs.is_empty() {
        let _ = writeln!(section, "\n**Explains** on the same subject: {}.", links(rule.absorbs));
    }
    if !rule.rivals.is_empty() {
        section += "\n| rival | told apart by |\n| --- | --- |\n";
        for rival in rule.rivals {
            let _ = writeln!(section, "| {} | {} |", links(&[rival.rule]), cell(rival.told_by));
        }
    }
    if !rule.thresholds.is_empty() {
        section += "\n| threshold | default | what it limits |\n| --- | --- | --- |\n";
        for limit in rule.thresholds {
            let _ = writeln!(
                section,
                "| `{}` | {} | {} |",
                limit.name,
                limit.show(limit.default),
                cell(limit.help)
            );
        }
    }
    section
}

/// Links to the rules that are in the table, and the bare names of the others.
fn links(ids: &[&str]) -> String {
    let link = |id: &&str| {
        if RULES.iter().any(|rule| rule.id == *id) { format!("[{id}](#{id})") } else { (*id).to_owned() }
    };
    ids.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn metrics_page() -> String {
    let mut page = format!("{NOTE}\n# Metrics\n\n");
    page += "Every number that rules know by name. Names follow OpenTelemetry's semantic conventions where these have \
             one. Counters become rates in the store; the unit is that of the stored value.\n\n\
             | name | unit | arrives as | worse when | what it is |\n| --- | --- | --- | --- | --- |\n";
    for row in METRICS {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            row.name,
            unit_words(row.unit),
            form_word(row.form),
            bad_word(row.bad),
            cell(row.help)
        );
    }
    page
}

fn unit_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Ratio => "ratio",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Seconds => "seconds",
        Unit::PerSecond => "per second",
        Unit::Count => "count",
        Unit::Celsius => "degrees Celsius",
        Unit::Watts => "watts",
        Unit::Hertz => "hertz",
        Unit::UnixSeconds => "seconds since 1970",
    }
}

fn form_word(form: Form) -> &'static str {
    match form {
        Form::Gauge => "gauge",
        Form::Counter => "counter",
        Form::Histogram => "histogram",
    }
}

fn bad_word(bad: Bad) -> &'static str {
    match bad {
        Bad::High => "higher",
        Bad::Low => "lower",
        Bad::Neither => "",
    }
}

/// A text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn keys_page() -> String {
    let keymap = keymap::built_in();
    let mut page = format!("{NOTE}\n# Keys\n\n");
    page += "What each key does. A file `$XDG_CONFIG_HOME/headwater/keymap.toml`, or one named with `--keymap`, gives \
             other keys to the names in it: `freeze = [\"f\"]`. A key that it gives away is taken from what had it. \
             `headwater config keymap` prints all of it in that form; `:` runs everything by its name.\n";
    for (title, commands) in keymap::sections() {
        let _ = writeln!(page, "\n## {title}\n\n| keys | name | what it does |\n| --- | --- | --- |");
        for command in commands {
            let keys: Vec<_> =
                keymap.strokes(command).map(|stroke| format!("`{}`", cell(&stroke.to_string()))).collect();
            let (name, help) = (command.name(), cell(command.help()));
            let _ = writeln!(page, "| {} | {name} | {help} |", keys.join(" "));
        }
    }
    page += "\n## Filters\n\nWhat `/` understands on every panel with rows; `?` lists the fields of the panel.\n\n\
             | for example | what it keeps |\n| --- | --- |\n";
    for row in GRAMMAR {
        let _ = writeln!(page, "| `{}` | {} |", cell(row.form), cell(row.help));
    }
    page
}

#[test]
fn generated_keys_page_is_fresh() {
    assert_fresh("docs/keys.md", &keys_page());
}

#[test]
fn generated_rules_page_is_fresh() {
    assert_fresh("docs/rules.md", &rules_page());
}

#[test]
fn generated_metrics_page_is_fresh() {
    assert_fresh("docs/metrics.md", &metrics_page());
}

#[test]
fn generated_pages_hold_every_row() {
    let (rules, metrics) = (rules_page(), metrics_page());
    for rule in RULES {
        assert!(rules.contains(&format!("\n## {}\n", rule.id)), "{} is missing", rule.id);
        for limit in rule.thresholds {
            assert!(
                rules.contains(&format!("| `{}` |", limit.name)),
                "{} of {} is missing",
                limit.name,
                rule.id
            );
        }
    }
    assert_eq!(metrics.matches("\n| `").count(), METRICS.len());
}
