//! The keys of each shard: which are big, which are hot, when they expire, and where any key lives.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::palette::ColorRole;
use crate::panel::{Outcome, Panel, PanelRow, View};
use crate::sentences::draw_sentences;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "keys",
    title: "Keys",
    short: "Keys",
    help: "which keys are big, which are hot, when keys expire, and where a key lives",
    is_for_walls: false,
    make: || Box::new(Keyspace),
};

#[derive(Debug)]
struct Keyspace;

impl Panel for Keyspace {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        draw_sentences(&[("nothing is known of keys yet".to_owned(), ColorRole::Faint)], view, area, buffer);
    }

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
