//! What the tests of panels look at.

use headwater_engine::Snapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::Palette;
use crate::panel::{PANELS, Panel, View};

/// The keys that hints name in the tests of panels.
pub(crate) fn keys() -> Keymap {
    let key = |text: &str| Stroke::parse(text).unwrap();
    // One character each, in the order of the table: 1 to 9, then A, B, ...
    let signs = ('1'..='9').chain('A'..='Z').map(|sign| key(&sign.to_string()));
    let digits = signs.zip((0..PANELS.len()).map(Command::Show));
    let actions = [
        ("enter", Action::Open),
        ("b", Action::Scan),
        ("H", Action::SearchHot),
        ("p", Action::PauseScan),
        ("x", Action::CancelScan),
        ("pageup", Action::PageUp),
        ("pagedown", Action::PageDown),
    ];
    let actions = actions.map(|(text, action)| (key(text), Command::Act(action)));
    Keymap::new(digits.chain(actions).collect())
}

/// A snapshot as it is looked at in its moment, without runbooks and cases.
pub(crate) fn live<'a>(snapshot: &'a Snapshot, palette: &'a Palette, keys: &'a Keymap) -> View<'a> {
    View {
        snapshot,
        now: snapshot.at,
        palette,
        keys,
        is_replay: false,
        library: &headwater_engine::library::EMPTY,
    }
}

/// What a panel looks like at this size, line by line.
pub(crate) fn drawn(
    panel: &mut dyn Panel,
    snapshot: &Snapshot,
    palette: &Palette,
    width: u16,
    height: u16,
) -> String {
    let keys = keys();
    let view = live(snapshot, palette, &keys);
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    panel.draw(&view, buffer.area, &mut buffer);
    text_of(&buffer)
}

/// The text of a buffer, without blanks at the ends of its lines.
pub(crate) fn text_of(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = buffer.area;
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}
