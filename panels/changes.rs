//! What people changed, and when.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "changes",
    title: "Changes",
    short: "Change",
    help: "what people changed, and when",
    is_for_walls: true,
    make: || Box::new(Changes),
};

struct Changes;

impl Panel for Changes {
    fn draw(&mut self, _view: &View<'_>, _area: Rect, _buffer: &mut Buffer) {}

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
