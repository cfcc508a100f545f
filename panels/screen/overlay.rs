//! What can lie over the panels: it takes the keys until it is closed.

mod command_line;
mod entry;
mod filter_prompt;
mod help;
mod line_asked;
mod note;
mod question;
mod window;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(super) use command_line::CommandLine;
pub(super) use filter_prompt::FilterPrompt;
pub(super) use help::Help;
pub(super) use line_asked::LineAsked;
pub(super) use note::Note;
pub(super) use question::Question;

use std::sync::Arc;

use headwater_engine::Snapshot;

use super::Shown;
use crate::action::Action;
use crate::keys::{Command, Keymap, Stroke};
use crate::panel::{Effect, Panel, PanelRow};

/// What an overlay is told with each key and each frame.
pub(super) struct Around<'a> {
    /// What the screen is told.
    pub(super) shown: &'a Shown<'a>,
    /// The panel below.
    pub(super) panel: &'a mut dyn Panel,
    /// What the panel is drawn from; `None` before the first evaluation.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// The line of the panel below.
    pub(super) row: &'static PanelRow,
}

impl Around<'_> {
    pub(super) fn keys(&self) -> &Keymap {
        self.shown.keys
    }

    /// Whether a row passes the filter of the panel, which is when there is one that could be copied.
    pub(super) fn has_rows(&self) -> bool {
        let Some(snapshot) = &self.snapshot else { return true };
        self.panel.copied(&super::view(self.shown, snapshot)).is_some()
    }
}

/// What comes of a key that an overlay took.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// It stays open.
    Stay,
    /// It stays open and says why.
    Explain(String),
    /// It is closed.
    Close,
    /// It is closed and this is done by the screen.
    Run(Command),
    /// It is closed and this is done by the application.
    Do(Vec<Effect>),
    /// It is closed, and the panel takes this line.
    Typed(String),
    /// It is closed, and this filter was typed in it.
    Filtered(String),
    /// It is closed before it was finished; this is kept for the next time.
    PutAside(String),
}

/// Something that lies over the panels.
pub(super) trait Overlay {
    /// Takes a key.
    fn press(&mut self, stroke: Stroke, around: &mut Around<'_>) -> Step;

    /// Takes a text that was pasted.
    fn paste(&mut self, _text: &str, _around: &mut Around<'_>) {}

    /// Takes one notch of the mouse wheel.
    fn wheel(&mut self, _is_up: bool) {}

    /// Rows at the bottom of a screen of this width that it takes for itself, before anything else is given any.
    fn docked(&self, _width: u16) -> u16 {
        0
    }

    /// Draws itself: in the rows that it docked, and over the area of the panel.
    fn draw(&mut self, around: &mut Around<'_>, docked: Rect, over: Rect, buffer: &mut Buffer);

    /// Where the terminal's cursor belongs.
    fn cursor(&self) -> Option<Position> {
        None
    }

    /// What the bar of keys says while it is open; nothing where it says that itself.
    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Why the application should not end now.
    fn objection(&self) -> Option<&'static str> {
        None
    }
}

/// Whether a key ends the application wherever it is pressed: one of `quit` that is no text.
pub(super) fn is_way_out(stroke: Stroke, keys: &Keymap) -> bool {
    stroke.ctrl && keys.command(stroke) == Some(Command::Act(Action::Quit))
}
