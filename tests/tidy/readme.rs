//! The README: its commands exist, and what CI runs is what it names.

use std::process::Command;

use super::house::{assert_none, read, root};

/// The lines of all code blocks.
fn code_lines(page: &str) -> Vec<&str> {
    let mut is_code = false;
    page.lines()
        .filter(|line| {
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            is_code && !is_fence
        })
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// The arguments that a line gives to `headwater`, without its comment; `None` when it runs something else.
fn headwater_arguments(line: &str) -> Option<Vec<&str>> {
    let line = line.split(" #").next().unwrap_or(line);
    let rest = line.strip_prefix("cargo run --release -- ").or_else(|| line.strip_prefix("headwater "))?;
    Some(rest.split_whitespace().collect())
}

/// Whether the words before the first value are a command: its help can be printed. Without any it is the screen of
/// targets or of a configuration.
fn is_command(arguments: &[&str]) -> bool {
    let is_word = |argument: &&&str| argument.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let words: Vec<_> =
        arguments.iter().take_while(is_word).take_while(|word| !word.starts_with('-')).collect();
    let Some(command) = words.first() else {
        return arguments.first().is_some_and(|first| first.contains("://") || *first == "--config");
    };
    // A scenario, rule or folder may follow the command; the command itself must be known.
    (1..=words.len()).rev().any(|count| {
        Command::new(env!("CARGO_BIN_EXE_headwater")).args(&words[..count]).arg("--help").output().is_ok_and(
            |output| {
                let usage = format!("Usage: headwater {command}");
                output.status.success() && String::from_utf8_lossy(&output.stdout).contains(&usage)
            },
        )
    })
}

/// Local files that a page links to and that are not there.
fn dead_links(page: &str) -> Vec<String> {
    let links = page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let local = links.filter(|link| !link.is_empty() && !link.contains("://"));
    local
        .filter(|link| !root().join(link).exists())
        .map(|link| format!("'{link}' is linked and not there"))
        .collect()
}

#[test]
fn the_readme_opens_with_two_commands() {
    let page = read("README.md");
    let first: Vec<_> = code_lines(&page).into_iter().take(2).collect();
    assert_eq!(first[1], "scripts/test");
    assert!(headwater_arguments(first[0]).is_some(), "'{}' does not run headwater", first[0]);
    assert!(page.lines().take(12).any(|line| line == first[1]), "the two commands do not stand at the top");
}

/// Lines that use an installed `headwater` before any line has installed it.
fn used_before_installed(page: &str) -> Vec<String> {
    let lines = code_lines(page).into_iter();
    let before = lines.take_while(|line| !line.starts_with("cargo install --locked --path ."));
    let used = before.filter(|line| line.starts_with("headwater "));
    used.map(|line| format!("'{line}' is used before 'cargo install --locked --path .'")).collect()
}

#[test]
fn the_readme_installs_headwater_before_it_uses_it() {
    assert_none(&used_before_installed(&read("README.md")));
}

/// What of these the README does not name in code.
fn unnamed<'a>(page: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let is_named =
        |name: &str| page.contains(&format!("`{name}`")) || page.contains(&format!("`demo {name}`"));
    let missing = names.into_iter().filter(|name| !is_named(name));
    missing.map(|name| format!("README.md does not name `{name}`")).collect()
}

#[test]
fn the_readme_names_every_demo_and_the_key_of_every_panel() {
    use headwater_panels::{Command, PANELS};
    let page = read("README.md");
    let plain = headwater::lab::scenario::SCENARIOS.iter().map(|scenario| scenario.name);
    // The one that a demo shows without a name.
    assert_none(&unnamed(&page, plain.filter(|name| *name != "hot-shard")));
    let keys = headwater::keymap::built_in();
    let keys: Vec<String> = (0..PANELS.len()).map(|place| keys.label(Command::Show(place))).collect();
    // Digits in a row stand as a span.
    let spanned = |key: &str| key.parse().is_ok_and(|digit: u8| (1..=9).contains(&digit));
    assert!(page.contains("| `1` to `9`, "), "the digits of the panels");
    assert_eq!(keys.iter().filter(|key| spanned(key)).count(), 9);
    assert_none(&unnamed(&page, keys.iter().map(String::as_str).filter(|key| !spanned(key))));
}

#[test]
fn every_command_of_the_pages_exists() {
    let mut breaches = vec![];
    for page in ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        let text = read(page);
        for line in code_lines(&text) {
            let program = line.split_whitespace().next().unwrap_or_default();
            let is_there = match headwater_arguments(line) {
                Some(arguments) => is_command(&arguments),
                None if program.starts_with("scripts/") => root().join(program).exists(),
                None => true,
            };
            if !is_there {
                breaches.push(format!("{page}: there is no '{line}'"));
            }
        }
        breaches.extend(dead_links(&text).into_iter().map(|breach| format!("{page}: {breach}")));
    }
    assert_none(&breaches);
}

#[test]
fn ci_runs_what_the_readme_names_and_nothing_else() {
    let script = read(".ci/run");
    let commands: Vec<_> = script.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(
        commands,
        ["set -euo pipefail", "cd \"$(dirname \"$0\")/..\"", "exec scripts/test </dev/null"]
    );
}

#[test]
fn a_breach_is_seen() {
    assert!(is_command(&["triage", "redis://x"]));
    assert!(is_command(&["config", "check", "--config"]));
    assert!(!is_command(&["traige", "redis://x"]));
    assert!(is_command(&["redis://x", "http://y/metrics"]));
    assert!(!is_command(&["--no-such"]));
    assert_eq!(code_lines("a\n```sh\n# why\nscripts/test\n\nx\n```\nb\n"), ["scripts/test", "x"]);
    let uses = "```sh\nheadwater rules\n```\n";
    assert_eq!(used_before_installed(uses).len(), 1);
    assert!(
        used_before_installed(&format!("```sh\ncargo install --locked --path .\n```\n{uses}")).is_empty()
    );
    assert_eq!(headwater_arguments("headwater rules # all"), Some(vec!["rules"]));
    assert_eq!(unnamed("`demo hot-shard` and `b`", ["hot-shard", "b", "c"]).len(), 1);
    assert_eq!(dead_links("[a](README.md#x) [b](no/such.md) [c](https://example.org)").len(), 1);
}
