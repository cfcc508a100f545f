//! The real binary in a real terminal: what it shows, how it is steered, and that the terminal is as before whatever
//! ends it.

use std::path::Path;

use headwater_panels::panel::{PANELS, PanelRow};
use headwater_panels::{Action, Command, Keymap};
use headwater_test_support::Server;
use headwater_test_support::terminal::Terminal;
use rustix::process::Signal;
use tempfile::TempDir;

/// The terminals that everything is tried in.
const SIZES: &[(u16, u16)] = &[(80, 24), (200, 60)];

/// What the overview says of a Redis that is well and that nobody calls.
const VERDICT: &str = "innocent";

/// A server, and a home in which nothing of the developer's is found.
struct Desk {
    server: Server,
    home: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { server: Server::start(&[]), home: TempDir::new().expect("a temporary folder can be made") }
    }

    fn target(&self) -> String {
        format!("redis://{}", self.server.address())
    }

    /// Starts a program, in a folder of its own.
    fn start(&self, program: &str, arguments: &[&str], size: (u16, u16)) -> Terminal {
        Terminal::start_at_home(Path::new(program), arguments, self.home.path(), size, &[])
    }

    /// Starts Headwater without colour, so that what is open is shown in reverse.
    fn headwater(&self, size: (u16, u16), more: &[&str]) -> Terminal {
        let target = self.target();
        let arguments = [&[target.as_str(), "--no-color"], more].concat();
        self.start(env!("CARGO_BIN_EXE_headwater"), &arguments, size)
    }

    /// Starts Headwater and waits for its verdict.
    fn with_verdict(&self, size: (u16, u16)) -> Terminal {
        let terminal = self.headwater(size, &[]);
        terminal.until_shown(VERDICT);
        terminal
    }

    fn log(&self) -> String {
        let log = self.home.path().join("headwater").join("headwater.log");
        std::fs::read_to_string(log).expect("the screen has a log")
    }
}

fn keys() -> Keymap {
    headwater::keymap::built_in()
}

/// Presses the key of an action; all of them are single characters here.
fn act(terminal: &mut Terminal, action: Action) {
    terminal.press(&written(&keys(), Command::Act(action)));
}

/// What a terminal sends for the first key of a command.
fn written(keys: &Keymap, command: Command) -> String {
    match keys.label(command).as_str() {
        "space" => " ".to_owned(),
        "ctrl-z" => "\x1a".to_owned(),
        "ctrl-l" => "\x0c".to_owned(),
        "esc" => "\x1b".to_owned(),
        plain => {
            assert_eq!(plain.chars().count(), 1, "'{plain}' is no single character");
            plain.to_owned()
        }
    }
}

/// Opens a panel by its key.
fn open(terminal: &mut Terminal, panel: &PanelRow) {
    let command = Command::by_name(panel.name).expect("panels have commands");
    terminal.press(&written(&keys(), command));
    terminal.until(&format!("'{}' is open", panel.name), |_| terminal.reversed().contains(panel.short));
}

/// What was sent to set colours and attributes of characters, each as it stands between `ESC [` and `m`.
fn attributes(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    sequences.collect()
}

#[test]
fn colours_are_those_that_the_environment_allows() {
    let desk = Desk::new();
    let sent = |more: &[(&str, &str)], arguments: &[&str]| {
        let target = desk.target();
        let arguments = [&[target.as_str()], arguments].concat();
        let program = Path::new(env!("CARGO_BIN_EXE_headwater"));
        let mut terminal = Terminal::start_at_home(program, &arguments, desk.home.path(), (80, 24), more);
        terminal.until_shown(VERDICT);
        act(&mut terminal, Action::Quit);
        assert_eq!(terminal.exit_code(), 0);
        attributes(&terminal.bytes())
    };
    let has = |sent: &[String], start: &str| sent.iter().any(|sequence| sequence.starts_with(start));

    let plain = sent(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")], &[]);
    assert!(!has(&plain, "38;") && !has(&plain, "48;"), "{plain:?}");
    assert!(has(&plain, "1") && has(&plain, "7"), "{plain:?}");

    let asked = sent(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")], &["--theme", "light"]);
    assert!(has(&asked, "38;2;31;35;40"), "{asked:?}");
    let indexed = sent(&[("NO_COLOR", ""), ("COLORTERM", "")], &[]);
    assert!(has(&indexed, "38;5;") && !has(&indexed, "38;2;"), "{indexed:?}");
}

#[test]
fn every_panel_opens_by_its_key() {
    let desk = Desk::new();
    for size in SIZES {
        let mut terminal = desk.with_verdict(*size);
        for row in PANELS.iter().rev() {
            open(&mut terminal, row);
        }
        act(&mut terminal, Action::Quit);
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_as_before();
    }
}

#[test]
fn the_screen_is_steered_by_keys() {
    let desk = Desk::new();
    for size in SIZES {
        let mut terminal = desk.with_verdict(*size);
        terminal.until_shown("press enter to look closer");
        act(&mut terminal, Action::Help);
        terminal.until_shown("Help: Overview");
        act(&mut terminal, Action::Back);
        terminal.until("help is closed", |screen| !screen.contains("Help: Overview"));

        open(
            &mut terminal,
            PANELS.iter().find(|row| row.name == "rules").expect("there is a panel of rules"),
        );
        terminal.until_shown("node-unreachable");
        act(&mut terminal, Action::Sort);
        act(&mut terminal, Action::Filter);
        terminal.press("shard-hot\r");
        terminal.until("other rules are filtered away", |screen| {
            screen.contains("shard-hot") && !screen.contains("node-unreachable")
        });

        act(&mut terminal, Action::Freeze);
        terminal.until_shown("FROZEN");
        act(&mut terminal, Action::Freeze);
        terminal.until("the screen goes on", |screen| !screen.contains("FROZEN"));
        // There is something to go back to once a later moment is shown.
        let head = |screen: &str| screen.lines().next().unwrap_or_default().to_owned();
        let first = head(&terminal.contents());
        terminal.until("a later moment is shown", |screen| head(screen) != first);
        act(&mut terminal, Action::Earlier);
        terminal.until_shown("GONE BACK");
        act(&mut terminal, Action::Live);
        terminal.until("the present is shown", |screen| !screen.contains("GONE BACK"));

        act(&mut terminal, Action::Copy);
        terminal.until_sent(b"\x1b]52;c;");
        terminal.until_shown("characters sent to your terminal");
        act(&mut terminal, Action::CopyReport);
        // '# Triage' or whatever the report begins with: a heading in base64 begins with these.
        terminal.until_sent(b"\x1b]52;c;Iy");

        act(&mut terminal, Action::NextTheme);
        terminal.until_shown("theme 'colour-blind'");
        act(&mut terminal, Action::Export);
        terminal.until_shown("written to this folder");
        act(&mut terminal, Action::Quit);
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_as_before();
    }
    let exported = std::fs::read_dir(desk.home.path()).expect("the home can be read").flatten();
    let names: Vec<_> = exported.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    for ending in ["md", "json"] {
        let count = names.iter().filter(|name| name.ends_with(&format!(".{ending}"))).count();
        assert_eq!(count, SIZES.len(), "{names:?}");
    }
}

#[test]
fn keys_are_answered_while_every_target_hangs() {
    let desk = Desk::new();
    let mut terminal = desk.with_verdict((80, 24));
    desk.server.pause();
    terminal.until_shown("late");
    for row in PANELS {
        open(&mut terminal, row);
    }
    act(&mut terminal, Action::Quit);
    assert_eq!(terminal.exit_code(), 0);
    desk.server.resume();
    terminal.assert_as_before();
}

#[test]
fn any_size_will_do_at_any_moment() {
    let desk = Desk::new();
    // Some terminals tell their size only later.
    let mut terminal = desk.headwater((0, 0), &[]);
    terminal.until_sent(b"\x1b[?1049h");
    terminal.resize(80, 24);
    terminal.until_shown(VERDICT);
    for step in 0..300_u16 {
        terminal.resize(1 + step * 7 % 211, 1 + step * 5 % 61);
    }
    terminal.resize(1, 1);
    terminal.until("a single cell shows something", |screen| !screen.trim().is_empty());
    terminal.resize(0, 0);
    terminal.resize(200, 60);
    terminal.until_shown(VERDICT);
    act(&mut terminal, Action::Quit);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_as_before();
}

#[test]
fn signals_give_the_terminal_back() {
    let desk = Desk::new();
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 0), (Signal::HUP, 74)] {
        let mut terminal = desk.with_verdict((80, 24));
        assert!(terminal.is_raw());
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), code, "{signal:?}");
        terminal.assert_as_before();
    }
}

#[test]
fn a_panic_is_logged_then_the_terminal_is_given_back_then_it_is_told() {
    let desk = Desk::new();
    for place in ["screen", "task"] {
        let mut terminal = desk.headwater((80, 24), &["--panic", place, "--mouse"]);
        assert_eq!(terminal.exit_code(), 101, "{place}");
        terminal.assert_as_before();
        assert!(terminal.contents().contains("panicked at"), "{}", terminal.contents());
        let bytes = terminal.bytes();
        let first = |what: &[u8]| bytes.windows(what.len()).position(|window| window == what);
        assert!(first(b"\x1b[?1049l") < first(b"panicked at"));
    }
    assert_eq!(desk.log().matches("panicked at").count(), 2, "{}", desk.log());
}

#[test]
fn a_closed_terminal_ends_it_quietly() {
    let desk = Desk::new();
    let mut terminal = desk.with_verdict((80, 24));
    terminal.close();
    assert_eq!(terminal.exit_code(), 74);
    assert!(!desk.log().contains("panicked"), "{}", desk.log());
}

#[test]
fn a_terminal_that_takes_nothing_holds_nobody() {
    let desk = Desk::new();
    let mut terminal = desk.with_verdict((200, 60));
    terminal.stick(true);
    // More frames than any buffer between the two holds.
    for _ in 0..500 {
        act(&mut terminal, Action::Redraw);
    }
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.exit_code(), 0);
    assert!(!terminal.is_raw());
    terminal.stick(false);
}

/// Waits until a shell asks for the next command: what is typed before that may go to the program that is just ending.
fn until_asked(terminal: &Terminal) {
    terminal.until("the shell asks", |screen| screen.trim_end().ends_with(['#', '$']));
}

#[test]
fn it_is_suspended_and_brought_back_by_a_shell() {
    let desk = Desk::new();
    let mut terminal = desk.start("bash", &["--norc", "--noprofile", "-i"], (80, 24));
    terminal.press(&format!("{} {} --no-color\r", env!("CARGO_BIN_EXE_headwater"), desk.target()));
    terminal.until_shown(VERDICT);
    act(&mut terminal, Action::Suspend);
    terminal.until_shown("Stopped");
    until_asked(&terminal);
    terminal.press("fg\r");
    terminal.until_shown(VERDICT);
    act(&mut terminal, Action::Quit);
    until_asked(&terminal);
    terminal.press("exit\r");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_as_before();
}

#[test]
fn without_a_shell_to_return_to_it_goes_on() {
    let desk = Desk::new();
    let mut terminal = desk.with_verdict((80, 24));
    act(&mut terminal, Action::Suspend);
    terminal.until_shown("no shell to return to");
    act(&mut terminal, Action::Quit);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_as_before();
}

#[test]
fn a_process_that_stood_still_draws_itself_anew() {
    let desk = Desk::new();
    let mut terminal = desk.with_verdict((80, 24));
    terminal.signal(Signal::STOP);
    let before = terminal.bytes().len();
    terminal.signal(Signal::CONT);
    terminal.until("all of it is drawn again", |_| {
        let bytes = terminal.bytes();
        let after = &bytes[before..];
        ["\x1b[?1049h", "\x1b[2J", "Over"]
            .iter()
            .all(|part| after.windows(part.len()).any(|window| window == part.as_bytes()))
    });
    act(&mut terminal, Action::Quit);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_as_before();
}

/// The negative control: whoever leaves the terminal as it should not be is found out.
#[test]
fn a_program_that_leaves_the_terminal_changed_is_seen() {
    let desk = Desk::new();
    let left_by = |script: &str| {
        let mut terminal = desk.start("sh", &["-c", script], (80, 24));
        assert_eq!(terminal.exit_code(), 0);
        terminal.leftovers()
    };
    assert_eq!(left_by("printf hello"), [""; 0]);
    assert_eq!(
        left_by("set=$(stty -g); stty raw; stty \"$set\"; printf '\\033[?1049h\\033[?1049l'"),
        [""; 0]
    );
    assert_eq!(left_by("stty raw").len(), 1);
    for (sequence, what) in [
        ("[?1049h", "alternate screen"),
        ("[?25l", "cursor"),
        ("[?2004h", "pasted"),
        ("[?1000h", "mouse"),
        ("[?1004h", "focus"),
        ("[?2026h", "update"),
    ] {
        let left = left_by(&format!("printf '\\033{sequence}'"));
        assert!(left.len() == 1 && left[0].contains(what), "{sequence}: {left:?}");
    }
    assert_eq!(left_by("stty raw -echo; printf '\\033[?1049h\\033[?25l'").len(), 3);
}
