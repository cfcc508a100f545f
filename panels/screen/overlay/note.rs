//! A note for the write-up.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;
use tui_textarea::{Key, TextArea, WrapMode};

use super::entry::{LONGEST, cursor_in, one_line, text_area};
use super::{Around, Overlay, Step, window};
use crate::keys::Stroke;
use crate::palette::ColorRole;
use crate::panel::Effect;

const WIDTH: u16 = 70;
const HEIGHT: u16 = 8;

/// Lines in one go; each is a note of its own.
const MOST_LINES: usize = 50;

/// Lines that are being typed; each becomes a note of its own, because a note is one line in the write-up.
pub(in super::super) struct Note {
    text: TextArea<'static>,
    place: Rect,
}

impl Note {
    /// Goes on with what was typed before.
    pub(in super::super) fn new(draft: &str) -> Self {
        let mut text = text_area(draft.split('\n').map(str::to_owned).collect());
        text.set_wrap_mode(WrapMode::WordOrGlyph);
        Self { text, place: Rect::ZERO }
    }

    fn notes(&self) -> Vec<Effect> {
        let lines = self.text.lines().iter().map(|line| line.trim());
        lines.filter(|line| !line.is_empty()).map(|line| Effect::Note(line.to_owned())).collect()
    }

    fn is_too_long(&self) -> bool {
        let lines = self.text.lines();
        lines.len() > MOST_LINES || lines.iter().any(|line| line.chars().count() > LONGEST)
    }
}

impl Overlay for Note {
    fn press(&mut self, stroke: Stroke, _around: &mut Around<'_>) -> Step {
        match stroke {
            Stroke { key: Key::Enter, alt: false, shift: false, ctrl: false } => {
                let notes = self.notes();
                if notes.is_empty() { Step::Close } else { Step::Do(notes) }
            }
            Stroke { key: Key::Enter, .. } | Stroke { key: Key::Char('j'), ctrl: true, .. } => {
                self.text.insert_newline();
                self.keep_within()
            }
            Stroke { key: Key::Esc, .. } => Step::PutAside(self.text.lines().join("\n")),
            _ => {
                self.text.input(stroke.input());
                self.keep_within()
            }
        }
    }

    fn paste(&mut self, text: &str, _around: &mut Around<'_>) {
        let lines: Vec<String> = text.lines().take(MOST_LINES).map(|line| one_line(line, LONGEST)).collect();
        self.text.insert_str(lines.join("\n"));
        if self.is_too_long() {
            self.text.undo();
        }
    }

    fn draw(&mut self, around: &mut Around<'_>, _docked: Rect, over: Rect, buffer: &mut Buffer) {
        let palette = around.shown.palette;
        let place = window::centered(WIDTH, HEIGHT, over);
        let footer = "enter: save   alt-enter or ctrl-j: next line   esc: put aside";
        self.place = window::open("Note for the write-up", footer, palette, place, buffer);
        if self.place.is_empty() {
            return;
        }
        self.text.set_style(palette.ground.patch(palette.style(ColorRole::Text)));
        self.text.render(self.place, buffer);
    }

    fn cursor(&self) -> Option<Position> {
        if self.place.is_empty() { None } else { cursor_in(&self.text, self.place) }
    }

    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        &[("enter", "save"), ("alt-enter", "next line"), ("esc", "put aside")]
    }

    fn objection(&self) -> Option<&'static str> {
        let is_empty = self.notes().is_empty();
        (!is_empty).then_some("a note is not saved yet: enter saves it, esc puts it aside; then leave")
    }
}

impl Note {
    /// Takes the last change back when it made a line too long for a note.
    fn keep_within(&mut self) -> Step {
        if self.is_too_long() {
            self.text.undo();
            return Step::Explain(format!(
                "a note holds {LONGEST} characters; alt-enter begins the next one"
            ));
        }
        Step::Stay
    }
}
