//! The last row: what can be pressed, or what became of the last key.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Screen, Shown};
use crate::action::Action;
use crate::palette::ColorRole;

/// Below this height there is no bar.
const LEAST_HEIGHT: u16 = 4;

/// What stands in the bar after the panel's own actions.
const USUAL: &[Action] = &[Action::Help, Action::Filter, Action::Sort, Action::Freeze, Action::Quit];

/// Draws the bar; returns how many rows it took.
pub(super) fn draw(screen: &Screen, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    if area.height < LEAST_HEIGHT {
        return 0;
    }
    let y = area.bottom() - 1;
    if let Some(notice) = &screen.notice {
        let role = if notice.is_error { ColorRole::Error } else { ColorRole::Heading };
        buffer.set_stringn(area.x, y, &notice.text, usize::from(area.width), shown.palette.style(role));
        return 1;
    }
    let mut x = area.x;
    for action in screen.panels[screen.active].actions().iter().chain(USUAL) {
        for (text, role) in [
            (shown.keys.key_of(*action), ColorRole::Key),
            (format!(" {}", action.row().short), ColorRole::Faint),
        ] {
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = buffer.set_stringn(x, y, text, room, shown.palette.style(role));
        }
        x += 2;
    }
    1
}
