//! How long keys still have to live, drawn: a column a span of time.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::expiry::samples;
use super::pane::Looked;
use crate::palette::ColorRole;

/// Keys of all samples by how long they still have to live; where no sample tells that, by the seconds in which most
/// expire.
pub(super) fn draw(looked: &Looked<'_>, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.height < 2 || area.width == 0 {
        return;
    }
    let columns = columns(looked);
    if columns.is_empty() {
        return draw_seconds(looked, area, buffer);
    }
    let palette = looked.view.palette;
    let ceiling = columns.iter().map(|(_, keys)| *keys).fold(1.0, f64::max);
    let wide = (area.width / u16::try_from(columns.len()).unwrap_or(u16::MAX)).max(1);
    for (place, (label, keys)) in (0_u16..).zip(&columns) {
        let x = area.x.saturating_add(place.saturating_mul(wide));
        let column = Rect { x, width: wide, ..area }.intersection(area);
        let Some(room) = column.width.checked_sub(1).filter(|room| *room > 0) else { return };
        let values = vec![Some(*keys); usize::from(room)];
        let bar = Rect { width: room, height: column.height - 1, ..column };
        Sparkline::new(&values)
            .ceiling(ceiling)
            .glyphs(palette.glyphs)
            .style(palette.style(ColorRole::Trend))
            .render(bar, buffer);
        let faint = palette.style(ColorRole::Faint);
        buffer.set_stringn(column.x, column.bottom() - 1, label, usize::from(room), faint);
    }
}

/// The spans of all samples together, and the keys that never expire.
fn columns(looked: &Looked<'_>) -> Vec<(String, f64)> {
    let mut spans: Vec<(Option<u64>, u64)> = vec![];
    let mut without = 0;
    for (_, expiries) in samples(looked).filter(|(_, expiries)| !expiries.spans.is_empty()) {
        without += expiries.without;
        for span in &expiries.spans {
            match spans.iter_mut().find(|(within, _)| *within == span.within_s) {
                Some((_, keys)) => *keys += span.keys,
                None => spans.push((span.within_s, span.keys)),
            }
        }
    }
    if spans.is_empty() {
        return vec![];
    }
    // What has no end comes last.
    spans.sort_by_key(|(within, _)| within.unwrap_or(u64::MAX));
    let label =
        |within: Option<u64>| within.map_or_else(|| "more".to_owned(), |end| show(end as f64, Unit::Seconds));
    let told = spans.into_iter().map(|(within, keys)| (label(within), keys as f64));
    told.chain([("never".to_owned(), without as f64)]).collect()
}

/// Keys that expire over time, of all samples together, from the first second to the last.
fn draw_seconds(looked: &Looked<'_>, area: Rect, buffer: &mut Buffer) {
    let seconds = || samples(looked).flat_map(|(_, expiries)| &expiries.seconds);
    let Some((first, last)) =
        seconds().map(|second| second.at).min().zip(seconds().map(|second| second.at).max())
    else {
        return;
    };
    let width = usize::from(area.width);
    let span_ms = (last.0 - first.0).max(1_000) as f64;
    let mut cells = vec![None::<f64>; width];
    for second in seconds() {
        let place = (second.at.0 - first.0) as f64 / span_ms * (width - 1) as f64;
        if let Some(cell) = cells.get_mut(place as usize) {
            *cell = Some(cell.unwrap_or(0.0) + second.keys as f64);
        }
    }
    let palette = looked.view.palette;
    let curve = Rect { height: area.height - 1, ..area };
    Sparkline::new(&cells)
        .glyphs(palette.glyphs)
        .style(palette.style(ColorRole::Trend))
        .render(curve, buffer);
    let faint = palette.style(ColorRole::Faint);
    let y = area.bottom() - 1;
    buffer.set_stringn(area.x, y, first.clock(), width, faint);
    let end = last.clock();
    if let Some(x) = area.right().checked_sub(end.len() as u16).filter(|x| *x > area.x + 9) {
        buffer.set_stringn(x, y, end, width, faint);
    }
}
