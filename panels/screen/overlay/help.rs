//! Help, made from the tables: keys, what the panel shows, what a filter can ask, what the signs mean.

mod page;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Around, Overlay, Step, window};
use crate::action::Action;
use crate::keys::{Command, Stroke};
use page::Page;

/// The help of the panel below, scrolled by whole rows.
pub(in super::super) struct Help {
    top: usize,
    /// Rows in sight when it was last drawn.
    in_sight: usize,
}

impl Help {
    pub(in super::super) fn new() -> Self {
        Self { top: 0, in_sight: 1 }
    }

    /// Moves; how far that is possible shows when it is drawn.
    fn scroll(&mut self, action: Action) {
        let page = self.in_sight.saturating_sub(1).max(1);
        self.top = match action {
            Action::Up => self.top.saturating_sub(1),
            Action::Down => self.top.saturating_add(1),
            Action::PageUp => self.top.saturating_sub(page),
            Action::PageDown => self.top.saturating_add(page),
            Action::Top => 0,
            Action::Bottom => usize::MAX,
            _ => self.top,
        };
    }
}

impl Overlay for Help {
    fn press(&mut self, stroke: Stroke, around: &mut Around<'_>) -> Step {
        match around.keys().command(stroke) {
            // Whoever presses `q` here wants to leave the help, and would lose the history of an incident.
            Some(Command::Act(Action::Help | Action::Back | Action::Quit)) => Step::Close,
            Some(Command::Act(action)) => {
                self.scroll(action);
                Step::Stay
            }
            Some(show @ Command::Show(_)) => Step::Run(show),
            None => Step::Stay,
        }
    }

    fn wheel(&mut self, is_up: bool) {
        self.scroll(if is_up { Action::Up } else { Action::Down });
    }

    fn draw(&mut self, around: &mut Around<'_>, _docked: Rect, over: Rect, buffer: &mut Buffer) {
        let palette = around.shown.palette;
        let title = format!("Help: {}", around.row.title);
        let page = Page::of(around);
        // The frame is drawn twice: what is inside of it tells how far one can scroll, which stands in it.
        let inside = window::open(&title, "", palette, over, buffer);
        if inside.is_empty() {
            return;
        }
        let rows = page.height(palette, inside.width);
        self.in_sight = usize::from(inside.height);
        self.top = self.top.min(rows.saturating_sub(self.in_sight));
        let last = (self.top + self.in_sight).min(rows);
        let keys = |action| around.keys().key_of(action);
        let footer = format!(
            "rows {}-{last} of {}   {} {}: scroll   {}: close",
            self.top + 1,
            rows,
            keys(Action::Up),
            keys(Action::Down),
            keys(Action::Back)
        );
        window::open(&title, &footer, palette, over, buffer);
        page.draw(self.top, palette, inside, buffer);
    }

    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}
