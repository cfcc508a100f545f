//! Recordings in a real terminal: replays, the demo of a machine without servers, and what a kiosk shows of targets.

use std::path::{Path, PathBuf};

use headwater_test_support::Server;
use headwater_test_support::terminal::Terminal;
use tempfile::TempDir;

const SIZES: &[(u16, u16)] = &[(80, 24), (200, 60)];

/// Starts Headwater in a home of its own; `more` are variables besides.
fn started(home: &TempDir, arguments: &[&str], size: (u16, u16), more: &[(&str, &str)]) -> Terminal {
    let program = Path::new(env!("CARGO_BIN_EXE_headwater"));
    Terminal::start_at_home(program, arguments, home.path(), size, more)
}

fn home() -> TempDir {
    TempDir::new().expect("a temporary folder can be made")
}

fn assert_left(mut terminal: Terminal) {
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_as_before();
}

#[test]
fn a_replay_is_paused_stepped_hastened_and_sought() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/recordings/hot-shard.hwr");
    let file = file.to_str().expect("this folder has a plain name");
    for size in SIZES {
        let home = home();
        let mut terminal = started(&home, &["replay", file, "--speed", "64", "--no-color"], *size, &[]);
        terminal.until_shown("GUILTY   redis/features#1");
        terminal.until_shown("at its end");
        terminal.until_shown("big string");

        terminal.press("[[[[");
        terminal.until_shown("GONE BACK");
        terminal.press("L");
        terminal.until("the end is shown", |screen| !screen.contains("GONE BACK"));
        terminal.press("[[[[");
        terminal.until_shown("play from here");
        terminal.press(" ");
        terminal.until_shown("played on from");
        terminal.until("it is played to its end again", |screen| {
            !screen.contains("GONE BACK") && screen.contains("at its end")
        });
        terminal.press("q");
        assert_left(terminal);

        let mut terminal = started(&home, &["replay", file, "--no-color"], *size, &[]);
        terminal.until_shown("REPLAY x1");
        terminal.press(" ");
        terminal.until_shown("paused");
        let head = |screen: &str| screen.lines().next().unwrap_or_default().to_owned();
        let held = head(&terminal.contents());
        terminal.press(".");
        terminal.until("a step is played", |screen| head(screen) != held);
        terminal.press(">>");
        terminal.until_shown("REPLAY x4");
        // A minute forward is the end.
        terminal.press("}");
        terminal.until_shown("GUILTY   redis/features#1");
        terminal.press("3");
        terminal.until_shown("share of link");
        terminal.press("q");
        assert_left(terminal);
    }
}

#[test]
fn a_demo_without_servers_shows_its_recording_and_says_so() {
    let home = home();
    let mut terminal = started(&home, &["demo", "--no-color"], (80, 24), &[("PATH", "/nonexistent")]);
    terminal.until_shown("no redis-server here");
    terminal.until_shown("REPLAY");
    terminal.press(">>>>>>");
    terminal.until_shown("GUILTY   redis/features#1");
    terminal.press("q");
    assert_left(terminal);
}

#[test]
fn a_kiosk_turns_its_panels_and_heeds_one_key_alone() {
    let server = Server::start(&[]);
    let target = format!("redis://{}", server.address());
    let home = home();
    let arguments = ["kiosk", &target, "--every", "1s", "--panels", "sources,rules", "--no-color"];
    let mut terminal = started(&home, &arguments, (100, 40), &[]);
    let shows = |terminal: &Terminal, what: &str| terminal.until_shown(what);
    shows(&terminal, "node-unreachable");
    shows(&terminal, "Headwater itself");
    terminal.press("q\x03\x1b");
    shows(&terminal, "node-unreachable");
    terminal.resize(1, 1);
    terminal.resize(100, 40);
    shows(&terminal, "Headwater itself");
    server.pause();
    // The banner itself stands in letters of four rows; below it stands what they say.
    shows(&terminal, "has not answered");
    server.resume();
    terminal.until("data come again", |screen| screen.contains("it ended at"));
    terminal.press("\x11");
    assert_left(terminal);
}
