//! Who calls whom, with the verdict on each component.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::panel::{Outcome, Panel, PanelRow, View};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "graph",
    title: "Graph",
    short: "Graph",
    help: "who calls whom, with the verdict on each component",
    is_for_walls: true,
    make: || Box::new(Graph),
};

struct Graph;

impl Panel for Graph {
    fn draw(&mut self, _view: &View<'_>, _area: Rect, _buffer: &mut Buffer) {}

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
