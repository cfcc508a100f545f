//! Every panel and action by name.

use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;
use tui_textarea::Key;

use super::entry::Entry;
use super::{Around, Overlay, Step, window};
use crate::action::{ACTIONS, Action, Scope};
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::{ColorRole, Palette};
use crate::panel::PANELS;

/// What stands before the line.
const MARK: &str = ":";

/// Rows of the list, frame included.
const MOST_ROWS: u16 = 14;

/// Cells of the names and of the keys.
const NAME: usize = 14;
const KEYS: usize = 12;

/// A name that is typed, and the commands that it can mean.
pub(in super::super) struct CommandLine {
    entry: Entry,
    is_replay: bool,
    found: Vec<Command>,
    chosen: usize,
}

impl CommandLine {
    /// Nothing typed: every command.
    pub(in super::super) fn new(is_replay: bool) -> Self {
        Self { entry: Entry::new(""), is_replay, found: find("", is_replay), chosen: 0 }
    }

    fn narrow(&mut self) {
        self.found = find(self.entry.text(), self.is_replay);
        self.chosen = 0;
    }

    fn choose(&mut self, is_up: bool) {
        let last = self.found.len().saturating_sub(1);
        self.chosen = match (is_up, self.chosen) {
            (true, 0) => last,
            (true, chosen) => chosen - 1,
            (false, chosen) if chosen >= last => 0,
            (false, chosen) => chosen + 1,
        };
    }

    fn draw_list(&self, keys: &Keymap, palette: &Palette, area: Rect, buffer: &mut Buffer) {
        if self.found.is_empty() {
            let text = format!("nothing is called '{}'; esc closes", self.entry.text().trim());
            buffer.set_stringn(
                area.x,
                area.y,
                text,
                usize::from(area.width),
                palette.style(ColorRole::Error),
            );
            return;
        }
        let height = usize::from(area.height);
        let top = (self.chosen + 1).saturating_sub(height);
        for ((place, command), y) in self.found.iter().enumerate().skip(top).zip(area.top()..area.bottom()) {
            let row = Rect { y, height: 1, ..area };
            let is_chosen = place == self.chosen;
            let mark = if is_chosen { pointer(palette.glyphs) } else { " " };
            let style = |role| {
                let own = palette.style(role);
                if is_chosen { own.patch(palette.style(ColorRole::Selected)) } else { own }
            };
            if is_chosen {
                buffer.set_style(row, palette.style(ColorRole::Selected));
            }
            let all_keys: Vec<String> = keys.strokes(*command).map(|stroke| stroke.to_string()).collect();
            let mut x = row.x;
            for (text, role) in [
                (format!("{mark} {:<NAME$} ", command.name()), ColorRole::Text),
                (format!("{:<KEYS$} ", all_keys.join(" ")), ColorRole::Key),
                (command.help().to_owned(), ColorRole::Faint),
            ] {
                let room = usize::from(row.right().saturating_sub(x));
                let is_cut = Span::raw(text.as_str()).width() > room;
                (x, _) = buffer.set_stringn(x, y, text, room, style(role));
                if is_cut && room > 0 {
                    buffer[(row.right() - 1, y)].set_symbol(palette.glyphs.ellipsis());
                }
            }
        }
    }
}

fn pointer(glyphs: Glyphs) -> &'static str {
    match glyphs {
        Glyphs::Unicode => "›",
        Glyphs::Ascii => ">",
    }
}

/// The commands that a text can mean, the likeliest first.
fn find(text: &str, is_replay: bool) -> Vec<Command> {
    let text = text.trim().to_lowercase();
    let panels = (0..PANELS.len()).map(Command::Show);
    let actions = ACTIONS.iter().filter(|row| match row.scope {
        Scope::Kiosk => false,
        Scope::Replay => is_replay,
        Scope::Everywhere | Scope::Table | Scope::Panel => true,
    });
    let all = panels.chain(actions.map(|row| Command::Act(row.action)));
    let mut found: Vec<(u8, Command)> =
        all.filter_map(|command| Some((rank(&text, command)?, command))).collect();
    // Stable: of equally likely ones the order of the tables stays.
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, command)| command).collect()
}

/// What people are used to writing, whatever else begins with it.
const HABITS: &[(&str, Action)] = &[("q", Action::Quit)];

/// How far a text is from a command's name; `None` when it cannot mean it.
fn rank(text: &str, command: Command) -> Option<u8> {
    let name = command.name();
    let is_within = |whole: &str| {
        let mut rest = whole.chars();
        text.chars().all(|wanted| rest.any(|found| found == wanted))
    };
    Some(match () {
        () if name == text => 0,
        () if HABITS.iter().any(|(habit, action)| *habit == text && command == Command::Act(*action)) => 0,
        () if name.starts_with(text) => 1,
        () if name.split('-').any(|word| word.starts_with(text)) => 2,
        () if name.contains(text) => 3,
        () if is_within(name) => 4,
        () if command.help().contains(text) => 5,
        () => return None,
    })
}

impl Overlay for CommandLine {
    fn press(&mut self, stroke: Stroke, _around: &mut Around<'_>) -> Step {
        match stroke.key {
            Key::Esc => return Step::Close,
            Key::Backspace if self.entry.text().is_empty() => return Step::Close,
            Key::Enter => {
                return match self.found.get(self.chosen) {
                    Some(command) => Step::Run(*command),
                    None => Step::Stay,
                };
            }
            Key::Up => self.choose(true),
            Key::Down => self.choose(false),
            Key::Tab => {
                if let Some(command) = self.found.get(self.chosen) {
                    self.entry.set(command.name());
                    self.narrow();
                }
            }
            _ => {
                if self.entry.press(stroke) {
                    self.narrow();
                }
            }
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _around: &mut Around<'_>) {
        self.entry.paste(text);
        self.narrow();
    }

    fn wheel(&mut self, is_up: bool) {
        self.choose(is_up);
    }

    fn docked(&self, _width: u16) -> u16 {
        1
    }

    fn draw(&mut self, around: &mut Around<'_>, docked: Rect, over: Rect, buffer: &mut Buffer) {
        let palette = around.shown.palette;
        if docked.is_empty() {
            return;
        }
        self.entry.draw_behind(MARK, palette, Rect { height: 1, ..docked }, buffer);
        let wanted = (self.found.len().max(1) as u16).saturating_add(2).min(MOST_ROWS);
        let height = wanted.min(over.height);
        let place = Rect { y: over.bottom() - height, height, ..over };
        let title = format!("Panels and actions: {}", self.found.len());
        let footer = "enter: do it   up down: choose   tab: complete   esc: close";
        let inside = window::open(&title, footer, palette, place, buffer);
        if !inside.is_empty() {
            self.draw_list(around.keys(), palette, inside, buffer);
        }
    }

    fn cursor(&self) -> Option<Position> {
        self.entry.cursor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<&'static str> {
        find(text, false).first().map(|command| command.name())
    }

    #[test]
    fn the_likeliest_command_comes_first() {
        assert_eq!(first(""), Some("overview"));
        assert_eq!(first("shards"), Some("shards"));
        assert_eq!(first("co"), Some("command"));
        assert_eq!(first("report"), Some("copy-report"));
        assert_eq!(first("cprep"), Some("copy-report"));
        assert_eq!(first("clipboard"), Some("copy"));
        assert_eq!(first("xyzzy"), None);
        assert_eq!(first(" QUIT "), Some("quit"));
    }

    #[test]
    fn a_replay_has_its_own_actions_and_the_kiosk_none() {
        assert!(!find("", false).contains(&Command::Act(Action::Faster)));
        assert!(find("", true).contains(&Command::Act(Action::Faster)));
        assert!(!find("", true).contains(&Command::Act(Action::LeaveKiosk)));
    }
}
