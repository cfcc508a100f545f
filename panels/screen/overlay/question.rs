//! A question that is asked before something is done.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use tui_textarea::Key;

use super::{Around, Overlay, Step, window};
use crate::keys::Stroke;
use crate::palette::ColorRole;
use crate::panel::Effect;

const WIDTH: u16 = 64;

/// What it asks, with the cost and the risk, and what is done after `enter`.
pub(in super::super) struct Question {
    text: String,
    effect: Effect,
}

impl Question {
    pub(in super::super) fn new(text: String, effect: Effect) -> Self {
        Self { text, effect }
    }
}

impl Overlay for Question {
    fn press(&mut self, stroke: Stroke, _around: &mut Around<'_>) -> Step {
        match stroke.key {
            Key::Enter | Key::Char('y' | 'Y') => Step::Do(vec![self.effect.clone()]),
            Key::Esc | Key::Char('n' | 'N') => Step::Close,
            _ => Step::Stay,
        }
    }

    fn draw(&mut self, around: &mut Around<'_>, _docked: Rect, over: Rect, buffer: &mut Buffer) {
        let palette = around.shown.palette;
        let text =
            Hanging::new("", 0, &self.text).text_style(palette.style(ColorRole::Text)).glyphs(palette.glyphs);
        let height = text.height(WIDTH.min(over.width).saturating_sub(2).max(1)) + 2;
        let place = window::centered(WIDTH, height, over);
        let inside =
            window::open("Shall this be done?", "enter or y: yes   esc or n: no", palette, place, buffer);
        text.render(inside, buffer);
    }

    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        &[("enter, y", "do it"), ("esc, n", "leave it")]
    }
}
