//! Curves below each other on one time axis, each with its name and its greatest value.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::{Moment, Subject};
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::changes::marks;
use crate::palette::ColorRole;
use crate::panel::View;
use crate::time_bins::TimeBins;
use crate::title;

/// Cells of a curve's name, and of its greatest value.
const NAME: u16 = 10;
const PEAK: u16 = 12;

/// The values of a curve; a gap is a cell without one.
pub(crate) type Cells = Vec<Option<f64>>;

/// One curve.
pub(crate) struct Curve<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: Unit,
    /// The value at the top; the greatest of the curve where there is no natural one.
    pub(crate) ceiling: Option<f64>,
    /// Its cells; `None` where nobody tells.
    pub(crate) cells: Option<Cells>,
}

/// The cells that curves in an area of this width have, from a moment on.
pub(crate) fn bins(view: &View<'_>, from: Moment, width: u16) -> TimeBins {
    let places = usize::from(width.saturating_sub(NAME + PEAK));
    TimeBins::covering(view.snapshot.began.max(from), view.snapshot.at, places)
}

/// Draws a heading and the curves below it, the newest at the right edge, as many as there is room for.
pub(crate) fn draw(
    heading: &str,
    bins: &TimeBins,
    curves: &[Curve<'_>],
    view: &View<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let width = area.width.saturating_sub(NAME + PEAK);
    let aside = format!("{} a cell", show(bins.length_ms as f64 / 1_000.0, Unit::Seconds));
    title::draw(heading, &aside, view.palette, area, buffer);
    for (curve, y) in curves.iter().zip(area.y + 1..area.bottom()) {
        let label = view.palette.style(ColorRole::Label);
        buffer.set_stringn(area.x, y, curve.name, usize::from(area.width.min(NAME)), label);
        let values = curve.cells.as_deref().unwrap_or_default();
        let peak = values.iter().flatten().copied().reduce(f64::max);
        let (text, role) = match (&curve.cells, peak) {
            (None, _) => ("? no source".to_owned(), ColorRole::Unknown),
            (_, peak) => (
                peak.map_or(String::new(), |peak| format!("max {}", show(peak, curve.unit))),
                ColorRole::Text,
            ),
        };
        let x = area.x.saturating_add(NAME).min(area.right());
        let room = usize::from((area.right() - x).min(PEAK));
        buffer.set_stringn(x, y, &text, room, view.palette.style(role));
        let place = Rect { x: area.right() - width.min(area.width), y, width, height: 1 };
        Sparkline::new(values)
            .ceiling(curve.ceiling.or(peak).unwrap_or(0.0))
            .glyphs(view.palette.glyphs)
            .style(view.palette.style(ColorRole::Trend))
            .render(place, buffer);
    }
}

/// Draws what happened meanwhile below so many curves of a GPU, where there is room and anything did: changes, and its errors.
pub(crate) fn draw_marks(
    (bins, curves): (&TimeBins, usize),
    gpu: &Subject,
    view: &View<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = area.intersection(buffer.area);
    let y = area.y.saturating_add(u16::try_from(curves).unwrap_or(u16::MAX)).saturating_add(1);
    let seen = || marks::of_gpu(view.snapshot, gpu).filter(|(at, ..)| bins.place(*at).is_some());
    let has = |wanted: &str| seen().any(|(_, sign, _)| sign == wanted);
    let told = [(marks::GLYPH, "change"), (marks::ERROR, "XID")].into_iter().filter(|(sign, _)| has(sign));
    let told: Vec<String> = told.map(|(sign, word)| format!("{sign} {word}")).collect();
    if y >= area.bottom() || told.is_empty() {
        return;
    }
    let (label, text) = (view.palette.style(ColorRole::Label), view.palette.style(ColorRole::Text));
    buffer.set_stringn(area.x, y, "events", usize::from(area.width.min(NAME)), label);
    let x = area.x.saturating_add(NAME).min(area.right());
    buffer.set_stringn(x, y, told.join(" "), usize::from((area.right() - x).min(PEAK)), text);
    let width = area.width.saturating_sub(NAME + PEAK);
    let row = Rect { x: area.right() - width, y, width, height: 1 };
    marks::put(seen(), |at| bins.place(at), view.palette, row, buffer);
}
