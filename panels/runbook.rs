//! What to ask next, what good looks like, and what to do.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "runbook",
    title: "Runbook",
    short: "Runbook",
    help: "what to ask next, what good looks like, and what to do",
    is_for_walls: false,
    make: || Box::new(RunbookPanel),
};

struct RunbookPanel;

impl Panel for RunbookPanel {
    fn draw(&mut self, _view: &View<'_>, _area: Rect, _buffer: &mut Buffer) {}

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
