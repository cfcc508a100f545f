//! What no file may say: open ends, and places that only one machine knows.

use super::house::{File, assert_none, files};

/// Files of others, or made by tools, whose words are not ours.
const NOT_OURS: &[&str] = &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"];

/// Folders of pictures: what the screen draws is no prose.
const DRAWN: &[&str] = &["tests/screens/snaps/", "docs/pictures/"];

/// Marks of work that was left open. Written in two halves, so that this file is not one of its own breaches.
const OPEN_ENDS: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];

/// Folders and hosts of one machine, with why they may not be here. In two halves for the same reason.
const MACHINE_PLACES: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a folder of one machine"),
    (concat!("/ro", "ot/"), "a folder of one machine"),
    (concat!("/ho", "me/"), "a folder of one machine"),
    (concat!("index.", "crates.io"), "a registry's host"),
    (concat!("static.", "crates.io"), "a registry's host"),
    (concat!("py", "pi.org"), "a registry's host"),
    (concat!("python", "hosted.org"), "a registry's host"),
    (concat!("registry.", "npmjs"), "a registry's host"),
    (concat!("deb.", "debian.org"), "a registry's host"),
];

fn breaches_of(file: &File) -> Vec<String> {
    let mut breaches = vec![];
    for (number, line) in (1..).zip(file.text.lines()) {
        let words = || line.split(|c: char| !c.is_alphanumeric() && c != '_');
        for open in OPEN_ENDS.iter().filter(|open| words().any(|word| word == **open)) {
            breaches.push(format!("{}:{number}: {open} is no plan: do it, or say why it is so", file.path));
        }
        for (place, what) in MACHINE_PLACES.iter().filter(|(place, _)| line.contains(place)) {
            breaches.push(format!("{}:{number}: '{place}' is {what}", file.path));
        }
        if line.ends_with([' ', '\t']) && !file.path.ends_with(".md") {
            breaches.push(format!("{}:{number}: ends with a blank", file.path));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        breaches.push(format!("{}: does not end with a line feed", file.path));
    }
    breaches
}

#[test]
fn no_file_has_open_ends_or_knows_one_machine() {
    let is_drawn = |file: &File| DRAWN.iter().any(|folder| file.path.starts_with(folder));
    let is_ours = |file: &File| !NOT_OURS.contains(&file.path.as_str()) && !is_drawn(file);
    let ours = files().into_iter().filter(is_ours);
    assert_none(&ours.flat_map(|file| breaches_of(&file)).collect::<Vec<_>>());
}

#[test]
fn a_breach_is_seen() {
    let breaches =
        |text: &str| breaches_of(&File { path: "src/a.rs".to_owned(), text: text.to_owned() }).len();
    assert_eq!(breaches("// What is left to do stands nowhere.\nmktemp a.XXXXXX\n"), 0);
    for open in OPEN_ENDS {
        assert_eq!(breaches(&format!("// {open}: later\n")), 1, "not seen: {open}");
    }
    for (place, _) in MACHINE_PLACES {
        assert_eq!(breaches(&format!("let path = \"{place}x\";\n")), 1, "not seen: {place}");
    }
    assert_eq!(breaches("a \nb\t\n"), 2);
    assert_eq!(breaches("no end"), 1);
}
