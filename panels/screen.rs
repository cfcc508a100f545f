//! The whole screen: head, panels, bar of keys, and whatever lies over them. Keys go in, effects come out.
//!
//! [`Screen::press`] is a function of the screen's state, the key and what is shown: it changes nothing but the screen
//! and says what the application should do.

mod bar;
mod head;
mod status;

use std::sync::Arc;

use headwater_engine::Snapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::{Action, Scope};
use crate::keys::{Command, Stroke};
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, PANELS, Panel, Play, View};
pub use status::{Feed, Shown, Status};

/// The state of the screen: which panel is open, what is frozen, what lies over it.
pub struct Screen {
    panels: Vec<Box<dyn Panel>>,
    active: usize,
    /// Panels that were left, the last one last.
    left: Vec<usize>,
    /// The snapshot that is held still; it says by itself whether it was gone back to.
    held: Option<Arc<Snapshot>>,
    notice: Option<Notice>,
    /// Where it was last drawn.
    area: Rect,
}

/// One line that tells what became of an action, until the next key.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Screen").field("panel", &self.name()).finish_non_exhaustive()
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen {
    /// The first panel, live.
    pub fn new() -> Self {
        Self {
            panels: PANELS.iter().map(|row| (row.make)()).collect(),
            active: 0,
            left: vec![],
            held: None,
            notice: None,
            area: Rect::ZERO,
        }
    }

    /// The name of the panel that is open.
    pub fn name(&self) -> &'static str {
        PANELS[self.active].name
    }

    /// The snapshot that is held still while the newest one goes on, `None` while the newest is shown. When it was
    /// gone back to, [`Snapshot::gone_back_from`] says so; else the screen is frozen since its moment.
    pub fn held(&self) -> Option<&Arc<Snapshot>> {
        self.held.as_ref()
    }

    /// Says in one line what became of an effect.
    pub fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.notice = Some(Notice { text: text.into(), is_error });
    }

    /// Says what can be pressed first, until the first key.
    pub fn hint(&mut self, text: impl Into<String>) {
        self.say(text, false);
    }

    /// Takes a click on a cell of the screen.
    pub fn click(&mut self, at: Position, shown: &Shown<'_>) -> Vec<Effect> {
        let tabs = head::tabs(shown, self.area);
        if let Some((place, ..)) = tabs.into_iter().find(|(_, tab, _)| tab.contains(at)) {
            self.show(place);
            return vec![];
        }
        let Some(snapshot) = self.snapshot(shown) else { return vec![] };
        let asked = self.panels[self.active].click(at, &view(shown, &snapshot));
        self.settle(asked).unwrap_or_default()
    }

    /// Takes one notch of the mouse wheel.
    pub fn wheel(&mut self, is_up: bool, shown: &Shown<'_>) -> Vec<Effect> {
        self.act(if is_up { Action::Up } else { Action::Down }, shown)
    }

    /// Takes a text that was pasted; it goes where text is typed, and nowhere else.
    pub fn paste(&mut self, _text: &str, _shown: &Shown<'_>) -> Vec<Effect> {
        vec![]
    }

    /// Takes a key.
    pub fn press(&mut self, stroke: Stroke, shown: &Shown<'_>) -> Vec<Effect> {
        self.notice = None;
        match shown.keys.command(stroke) {
            Some(command) => self.take(command, shown),
            None => vec![],
        }
    }

    /// Takes a command, from a key or from the command line.
    pub fn take(&mut self, command: Command, shown: &Shown<'_>) -> Vec<Effect> {
        match command {
            Command::Show(place) => {
                self.show(place);
                vec![]
            }
            Command::Act(action) => self.act(action, shown),
        }
    }

    fn show(&mut self, place: usize) {
        if place < self.panels.len() && place != self.active {
            self.left.retain(|left| *left != self.active);
            self.left.push(self.active);
            self.active = place;
        }
    }

    fn act(&mut self, action: Action, shown: &Shown<'_>) -> Vec<Effect> {
        let asked = match self.snapshot(shown) {
            Some(snapshot) if action.row().scope != Scope::Replay => {
                let view = view(shown, &snapshot);
                self.panels[self.active].act(action, &view)
            }
            _ => Outcome::Ignored,
        };
        self.settle(asked).unwrap_or_else(|| self.act_everywhere(action, shown))
    }

    /// Does what a panel wants; `None` when it ignored what it was told.
    fn settle(&mut self, asked: Outcome) -> Option<Vec<Effect>> {
        match asked {
            Outcome::Ignored => return None,
            Outcome::Done => {}
            Outcome::Refused(why) => self.say(why, false),
            Outcome::Wants(Intent::Do(effect) | Intent::Ask(_, effect)) => return Some(vec![effect]),
            Outcome::Wants(Intent::Show(name, subject)) => {
                if let Some(place) = PANELS.iter().position(|row| row.name == name) {
                    self.show(place);
                    if let Some(subject) = subject {
                        self.panels[place].open(&subject);
                    }
                }
            }
        }
        Some(vec![])
    }

    fn act_everywhere(&mut self, action: Action, shown: &Shown<'_>) -> Vec<Effect> {
        let is_replay = matches!(shown.status.feed, Feed::Replay { .. });
        match action {
            Action::Quit => return vec![Effect::Quit],
            Action::NextPanel => self.show((self.active + 1) % self.panels.len()),
            Action::PreviousPanel => self.show((self.active + self.panels.len() - 1) % self.panels.len()),
            Action::Back => {
                if let Some(before) = self.left.pop() {
                    self.active = before;
                }
            }
            Action::Freeze if is_replay => return vec![Effect::Play(Play::Pause)],
            Action::Freeze => self.held = if self.held.is_some() { None } else { shown.newest.cloned() },
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::NextTheme => return vec![Effect::NextTheme],
            Action::Mouse => return vec![Effect::Mouse(!shown.status.has_mouse)],
            Action::Export => return vec![Effect::Export],
            Action::Step if is_replay => return vec![Effect::Play(Play::Step)],
            Action::Faster if is_replay => return vec![Effect::Play(Play::Speed(2.0))],
            Action::Slower if is_replay => return vec![Effect::Play(Play::Speed(0.5))],
            _ => self.say(format!("'{}' does nothing here", action.row().name), false),
        }
        vec![]
    }

    /// What is drawn: what is held still, else the newest.
    fn snapshot(&self, shown: &Shown<'_>) -> Option<Arc<Snapshot>> {
        self.held.as_ref().or(shown.newest).cloned()
    }

    /// Draws everything. Any size will do: the panel is given what the head and the bar leave.
    pub fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        self.area = area;
        if area.is_empty() {
            return;
        }
        buffer.set_style(area, shown.palette.ground);
        let snapshot = self.snapshot(shown);
        let head = head::draw(self, snapshot.as_deref(), shown, area, buffer);
        let rest = Rect { y: area.y + head, height: area.height - head, ..area };
        let bar = bar::draw(self, shown, rest, buffer);
        let body = Rect { height: rest.height - bar, ..rest };
        match snapshot {
            Some(snapshot) => self.panels[self.active].draw(&view(shown, &snapshot), body, buffer),
            None => {
                let style = shown.palette.style(ColorRole::Unknown);
                let text = "? connecting: waiting for the first answers";
                buffer.set_stringn(body.x, body.y, text, usize::from(body.width), style);
            }
        }
    }

    /// Where the terminal's cursor belongs while text is typed.
    pub fn cursor(&self) -> Option<Position> {
        None
    }
}

fn view<'a>(shown: &Shown<'a>, snapshot: &'a Snapshot) -> View<'a> {
    View { snapshot, now: shown.now, palette: shown.palette, keys: shown.keys }
}
