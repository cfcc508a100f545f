//! The whole screen: head, panels, bar of keys, and whatever lies over them. Keys go in, effects come out.
//!
//! [`Screen::press`] is a function of the screen's state, the key and what is shown: it changes nothing but the screen
//! and says what the application should do.

mod bar;
mod head;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::{Moment, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::{Action, Scope};
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::{ColorRole, Palette};
use crate::panel::{Effect, Intent, Outcome, PANELS, Panel, Play, View};

/// What the screen is told each time.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The newest evaluation; `None` before the first.
    pub newest: Option<&'a Arc<Snapshot>>,
    /// What the time is, by the observer's clock; in a replay, by the recording's.
    pub now: Moment,
    /// Colours and characters.
    pub palette: &'a Palette,
    /// Which key does what.
    pub keys: &'a Keymap,
    /// Where the numbers come from.
    pub status: &'a Status,
}

/// Where the numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Live or replayed.
    pub feed: Feed,
    /// What a demo must say of itself on the screen: what runs, or why nothing does and a recording is shown.
    pub demo: Option<String>,
    /// The file that everything is recorded to, if any.
    pub recording: Option<String>,
    /// The name of the theme.
    pub theme: String,
    /// Whether Headwater has the mouse.
    pub has_mouse: bool,
}

/// Live or replayed.
#[derive(Clone, Debug, PartialEq)]
pub enum Feed {
    /// Targets are polled at this interval.
    Live {
        /// The polling interval.
        interval: Duration,
    },
    /// A recording is played.
    Replay {
        /// Its file's name.
        name: String,
        /// Its first moment.
        from: Moment,
        /// Its last moment, when known.
        to: Option<Moment>,
        /// How many times as fast as it happened.
        speed: f64,
        /// Whether it stands still.
        is_paused: bool,
        /// Whether its end was reached.
        is_over: bool,
    },
}

/// The state of the screen: which panel is open, what is frozen, what lies over it.
pub struct Screen {
    panels: Vec<Box<dyn Panel>>,
    active: usize,
    /// Panels that were left, the last one last.
    left: Vec<usize>,
    /// The snapshot that is held still, and whether it was gone back to.
    held: Option<Arc<Snapshot>>,
    notice: Option<Notice>,
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
        }
    }

    /// The name of the panel that is open.
    pub fn name(&self) -> &'static str {
        PANELS[self.active].name
    }

    /// Says in one line what became of an effect.
    pub fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.notice = Some(Notice { text: text.into(), is_error });
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
        match asked {
            Outcome::Done => vec![],
            Outcome::Refused(why) => {
                self.say(why, false);
                vec![]
            }
            Outcome::Wants(Intent::Do(effect)) => vec![effect],
            Outcome::Wants(Intent::Ask(_, effect)) => vec![effect],
            Outcome::Wants(Intent::Show(name, subject)) => {
                if let Some(place) = PANELS.iter().position(|row| row.name == name) {
                    self.show(place);
                    if let Some(subject) = subject {
                        self.panels[place].open(&subject);
                    }
                }
                vec![]
            }
            Outcome::Ignored => self.act_everywhere(action, shown),
        }
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
