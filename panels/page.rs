//! A page of labelled lines that can be longer than the screen.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines::{Line, draw};
use crate::palette::Palette;
use crate::panel::Outcome;
use crate::title;

/// How far a page is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    top: u16,
    /// Rows that could be seen when it was drawn last, and rows in all.
    seen: u16,
    rows: u16,
}

impl Page {
    /// Draws a title and as many rows as there is room for.
    pub(crate) fn draw(
        &mut self,
        heading: &str,
        lines: &[Line],
        palette: &Palette,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
        let heights = lines.iter().map(|line| line.height(palette, area.width));
        self.rows = heights.fold(0, u16::saturating_add);
        self.seen = body.height;
        self.top = self.top.min(self.rows.saturating_sub(self.seen));
        let below = self.rows.saturating_sub(self.top + self.seen);
        let more = if below > 0 { format!("+{below} rows below") } else { String::new() };
        title::draw(heading, &more, palette, area, buffer);
        let mut whole = Buffer::empty(Rect::new(0, 0, area.width, self.rows));
        draw(lines, palette, whole.area, &mut whole);
        for y in 0..body.height.min(self.rows - self.top) {
            for x in 0..area.width {
                let cell = &whole[(x, self.top + y)];
                let place = &mut buffer[(body.x + x, body.y + y)];
                place.set_symbol(cell.symbol()).set_style(cell.style());
            }
        }
    }

    /// Whether there is more than could be seen when it was drawn last.
    pub(crate) fn is_longer(&self) -> bool {
        self.rows > self.seen
    }

    /// Scrolls as far as it takes to see these rows of its lines, the first ones if there is no room for all.
    fn reveal(&mut self, from: u16, height: u16) {
        let until = from.saturating_add(height);
        if until > self.top.saturating_add(self.seen) {
            self.top = until.saturating_sub(self.seen);
        }
        self.top = self.top.min(from);
    }

    /// The same for lines of a page that is about to be drawn in this area.
    pub(crate) fn reveal_lines(
        &mut self,
        lines: &[Line],
        wanted: Range<usize>,
        palette: &Palette,
        area: Rect,
    ) {
        let rows = |lines: &[Line]| {
            lines.iter().map(|line| line.height(palette, area.width)).fold(0, u16::saturating_add)
        };
        self.seen = area.height.saturating_sub(1);
        self.reveal(rows(&lines[..wanted.start]), rows(&lines[wanted]));
    }

    /// Scrolls; everything else is ignored.
    pub(crate) fn act(&mut self, action: Action) -> Outcome {
        let page = self.seen.max(1);
        self.top = match action {
            Action::Up => self.top.saturating_sub(1),
            Action::Down => self.top.saturating_add(1),
            Action::PageUp => self.top.saturating_sub(page),
            Action::PageDown => self.top.saturating_add(page),
            Action::Top => 0,
            Action::Bottom => u16::MAX,
            _ => return Outcome::Ignored,
        };
        self.top = self.top.min(self.rows.saturating_sub(self.seen));
        Outcome::Done
    }
}
