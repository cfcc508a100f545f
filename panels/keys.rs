//! Which key does what, and how a key is written.

use std::fmt;

use tui_textarea::{Input, Key};

use crate::action::Action;
use crate::panel::{PANELS, PanelRow};

/// What a key does: an action, or the opening of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// An action.
    Act(Action),
    /// Opens the panel at this place of [`PANELS`].
    Show(usize),
}

impl Command {
    /// The command with this name: an action's, or a panel's.
    pub fn by_name(name: &str) -> Option<Self> {
        let panel = || PANELS.iter().position(|row| row.name == name).map(Self::Show);
        Action::by_name(name).map(Self::Act).or_else(panel)
    }

    /// The name that keymaps use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Act(action) => action.row().name,
            Self::Show(place) => PANELS.get(place).map_or("", |row: &PanelRow| row.name),
        }
    }

    /// One sentence for help.
    pub fn help(self) -> &'static str {
        match self {
            Self::Act(action) => action.row().help,
            Self::Show(place) => PANELS.get(place).map_or("", |row: &PanelRow| row.help),
        }
    }
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stroke {
    /// The key.
    pub key: Key,
    /// Whether control is held.
    pub ctrl: bool,
    /// Whether alt is held.
    pub alt: bool,
    /// Whether shift is held; a character says so by itself.
    pub shift: bool,
}

/// Keys that are written with a word.
pub const WORDS: &[(Key, &str)] = &[
    (Key::Char(' '), "space"),
    (Key::Enter, "enter"),
    (Key::Esc, "esc"),
    (Key::Tab, "tab"),
    (Key::Backspace, "backspace"),
    (Key::Delete, "delete"),
    (Key::Up, "up"),
    (Key::Down, "down"),
    (Key::Left, "left"),
    (Key::Right, "right"),
    (Key::PageUp, "pageup"),
    (Key::PageDown, "pagedown"),
    (Key::Home, "home"),
    (Key::End, "end"),
];

impl Stroke {
    /// A key without modifiers.
    pub fn plain(key: Key) -> Self {
        Self { key, ..Self::default() }
    }

    /// Reads `q`, `ctrl-c`, `shift-tab`, `f1`, `space`; an upper-case letter is itself and needs no `shift-`.
    /// `None` for what is no key.
    pub fn parse(text: &str) -> Option<Self> {
        let mut stroke = Self::default();
        let mut rest = text;
        loop {
            let known = [("ctrl-", 0), ("alt-", 1), ("shift-", 2)];
            let Some((word, which)) =
                known.into_iter().find(|(word, _)| rest.len() > word.len() && rest.starts_with(word))
            else {
                break;
            };
            match which {
                0 => stroke.ctrl = true,
                1 => stroke.alt = true,
                _ => stroke.shift = true,
            }
            rest = &rest[word.len()..];
        }
        let mut chars = rest.chars();
        stroke.key = match (chars.next()?, chars.as_str()) {
            (only, "") => Key::Char(only),
            ('f', number) if number.parse::<u8>().is_ok() => Key::F(number.parse().ok()?),
            _ => WORDS.iter().find(|(_, word)| *word == rest).map(|(key, _)| *key)?,
        };
        Some(stroke.normal())
    }

    /// The same key however a terminal reports it: a character says by itself whether shift was held.
    pub fn normal(mut self) -> Self {
        if matches!(self.key, Key::Char(_)) {
            self.shift = false;
        }
        self
    }

    /// The same key for a field in which text is typed.
    pub fn input(self) -> Input {
        let Self { key, ctrl, alt, shift } = self;
        Input { key, ctrl, alt, shift }
    }
}

impl fmt::Display for Stroke {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, ctrl, alt, shift } = *self;
        for (held, word) in [(ctrl, "ctrl-"), (alt, "alt-"), (shift, "shift-")] {
            if held {
                out.write_str(word)?;
            }
        }
        match (WORDS.iter().find(|(known, _)| *known == key), key) {
            (Some((_, word)), _) => out.write_str(word),
            (None, Key::Char(character)) => write!(out, "{character}"),
            (None, Key::F(number)) => write!(out, "f{number}"),
            (None, _) => out.write_str("?"),
        }
    }
}

/// Which key does what; the first key of a command is the one that is shown.
#[derive(Clone, Debug, Default)]
pub struct Keymap {
    bindings: Vec<(Stroke, Command)>,
}

impl Keymap {
    /// A keymap of these bindings; of two with the same key the first counts.
    pub fn new(bindings: Vec<(Stroke, Command)>) -> Self {
        Self { bindings }
    }

    /// What a key does.
    pub fn command(&self, stroke: Stroke) -> Option<Command> {
        let stroke = stroke.normal();
        self.bindings.iter().find(|(known, _)| *known == stroke).map(|(_, command)| *command)
    }

    /// All keys of a command, in the order of the keymap.
    pub fn strokes(&self, command: Command) -> impl Iterator<Item = Stroke> + '_ {
        self.bindings.iter().filter(move |(_, known)| *known == command).map(|(stroke, _)| *stroke)
    }

    /// How the first key of a command is written; empty when it has none.
    pub fn label(&self, command: Command) -> String {
        self.strokes(command).next().map(|stroke| stroke.to_string()).unwrap_or_default()
    }

    /// How the first key of an action is written; empty when it has none.
    pub fn key_of(&self, action: Action) -> String {
        self.label(Command::Act(action))
    }

    /// How an action is asked for: by its first key, else by its name on the command line.
    pub fn way_to(&self, action: Action) -> String {
        let key = self.key_of(action);
        if key.is_empty() { format!(":{}", action.row().name) } else { key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_they_are_read() {
        for text in ["q", "Q", "ctrl-c", "shift-tab", "f12", "space", "[", "-", "ctrl-alt-x", "pageup", "爆"]
        {
            assert_eq!(Stroke::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "ctrl-", "hyper-x", "qq", "f999"] {
            assert_eq!(Stroke::parse(text).map(|stroke| stroke.to_string()), None, "'{text}'");
        }
    }

    #[test]
    fn an_upper_case_letter_is_the_same_with_and_without_shift() {
        let keymap = Keymap::new(vec![(Stroke::parse("S").unwrap(), Command::Act(Action::Reverse))]);
        let mut pressed = Stroke::plain(Key::Char('S'));
        pressed.shift = true;
        assert_eq!(keymap.command(pressed), Some(Command::Act(Action::Reverse)));
    }
}
