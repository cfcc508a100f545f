//! The five signals: each with its value, its past, and how far from usual it is.

use std::time::Duration;

use headwater_engine::Snapshot;
use headwater_engine::metric::Bad;
use headwater_engine::quantity::show;
use headwater_engine::signal::Signal;
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use crate::changes::marks;
use crate::gauge::{multiple, value};
use crate::palette::{ColorRole, Palette};
use crate::time_bins::TimeBins;
use crate::title;

/// How many there are.
pub(super) const COUNT: u16 = 5;

/// The most rows that one signal takes; the last of several stays empty, so that curves do not touch.
const MOST_ROWS_EACH: u16 = 3;

/// How far back their curves go.
const SPAN: Duration = Duration::from_secs(300);

/// Widths of name, value, multiple and, where there is room for it, the usual value.
const NAME: u16 = 9;
const VALUE: u16 = 9;
const MULTIPLE: u16 = 5;
const USUAL: u16 = 16;

/// From this width on the usual value is shown.
const WITH_USUAL: u16 = 56;

/// A steady signal stays in the lower third of its cell, so that a rise can be seen.
const HEADROOM: f64 = 3.0;

/// Draws title and signals, one a row.
pub(super) fn draw(snapshot: &Snapshot, palette: &Palette, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    let minutes = SPAN.as_secs() / 60;
    title::draw("Five signals", &format!("{minutes} min"), palette, area, buffer);
    let (curve, bins) = curve(snapshot, Rect { height: 1.min(area.height), ..area });
    marks::draw(snapshot, |at| bins.place(at), palette, curve, buffer);
    let five = snapshot.signals.iter().filter(|signal| signal.row.is_one_of_five);
    let each = (area.height.saturating_sub(1) / COUNT).clamp(1, MOST_ROWS_EACH);
    let places = (area.top().saturating_add(1)..area.bottom()).step_by(usize::from(each));
    for (signal, y) in five.zip(places) {
        let row = Rect { y, height: (each - 1).max(1).min(area.bottom() - y), ..area };
        draw_one(signal, snapshot, palette, row, buffer);
    }
}

fn draw_one(signal: &Signal, snapshot: &Snapshot, palette: &Palette, row: Rect, buffer: &mut Buffer) {
    let mut left = row;
    let name = taken(&mut left, NAME + 1);
    put(signal.row.name, name, palette.style(ColorRole::Label), false, buffer);
    let is_known = signal.now.is_some();
    let times = multiple(signal);
    let role = match (is_known, times.is_empty()) {
        (false, _) => ColorRole::Unknown,
        (true, true) => ColorRole::Text,
        (true, false) => ColorRole::Heading,
    };
    if signal.trace.latest().is_none() {
        put(&format!("? {}", value(signal)), left, palette.style(role), false, buffer);
        return;
    }
    put(&value(signal), taken(&mut left, VALUE + 1), palette.style(role), false, buffer);
    if row.width >= WITH_USUAL {
        let usual =
            signal.usual.map_or(String::new(), |usual| format!("usual {}", show(usual, signal.row.unit)));
        put(&usual, last(&mut left, USUAL), palette.style(ColorRole::Faint), false, buffer);
    }
    put(&times, last(&mut left, MULTIPLE), palette.style(ColorRole::Guilty), true, buffer);
    let (curve, bins) = curve(snapshot, row);
    let values = bins.worst(&signal.trace, snapshot.at, signal.row.bad);
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let ceiling = match signal.row.bad {
        Bad::Low => highest.max(signal.usual.unwrap_or(0.0)),
        _ => highest.max(signal.usual.unwrap_or(0.0) * HEADROOM),
    };
    Sparkline::new(&values)
        .ceiling(ceiling)
        .glyphs(palette.glyphs)
        .style(palette.style(ColorRole::Trend))
        .render(curve, buffer);
}

/// Where the curve of a signal stands in its row, the same for all, and what its cells stand for.
fn curve(snapshot: &Snapshot, row: Rect) -> (Rect, TimeBins) {
    let mut left = row;
    taken(&mut left, NAME + 1);
    taken(&mut left, VALUE + 1);
    if row.width >= WITH_USUAL {
        last(&mut left, USUAL);
    }
    last(&mut left, MULTIPLE);
    let curve = Rect { width: left.width.saturating_sub(1), ..left };
    let from = snapshot.began.max(snapshot.at - SPAN);
    (curve, TimeBins::covering(from, snapshot.at, usize::from(curve.width)))
}

/// Cuts so many cells off the left of a row.
fn taken(left: &mut Rect, cells: u16) -> Rect {
    let width = cells.min(left.width);
    let part = Rect { width: width.saturating_sub(1), ..*left };
    *left = Rect { x: left.x + width, width: left.width - width, ..*left };
    part
}

/// Cuts so many cells off the right of a row.
fn last(left: &mut Rect, cells: u16) -> Rect {
    let width = cells.min(left.width);
    left.width -= width;
    Rect { x: left.right(), width, ..*left }
}

fn put(text: &str, cell: Rect, style: Style, is_right: bool, buffer: &mut Buffer) {
    let (room, wide) = (usize::from(cell.width), Span::raw(text).width());
    let indent = if is_right { room.saturating_sub(wide) } else { 0 };
    let x = cell.x + u16::try_from(indent).unwrap_or(0);
    if room > 0 {
        buffer.set_stringn(x, cell.y, text, room, style);
    }
}
