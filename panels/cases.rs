//! Past incidents that look like this one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "cases",
    title: "Cases",
    short: "Cases",
    help: "past incidents that look like this one",
    is_for_walls: false,
    make: || Box::new(Cases),
};

struct Cases;

impl Panel for Cases {
    fn draw(&mut self, _view: &View<'_>, _area: Rect, _buffer: &mut Buffer) {}

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
