//! Rust files: their names, their lengths and what none of them may hold.

use super::house::{File, assert_none, rust_files};

/// Non-test lines that a file may have.
const HARD: usize = 500;

/// Non-test lines above which a file must be in [`LONG`].
const SOFT: usize = 300;

/// Files between [`SOFT`] and [`HARD`]. This list only shrinks: a file that is short again is taken off, and a new one
/// is split instead.
const LONG: &[&str] = &[
    "src/config/resolve.rs",
    "src/engine/scene.rs",
    "src/engine/store.rs",
    "src/lab.rs",
    "src/lab/cluster.rs",
    "src/sources/metrics/exposition.rs",
    "src/sources/metrics/exposition/line.rs",
    "src/sources/metrics/exposition/openmetrics.rs",
    "src/sources/redis/connection.rs",
    "src/sources/redis/discovery.rs",
    "src/sources/redis/node.rs",
];

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc", "mod"];

/// The folders whose files are measured; tests may be as long as what they show.
const MEASURED: &[&str] = &["src/", "widgets/", "panels/"];

fn breaches_of_name(path: &str) -> Option<String> {
    let names = path.strip_suffix(".rs")?.split('/');
    let empty = names.into_iter().find(|name| EMPTY_NAMES.contains(name))?;
    Some(format!("{path}: '{empty}' says nothing of what is inside"))
}

/// Lines before the tests, which stand at the end of a file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    let tests = lines.windows(2).position(|two| two[0] == "#[cfg(test)]" && two[1].starts_with("mod tests"));
    tests.unwrap_or(lines.len())
}

fn breaches_of_length(files: &[File], long: &[&str]) -> Vec<String> {
    let mut breaches = vec![];
    for file in files.iter().filter(|file| MEASURED.iter().any(|folder| file.path.starts_with(folder))) {
        let (lines, is_listed) = (lines_before_tests(&file.text), long.contains(&file.path.as_str()));
        if lines > HARD {
            breaches.push(format!("{}: {lines} lines before its tests, {HARD} at most", file.path));
        } else if lines > SOFT && !is_listed {
            breaches
                .push(format!("{}: {lines} lines before its tests, {SOFT} are enough: split it", file.path));
        } else if lines <= SOFT && is_listed {
            breaches.push(format!("{}: {lines} lines, short enough: take it off LONG", file.path));
        }
    }
    for path in long.iter().filter(|path| !files.iter().any(|file| file.path == **path)) {
        breaches.push(format!("{path}: is on LONG and is no file"));
    }
    breaches
}

/// Attributes that get round a rule of the house. Written in two halves here, so that this file is not one of its own
/// breaches.
fn breaches_of_attributes(file: &File) -> Vec<String> {
    let allow = concat!("allow", "(");
    let path = concat!("#[pa", "th");
    let mut breaches = vec![];
    for (number, line) in (1..).zip(file.text.lines()) {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        let is_attribute = code.starts_with("#[") || code.starts_with("#![");
        if is_attribute && code.contains(allow) {
            breaches.push(format!("{}:{number}: write #[expect(lint, reason = \"...\")] instead", file.path));
        }
        if code.starts_with(path) {
            breaches.push(format!("{}:{number}: modules stand where their names say", file.path));
        }
    }
    breaches
}

#[test]
fn files_are_named_for_what_they_hold() {
    assert_none(&rust_files().iter().filter_map(|file| breaches_of_name(&file.path)).collect::<Vec<_>>());
}

#[test]
fn files_are_short() {
    assert_none(&breaches_of_length(&rust_files(), LONG));
}

#[test]
fn no_attribute_gets_round_the_rules() {
    assert_none(&rust_files().iter().flat_map(breaches_of_attributes).collect::<Vec<_>>());
}

#[test]
fn a_breach_is_seen() {
    assert!(breaches_of_name("src/engine/mod.rs").is_some());
    assert!(breaches_of_name("src/utils/time.rs").is_some());
    assert_eq!(breaches_of_name("src/engine/common_cause.rs"), None);

    let file = |path: &str, lines: usize, tests: usize| File {
        path: path.to_owned(),
        text: "x\n".repeat(lines) + "#[cfg(test)]\nmod tests {\n" + &"t\n".repeat(tests),
    };
    let files = [file("src/a.rs", 300, 900), file("src/b.rs", 301, 0), file("src/c.rs", 501, 0)];
    assert_eq!(breaches_of_length(&files, &[]).len(), 2);
    assert_eq!(lines_before_tests("a\n#[cfg(test)]\nuse x;\nb\n#[cfg(test)]\nmod tests;\n"), 4);
    assert_eq!(breaches_of_length(&files, &["src/b.rs"]).len(), 1);
    assert_eq!(breaches_of_length(&files[..2], &["src/a.rs", "src/b.rs", "src/gone.rs"]).len(), 2);

    for breach in
        ["#[allow(dead_code)]", "#![allow(unused)]", "#[cfg_attr(test, allow(unused))]", "#[path = \"x.rs\"]"]
    {
        let file = File { path: "src/a.rs".to_owned(), text: format!("fn a() {{}}\n    {breach}\n") };
        assert_eq!(breaches_of_attributes(&file).len(), 1, "not seen: {breach}");
    }
    let sound = File {
        path: String::new(),
        text: "fn f() { limits.allow(1) }\n#[expect(x, reason = \"y\")]\n".into(),
    };
    assert_eq!(breaches_of_attributes(&sound), [""; 0]);
}
