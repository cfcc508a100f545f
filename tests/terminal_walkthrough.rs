//! The way of a newcomer, in a real terminal: from step 0 to a saved write-up by no other keys than the screen names.

use std::path::{Path, PathBuf};

use headwater_test_support::terminal::Terminal;
use serde_json::Value;
use tempfile::TempDir;

/// What is typed where words are asked for.
const WORDS: &str = "nothing here shows it";

/// More keys than any way through takes: a screen that leads in a circle must end the test.
const MOST_KEYS: usize = 60;

fn walkthrough(scenario: &str, home: &TempDir, size: (u16, u16)) -> Terminal {
    let folder = home.path().to_str().expect("temporary folders have plain names");
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"].map(|name| (name, folder));
    let program = Path::new(env!("CARGO_BIN_EXE_headwater"));
    let arguments = ["demo", scenario, "--walkthrough", "--no-color"];
    Terminal::start(program, &arguments, home.path(), size, &variables)
}

/// What a terminal sends for a key as the screen writes it.
fn bytes_of(key: &str) -> &str {
    match key {
        "enter" => "\r",
        "esc" => "\x1b",
        "space" => " ",
        "left" => "\x1b[D",
        "right" => "\x1b[C",
        key => {
            assert_eq!(key.chars().count(), 1, "the screen names a key '{key}' that nobody can press");
            key
        }
    }
}

/// The row that says what comes next.
fn hint(screen: &str) -> &str {
    screen.lines().find(|row| row.starts_with("next: ")).unwrap_or_default()
}

/// The keys that the screen asks for: those of a window that is open, else the one after "press" in the last hint.
fn asked(screen: &str) -> Option<String> {
    if screen.contains("enter or y: yes") {
        return Some("\r".to_owned());
    }
    if screen.contains("type a few words, then enter: keep") {
        return Some(format!("{WORDS}\r"));
    }
    let (_, after) = hint(screen).split_once("press ")?;
    after.split(' ').next().map(|key| bytes_of(key).to_owned())
}

/// What changes when a key has done something: the hint, the step that is due, and whether a window is open.
fn state(screen: &str) -> (String, String, bool) {
    let due = screen.lines().find(|row| row.starts_with("> now")).unwrap_or_default();
    let due = due.chars().take(24).collect();
    let is_asking = screen.contains("enter or y: yes") || screen.contains("then enter: keep");
    (hint(screen).to_owned(), due, is_asking)
}

fn saved(home: &TempDir, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(home.path()).expect("the folder is there").flatten();
    let mut files = entries.map(|entry| entry.path());
    let file = files.find(|path| path.extension().is_some_and(|extension| extension == ending));
    file.expect("a report with this ending")
}

/// Waits until something has changed, and stands: a frame may come in pieces.
fn until_changed(terminal: &Terminal, before: &str) {
    let (before, mut last) = (state(before), None);
    terminal.until("something is done", |screen| {
        let now = state(screen);
        let stands = last.as_ref() == Some(&now);
        let is_done = stands && (now != before || is_written(screen));
        last = Some(now);
        is_done
    });
}

fn is_written(screen: &str) -> bool {
    screen.contains("written to ")
}

/// Presses what is asked for until a report is written.
fn follow(terminal: &mut Terminal) {
    let mut pressed = 0;
    loop {
        let screen = terminal.contents();
        if is_written(&screen) {
            return;
        }
        // Where no key is asked for, something is waited for.
        if let Some(keys) = asked(&screen) {
            pressed += 1;
            assert!(pressed <= MOST_KEYS, "{MOST_KEYS} keys led nowhere; the screen shows:\n{screen}");
            terminal.press(&keys);
        }
        until_changed(terminal, &screen);
    }
}

/// What the write-up must hold: the shard, the key, the action, and each step with its time.
fn told(home: &TempDir) {
    let markdown = std::fs::read_to_string(saved(home, "md")).expect("a report as Markdown");
    let report = std::fs::read_to_string(saved(home, "json")).expect("a report as JSON");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let suspect = &report["suspects"][0];
    assert_eq!((&suspect["verdict"], &suspect["rule"]), (&"guilty".into(), &"shard-bandwidth".into()));
    let shard = suspect["subject"].as_str().expect("a shard");
    let key = suspect["keys"][0]["key"].as_str().expect("the scan that was asked for named a key");
    assert!(shard.starts_with("redis/features#") && key.starts_with("user:profile:"), "{shard} {key}");

    let notes: Vec<(&str, &str)> = report["notes"]
        .as_array()
        .expect("notes")
        .iter()
        .map(|note| (note["kind"].as_str().unwrap_or_default(), note["text"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(notes[0], ("runbook", "dependencies-first"));
    let done: Vec<&str> = notes.iter().filter(|(kind, _)| *kind == "remedy").map(|(_, text)| *text).collect();
    // The link stays full whatever is recorded, so the way leads back to the next action until each was taken.
    assert!(done.len() > 1 && done[0].contains(shard) && done[0].contains(key), "{done:?}");
    let times = |text: &str| done.iter().filter(|other| **other == text).count();
    assert!(done.iter().all(|text| times(text) == 1), "{done:#?}");
    let steps: Vec<&str> = notes.iter().filter(|(kind, _)| *kind == "step").map(|(_, text)| *text).collect();
    for (id, times) in [("0", 1), ("1", 1), ("2.1", 1), ("2.2", 1), ("2.4", 1), ("8", 1), ("9", done.len())] {
        let told = steps.iter().filter(|step| step.starts_with(&format!("{id} "))).count();
        assert_eq!(told, times, "step {id} in {steps:#?}");
    }
    for (step, answer) in [
        ("0 ", "confirmed bad"),
        ("2.2 ", "confirmed bad"),
        ("2.4 ", "confirmed bad"),
        ("8 ", "confirmed good"),
    ] {
        let told = steps.iter().find(|text| text.starts_with(step)).expect("a step");
        assert!(told.contains(answer), "{told}");
    }
    // Each act has its time, in the order in which it was done.
    let times: Vec<i64> =
        report["notes"].as_array().into_iter().flatten().filter_map(|note| note["at"].as_i64()).collect();
    assert!(times.len() == notes.len() && times.is_sorted(), "{times:?}");
    // Markdown escapes the sign of a shard.
    let escaped = shard.replace('#', "\\#");
    for text in [escaped.as_str(), key, "in the memory of each reader for 30 s", "2.4 Keys", "8 Stop it"] {
        assert!(markdown.contains(text), "'{text}' in\n{markdown}");
    }
}

#[test]
fn keys_that_the_screen_names_lead_from_step_0_to_a_write_up() {
    for size in [(80, 24), (160, 48)] {
        let home = TempDir::new().expect("a temporary folder can be made");
        let mut terminal = walkthrough("hot-shard", &home, size);
        // The fault comes after seconds: a newcomer sees it come.
        terminal.until("there is an incident", |screen| screen.contains("X INCIDENT"));
        follow(&mut terminal);
        terminal.press("q");
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_as_before();
        told(&home);
    }
}

/// The callers, the gateway and the queue of a GPU that leaks are its victims, and a bad step at one of them would lead past
/// the step of the GPU.
#[test]
fn the_way_through_a_leak_asks_about_the_gpu_before_it_ends() {
    let home = TempDir::new().expect("a temporary folder can be made");
    let mut terminal = walkthrough("gpu-leak", &home, (160, 48));
    terminal
        .until("the GPU is guilty", |screen| screen.contains("GUILTY") && screen.contains("gpu/simulated:0"));
    follow(&mut terminal);
    terminal.press("q");
    assert_eq!(terminal.exit_code(), 0);
    let report = std::fs::read_to_string(saved(&home, "json")).expect("a report as JSON");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let notes = report["notes"].as_array().expect("notes");
    let steps: Vec<&str> = notes
        .iter()
        .filter(|note| note["kind"] == "step")
        .map(|note| note["text"].as_str().expect("a text"))
        .collect();
    let place = |step: &str| steps.iter().position(|text| text.starts_with(step));
    let (gpu, stop) = (place("6 GPU: confirmed bad"), place("8 Stop it: confirmed"));
    assert!(gpu.is_some() && gpu < stop, "{steps:#?}");
}
