//! Which key does what: `assets/keymap.toml`, and what a user's file changes of it.
//!
//! A user's file names actions and panels with their keys. What it names has these keys and no others; a key that it
//! gives away is taken from whatever has it in the default. Everything else stays as it is.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use headwater_panels::action::{ACTIONS, Action, Scope};
use headwater_panels::keys::WORDS;
use headwater_panels::panel::PANELS;
use headwater_panels::{Command, Key, Keymap, Stroke};

use crate::config::{ConfigError, Document, config_folder, nearest, text_of};

/// The default.
const DEFAULT: &str = include_str!("../assets/keymap.toml");

/// What people write for a key, and how it is written here.
const TRIED_KEYS: &[(&str, &str)] = &[
    ("escape", "esc"),
    ("return", "enter"),
    ("backtab", "shift-tab"),
    ("pgup", "pageup"),
    ("pgdn", "pagedown"),
    ("del", "delete"),
    ("bs", "backspace"),
];

/// Keys that terminals send alike: the left one never arrives.
const SENT_ALIKE: &[(&str, &str)] =
    &[("ctrl-i", "tab"), ("ctrl-m", "enter"), ("ctrl-[", "esc"), ("ctrl-h", "backspace")];

type Bindings = Vec<(Stroke, Command)>;

/// The default keymap.
pub fn built_in() -> Keymap {
    Keymap::new(default_bindings())
}

/// The keymap of this file, or without one that of `$XDG_CONFIG_HOME/headwater/keymap.toml` if it is there, over the
/// default. Every problem that is found is in the error.
pub fn load(file: Option<&Path>) -> Result<Keymap, ConfigError> {
    let usual = config_folder().map(|folder| folder.join("keymap.toml")).filter(|path| path.exists());
    let Some(path) = file.map(Path::to_owned).or(usual) else { return Ok(built_in()) };
    let text = text_of(&path, "'headwater config keymap' prints the default")?;
    parse(&text, &path.display().to_string())
}

/// The keymap of a user's text over the default; `origin` names it in complaints.
pub fn parse(text: &str, origin: &str) -> Result<Keymap, ConfigError> {
    read(text, origin, default_bindings()).map(Keymap::new)
}

/// A keymap as a file that can be read again, with what each key does.
pub fn print(keymap: &Keymap) -> String {
    let mut out = String::new();
    for (title, commands) in sections() {
        let blank = if out.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{blank}# {title}");
        for command in commands {
            let quoted = |stroke: Stroke| toml::Value::from(stroke.to_string()).to_string();
            let keys: Vec<_> = keymap.strokes(command).map(quoted).collect();
            let binding = format!("{} = [{}]", command.name(), keys.join(", "));
            let _ = writeln!(out, "{binding:<42} # {}", command.help());
        }
    }
    out
}

/// Everything that can have a key, by where it works.
pub fn sections() -> Vec<(&'static str, Vec<Command>)> {
    let actions = |scope: Scope| -> Vec<Command> {
        ACTIONS.iter().filter(|row| row.scope == scope).map(|row| Command::Act(row.action)).collect()
    };
    vec![
        ("Panels", (0..PANELS.len()).map(Command::Show).collect()),
        ("On every panel", actions(Scope::Everywhere)),
        ("In tables", actions(Scope::Table)),
        ("On the panels that name them", actions(Scope::Panel)),
        ("While a recording is replayed", actions(Scope::Replay)),
        ("On the kiosk, which takes no other key", actions(Scope::Kiosk)),
    ]
}

fn default_bindings() -> Bindings {
    read(DEFAULT, "assets/keymap.toml", vec![]).expect("a test reads the embedded keymap")
}

/// The bindings of a text, then those of the base that it leaves alone.
fn read(text: &str, origin: &str, base: Bindings) -> Result<Bindings, ConfigError> {
    let mut document = Document::new(text);
    let written: BTreeMap<String, Vec<String>> = document.read().unwrap_or_default();
    let (mut own, mut named) = (Bindings::new(), vec![]);
    let mut is_sound = true;
    for (name, keys) in &written {
        let Some(command) = Command::by_name(name) else {
            document.complain(&[name], unknown(name));
            is_sound = false;
            continue;
        };
        named.push(command);
        for (place, key) in keys.iter().enumerate() {
            match bind(key, command, &own) {
                Ok(stroke) => own.push((stroke, command)),
                Err(complaint) => {
                    document.wrong(&[name, &place.to_string()], complaint);
                    is_sound = false;
                }
            }
        }
    }
    let stays = |(stroke, command): &(Stroke, Command)| {
        !named.contains(command) && !own.iter().any(|(taken, _)| taken == stroke)
    };
    let kept: Bindings = base.into_iter().filter(stays).collect();
    own.extend(kept);
    for (action, key) in [(Action::Quit, "q"), (Action::LeaveKiosk, "ctrl-q")] {
        if is_sound && !own.iter().any(|(_, command)| *command == Command::Act(action)) {
            let name = action.row().name;
            let complaint = format!("'{name}' has no key left: give it one, as in {name} = [\"{key}\"]");
            document.complain(&[name], complaint);
        }
    }
    document.finish(origin)?;
    Ok(own)
}

/// The key of a text, unless it is none or another command of the same file has it; the complaint follows
/// "'NAME' = 'KEY'".
fn bind(written: &str, command: Command, bound: &Bindings) -> Result<Stroke, String> {
    let stroke = Stroke::parse(written).ok_or_else(|| no_key(written))?;
    if let Some((_, same)) = SENT_ALIKE.iter().find(|(never, _)| *never == written) {
        return Err(format!("never arrives, because terminals send it as '{same}': write '{same}'"));
    }
    // Terminals report control with the lower-case letter, and an upper-case letter without shift.
    let usual = match stroke.key {
        Key::Char(letter) if stroke.ctrl => {
            Stroke { key: Key::Char(letter.to_ascii_lowercase()), ..stroke }.to_string()
        }
        Key::Char(letter) if written.contains("shift-") => {
            Stroke { key: Key::Char(letter.to_ascii_uppercase()), ..stroke }.to_string()
        }
        _ => stroke.to_string(),
    };
    if usual != written {
        return Err(format!("is written '{usual}'"));
    }
    match bound.iter().find(|(taken, _)| *taken == stroke) {
        Some((_, other)) if *other == command => Err("stands there twice: once is enough".to_owned()),
        Some((_, other)) => Err(format!("is a key of '{}' already: one key does one thing", other.name())),
        None => Ok(stroke),
    }
}

fn no_key(written: &str) -> String {
    let lower = written.to_lowercase().replace('+', "-").replace("control-", "ctrl-");
    let (held, last) = lower.rsplit_once('-').map_or(("", lower.as_str()), |(held, last)| (held, last));
    let words: Vec<&str> = WORDS.iter().map(|(_, word)| *word).collect();
    let tried = TRIED_KEYS.iter().find(|(tried, _)| *tried == last).map(|(_, word)| *word);
    let word = tried.or_else(|| nearest(last, &words)).unwrap_or(last);
    let meant = if held.is_empty() { word.to_owned() } else { format!("{held}-{word}") };
    match Stroke::parse(&meant) {
        Some(stroke) => format!("is no key: did you mean '{stroke}'?"),
        None => "is no key: write for example 'q', 'Q', 'ctrl-c', 'f1', 'esc' or 'shift-tab'".to_owned(),
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = sections().iter().flat_map(|(_, commands)| commands).map(|c| c.name()).collect();
    match nearest(name, &known) {
        Some(meant) => format!("there is no action or panel '{name}': did you mean '{meant}'?"),
        None => format!("there is no action or panel '{name}': 'headwater config keymap' lists all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Stroke {
        Stroke::parse(text).unwrap()
    }

    fn complaints(text: &str) -> Vec<String> {
        let error = parse(text, "keymap.toml").expect_err(text);
        error.to_string().lines().map(|line| line.replace("keymap.toml:", "")).collect()
    }

    #[test]
    fn everything_has_a_key_in_the_default_and_no_key_two_things() {
        let keymap = built_in();
        for command in sections().into_iter().flat_map(|(_, commands)| commands) {
            assert!(keymap.strokes(command).next().is_some(), "'{}' has no key", command.name());
            for stroke in keymap.strokes(command) {
                assert_eq!(keymap.command(stroke), Some(command), "{stroke}");
            }
        }
        for digit in '0'..='9' {
            let command = keymap.command(Stroke::plain(Key::Char(digit)));
            assert!(matches!(command, None | Some(Command::Show(_))), "{digit} is for a panel");
        }
        for (text, action) in
            [("?", Action::Help), ("/", Action::Filter), ("ctrl-c", Action::Quit), ("[", Action::Earlier)]
        {
            assert_eq!(keymap.command(key(text)), Some(Command::Act(action)), "{text}");
        }
        assert_eq!(keymap.label(Command::by_name("overview").unwrap()), "1");
    }

    #[test]
    fn a_file_changes_what_it_names_and_takes_the_keys_it_gives_away() {
        let keymap = parse("freeze = [\"f\", \"q\"]\nmouse = []\n", "keymap.toml").unwrap();
        assert_eq!(keymap.command(key("f")), Some(Command::Act(Action::Freeze)));
        // 'q' was one of two keys of quit; 'space' was freeze's in the default alone.
        assert_eq!(keymap.command(key("q")), Some(Command::Act(Action::Freeze)));
        assert_eq!(keymap.key_of(Action::Quit), "ctrl-c");
        assert_eq!(keymap.command(key("space")), None);
        assert_eq!(keymap.key_of(Action::Mouse), "");
        assert_eq!(keymap.key_of(Action::Help), "?");
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for text in ["", "help = ['\"', '\\']\nquit = [\"ctrl-alt-x\"]\n"] {
            let keymap = parse(text, "keymap.toml").unwrap();
            let again = read(&print(&keymap), "printed", vec![]).map(Keymap::new).unwrap();
            assert_eq!(print(&keymap), print(&again));
        }
    }

    #[test]
    fn every_mistake_is_told_with_its_line_its_key_and_its_action() {
        for (text, complaint) in [
            (
                "quit = [\"x\"]\nqiut = [\"q\"]\n",
                "2: there is no action or panel 'qiut': did you mean 'quit'?",
            ),
            ("zzz = [\"q\"]\n", "1: there is no action or panel 'zzz': 'headwater config keymap' lists all"),
            ("help = [\"escape\"]\n", "1: 'help' = 'escape' is no key: did you mean 'esc'?"),
            ("help = [\"Ctrl+H\"]\n", "1: 'help' = 'Ctrl+H' is no key: did you mean 'ctrl-h'?"),
            ("help = [\"pagup\"]\n", "1: 'help' = 'pagup' is no key: did you mean 'pageup'?"),
            (
                "help = [\n  \"?\",\n  \"hyper-q\",\n]\n",
                "3: 'help' = 'hyper-q' is no key: write for example 'q', 'Q', 'ctrl-c', 'f1', 'esc' or 'shift-tab'",
            ),
            (
                "help = [\"ctrl-i\"]\n",
                "1: 'help' = 'ctrl-i' never arrives, because terminals send it as 'tab': write 'tab'",
            ),
            ("help = [\"ctrl-H\"]\n", "1: 'help' = 'ctrl-H' is written 'ctrl-h'"),
            ("help = [\"shift-h\"]\n", "1: 'help' = 'shift-h' is written 'H'"),
            (
                "help = [\"H\"]\ncopy = [\"H\"]\n",
                "1: 'help' = 'H' is a key of 'copy' already: one key does one thing",
            ),
            ("help = [\"H\", \"H\"]\n", "1: 'help' = 'H' stands there twice: once is enough"),
            ("help = \"H\"\n", "1: 'help' = 'H' is not a list: write [\"...\", \"...\"]"),
            ("quit = []\n", "1: 'quit' has no key left: give it one, as in quit = [\"q\"]"),
            ("help = [\"q\", \"ctrl-c\"]\n", " 'quit' has no key left: give it one, as in quit = [\"q\"]"),
            ("help = [\"q\"\n", "1: "),
        ] {
            let found = complaints(text);
            assert!(found.len() == 1 && found[0].starts_with(complaint), "{text}\n{found:?}");
        }
        // All problems at once.
        assert_eq!(complaints("a = [\"q\"]\nb = [\"q\"]\nhelp = [\"zz\"]\n").len(), 3);
    }
}
