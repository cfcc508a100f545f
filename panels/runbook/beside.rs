//! The panel that a step names, drawn beside it.

use headwater_engine::filter::Filter;
use headwater_engine::runbook::Step;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::Keymap;
use crate::palette::ColorRole;
use crate::panel::{PANELS, Panel, PanelRow, View};

/// An instance of the panel that was named last, with the filter that it was given.
#[derive(Default)]
pub(super) struct Beside {
    open: Option<(&'static str, Option<String>, Box<dyn Panel>)>,
}

/// The line of the panel that a step names; a runbook cannot stand beside itself.
pub(super) fn row(step: &Step) -> Option<&'static PanelRow> {
    PANELS.iter().find(|row| row.name == step.panel && row.name != super::ROW.name)
}

/// Draws a line at the left edge of an area; what is left of it lies a blank further.
pub(super) fn parted(area: Rect, view: &View<'_>, buffer: &mut Buffer) -> Rect {
    let style = view.palette.style(ColorRole::Frame);
    for y in area.top()..area.bottom() {
        buffer.set_stringn(area.x, y, view.palette.glyphs.bar(), area.width.min(1).into(), style);
    }
    Rect { x: (area.x + 2).min(area.right()), width: area.width.saturating_sub(2), ..area }
}

impl Beside {
    /// Draws the panel of a step, separated by a line.
    pub(super) fn draw(&mut self, step: &Step, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let Some(row) = row(step) else { return };
        let is_open =
            self.open.as_ref().is_some_and(|(name, filter, _)| *name == row.name && *filter == step.filter);
        if !is_open {
            let mut panel = (row.make)();
            let filter = step.filter.as_deref().and_then(|text| Filter::parse(text, &panel.fields()).ok());
            if filter.is_some() {
                panel.set_filter(filter);
            }
            self.open = Some((row.name, step.filter.clone(), panel));
        }
        let inside = parted(area, view, buffer);
        if let Some((.., panel)) = &mut self.open {
            // Keys go to the runbook, so this one names none.
            let keys = Keymap::default();
            panel.draw(&View { keys: &keys, ..*view }, inside, buffer);
        }
    }
}
