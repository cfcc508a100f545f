//! Rows below the head that say when the screen does not show the present, and where a demo's numbers come from.

use headwater_engine::metric::Unit;
use headwater_engine::quantity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{Feed, Screen, Shown, head};
use crate::action::Action;
use crate::palette::ColorRole;

/// Below this height of the screen only what is not the present is said.
const LEAST_FOR_DEMO: u16 = 14;

/// Draws the rows at the top of an area on a screen of this height; returns how many rows it took.
pub(super) fn draw(screen: &Screen, shown: &Shown<'_>, height: u16, area: Rect, buffer: &mut Buffer) -> u16 {
    let mut rows = vec![];
    if height >= head::LEAST_HEIGHT {
        rows.extend(time(screen, shown).map(|text| (text, ColorRole::Banner)));
    }
    if height >= LEAST_FOR_DEMO {
        // What the head has no room to say whole.
        let demo = shown.status.demo.clone().filter(|_| head::demo(screen, shown, screen.area).is_none());
        rows.extend(demo.map(|text| (text, ColorRole::Label)));
    }
    // One row at least is left to the panel.
    rows.truncate(usize::from(area.height.saturating_sub(1)));
    for (y, (text, role)) in (area.y..).zip(&rows) {
        let style = shown.palette.style(*role);
        buffer.set_style(Rect { y, height: 1, ..area }, style);
        let (end, _) = buffer.set_stringn(area.x, y, text, usize::from(area.width), style);
        if end == area.right() && Span::raw(text.as_str()).width() > usize::from(area.width) {
            buffer[(end - 1, y)].set_symbol(shown.palette.glyphs.ellipsis());
        }
    }
    rows.len() as u16
}

/// What is not the present: gone back, frozen, or the end of a recording.
fn time(screen: &Screen, shown: &Shown<'_>) -> Option<String> {
    let key = |action| shown.keys.key_of(action);
    let Some(held) = screen.held() else {
        let Feed::Replay { is_over: true, .. } = shown.status.feed else { return None };
        let (back, quit) = (key(Action::Earlier), key(Action::Quit));
        return Some(format!("The recording ends here: press {back} to go back, {quit} to leave"));
    };
    let behind = quantity::show(shown.now.seconds_after(held.at).max(0.0).round(), Unit::Seconds);
    let at = held.at.clock();
    Some(if held.gone_back_from.is_some() {
        let (back, on, live) = (key(Action::Earlier), key(Action::Later), key(Action::Live));
        let play = match shown.status.is_replay() {
            true => format!("   {} play from here", key(Action::Freeze)),
            false => String::new(),
        };
        format!("GONE BACK to {at}, {behind} ago:   {back} {on} move   {live} return{play}")
    } else {
        let on = key(Action::Freeze);
        format!("FROZEN since {at}, {behind} ago; new data come in behind:   {on} go on")
    })
}
