//! The steps of a runbook, one a row.

use headwater_engine::runbook::Standing;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::shown::Shown;
use crate::palette::ColorRole;
use crate::panel::View;

/// How a step stands: a glyph and a colour beside its word.
pub(super) fn glyph(standing: Standing) -> (&'static str, ColorRole) {
    match standing {
        Standing::Done => ("o", ColorRole::Innocent),
        Standing::Bad => ("X", ColorRole::Guilty),
        Standing::Outdated | Standing::Overridden => ("!", ColorRole::Suspect),
        Standing::Skipped => ("-", ColorRole::Faint),
        Standing::Now => (">", ColorRole::Heading),
        Standing::Unknown | Standing::Blind => ("?", ColorRole::Unknown),
        Standing::Open => (".", ColorRole::Faint),
    }
}

/// Draws the steps around the one that is looked at.
pub(super) fn draw(shown: &Shown<'_>, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let rows = usize::from(area.height);
    let steps = shown.runbook.steps.len();
    let first = shown.place.saturating_sub(rows / 2).min(steps.saturating_sub(rows));
    let width = usize::from(area.width);
    for (y, place) in (area.top()..area.bottom()).zip(first..steps) {
        let step = &shown.runbook.steps[place];
        let standing = shown.progress.standing(place);
        let (sign, role) = glyph(standing);
        let mark = format!("{sign} {:<6}", standing.word());
        let (x, _) = buffer.set_stringn(area.x, y, &mark, width, view.palette.style(role));
        let text = format!("{:<4}{}", step.id, step.title);
        let room = usize::from(area.right().saturating_sub(x));
        let is_cut = Span::raw(&text).width() > room;
        let role = if place == shown.place { ColorRole::Selected } else { ColorRole::Text };
        let (end, _) = buffer.set_stringn(x, y, &text, room, view.palette.style(role));
        if is_cut && end > area.x {
            buffer[(end - 1, y)].set_symbol(view.palette.glyphs.ellipsis());
        }
    }
}
