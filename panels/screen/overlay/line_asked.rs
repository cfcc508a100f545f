//! A line of text that a panel asks for.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;
use tui_textarea::Key;

use super::entry::Entry;
use super::{Around, Overlay, Step, window};
use crate::keys::Stroke;
use crate::palette::ColorRole;

const WIDTH: u16 = 70;

/// What is asked, and the line that is typed.
pub(in super::super) struct LineAsked {
    title: String,
    entry: Entry,
}

impl LineAsked {
    pub(in super::super) fn new(title: String) -> Self {
        Self { title, entry: Entry::new("") }
    }
}

impl Overlay for LineAsked {
    fn press(&mut self, stroke: Stroke, _around: &mut Around<'_>) -> Step {
        match stroke.key {
            Key::Enter => match self.entry.text().trim() {
                "" => {
                    Step::Explain("a few words are needed: type them, then enter; esc leaves it".to_owned())
                }
                text => Step::Typed(text.to_owned()),
            },
            Key::Esc => Step::Close,
            _ => {
                self.entry.press(stroke);
                Step::Stay
            }
        }
    }

    fn paste(&mut self, text: &str, _around: &mut Around<'_>) {
        self.entry.paste(text);
    }

    fn draw(&mut self, around: &mut Around<'_>, _docked: Rect, over: Rect, buffer: &mut Buffer) {
        let palette = around.shown.palette;
        let asked = Hanging::new("", 0, &self.title)
            .text_style(palette.style(ColorRole::Text))
            .glyphs(palette.glyphs);
        let rows = asked.height(WIDTH.min(over.width).saturating_sub(2).max(1));
        let place = window::centered(WIDTH, rows + 3, over);
        let footer = "type a few words, then enter: keep   esc: leave it";
        let inside = window::open("In your words", footer, palette, place, buffer);
        // What is typed needs its row before the question does.
        let told = rows.min(inside.height.saturating_sub(1));
        asked.render(Rect { height: told, ..inside }, buffer);
        let line = Rect { y: inside.y + told, height: (inside.height - told).min(1), ..inside };
        self.entry.draw_behind("> ", palette, line, buffer);
    }

    fn cursor(&self) -> Option<Position> {
        self.entry.cursor()
    }

    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        &[("enter", "keep"), ("esc", "leave it")]
    }

    fn objection(&self) -> Option<&'static str> {
        let is_empty = self.entry.text().trim().is_empty();
        (!is_empty).then_some("what you typed is not kept yet: enter keeps it, esc leaves it; then leave")
    }
}
