//! Depth, wait, latency and utilisation on one time axis.

use std::time::Duration;

use headwater_engine::metric::{Bad, GPU_UTILIZATION, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS, Unit};
use headwater_engine::quantity::show;
use headwater_engine::store::Trace;
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::row::{Line, busiest_gpu, served_by};
use crate::palette::ColorRole;
use crate::panel::View;
use crate::time_bins::TimeBins;
use crate::title;

/// Curves below each other.
pub(super) const ROWS: u16 = 6;

/// The time that is shown.
const SPAN: Duration = Duration::from_secs(600);

/// Cells of a curve's name, and of its greatest value.
const NAME: u16 = 10;
const PEAK: u16 = 12;

/// The values of a curve; a gap is a cell without one.
type Cells = Vec<Option<f64>>;

/// Draws the curves of one row, the newest at the right edge, each with its greatest value.
pub(super) fn draw(row: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let snapshot = view.snapshot;
    let width = area.width.saturating_sub(NAME + PEAK);
    let from = snapshot.began.max(snapshot.at - SPAN);
    let bins = TimeBins::covering(from, snapshot.at, usize::from(width));
    let aside = format!("{} a cell", show(bins.length_ms as f64 / 1_000.0, Unit::Seconds));
    title::draw(&format!("{} over time", row.name()), &aside, view.palette, area, buffer);
    let worst = |trace: Option<&Trace>| trace.map(|trace| bins.worst(trace, snapshot.at, Bad::High));
    let of = |metric| snapshot.history.trace(&row.subject, metric, None);
    let signal = |name: &str| {
        let signal = snapshot.signals.iter().find(|signal| signal.row.name == name)?;
        signal.trace.latest().and_then(|_| worst(Some(&signal.trace)))
    };
    let waiting = worst(of(QUEUE_WAITING));
    let done = snapshot.history.trace(&served_by(&row.subject), REQUESTS, None);
    let done = done.map(|trace| bins.worst(trace, snapshot.at, Bad::High));
    let wait = waiting.clone().zip(done).map(|(waiting, done)| {
        let each = waiting.into_iter().zip(done);
        each.map(|(waiting, done)| Some(waiting? / done.filter(|done| *done > 0.0)?)).collect()
    });
    let gpu = busiest_gpu(snapshot, &row.subject);
    let gpu = gpu.and_then(|gpu| worst(snapshot.history.trace(&gpu, GPU_UTILIZATION, None)));
    let curves: [(&str, Unit, Option<f64>, Option<Cells>); ROWS as usize] = [
        ("waiting", Unit::Count, None, waiting),
        ("wait", Unit::Seconds, None, wait),
        ("p99", Unit::Seconds, None, signal("p99")),
        ("TTFT p99", Unit::Seconds, None, signal("TTFT p99")),
        ("running", Unit::Count, None, worst(of(QUEUE_RUNNING))),
        ("GPU busy", Unit::Ratio, Some(1.0), gpu),
    ];
    for ((name, unit, ceiling, values), y) in curves.into_iter().zip(area.y + 1..area.bottom()) {
        let label = view.palette.style(ColorRole::Label);
        buffer.set_stringn(area.x, y, name, usize::from(area.width.min(NAME)), label);
        let (text, role) = match &values {
            None => ("? no source".to_owned(), ColorRole::Unknown),
            Some(values) => {
                let peak = values.iter().flatten().copied().reduce(f64::max);
                (peak.map_or(String::new(), |peak| format!("max {}", show(peak, unit))), ColorRole::Text)
            }
        };
        let x = area.x.saturating_add(NAME).min(area.right());
        let room = usize::from((area.right() - x).min(PEAK));
        buffer.set_stringn(x, y, &text, room, view.palette.style(role));
        let curve = Rect { x: area.right() - width.min(area.width), y, width, height: 1 };
        let values = values.unwrap_or_default();
        let highest = values.iter().flatten().copied().fold(0.0, f64::max);
        Sparkline::new(&values)
            .ceiling(ceiling.unwrap_or(highest))
            .glyphs(view.palette.glyphs)
            .style(view.palette.style(ColorRole::Trend))
            .render(curve, buffer);
    }
}
