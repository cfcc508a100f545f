//! Depth, wait, latency and utilisation on one time axis.

use std::time::Duration;

use headwater_engine::metric::{
    Bad, GPU_UTILIZATION, QUEUE_REJECTED, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS, Unit,
};
use headwater_engine::queues::wait_s;
use headwater_engine::store::Trace;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::row::{Line, served_by};
use crate::curves::{self, Cells, Curve};
use crate::panel::View;

/// Curves below each other.
pub(super) const ROWS: u16 = 6;

/// The time that is shown.
const SPAN: Duration = Duration::from_secs(600);

/// Draws the curves of one row, the newest at the right edge, each with its greatest value.
pub(super) fn draw(row: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let snapshot = view.snapshot;
    let bins = curves::bins(view, snapshot.at - SPAN, area.width);
    let worst = |trace: Option<&Trace>| trace.map(|trace| bins.worst(trace, snapshot.at, Bad::High));
    let of = |metric| snapshot.history.trace(&row.subject, metric, None);
    let signal = |name: &str| {
        let signal = snapshot.signals.iter().find(|signal| signal.row.name == name)?;
        signal.trace.latest().and_then(|_| worst(Some(&signal.trace)))
    };
    let waiting = worst(of(QUEUE_WAITING));
    let done = worst(snapshot.history.trace(&served_by(&row.subject), REQUESTS, None));
    let refused = worst(of(QUEUE_REJECTED)).unwrap_or_default();
    let wait = waiting.clone().zip(done).map(|(waiting, done)| {
        let refused = refused.into_iter().map(|refused| refused.unwrap_or(0.0)).chain(std::iter::repeat(0.0));
        let each = waiting.into_iter().zip(done).zip(refused);
        each.map(|((waiting, done), refused)| Some(wait_s(waiting?, done? - refused))).collect()
    });
    let gpu = snapshot.busiest_accelerator(&row.subject);
    let gpu = gpu.and_then(|(gpu, _)| worst(snapshot.history.trace(&gpu, GPU_UTILIZATION, None)));
    let rows: [(&str, Unit, Option<f64>, Option<Cells>); ROWS as usize] = [
        ("waiting", Unit::Count, None, waiting),
        ("wait", Unit::Seconds, None, wait),
        ("p99", Unit::Seconds, None, signal("p99")),
        ("TTFT p99", Unit::Seconds, None, signal("TTFT p99")),
        ("running", Unit::Count, None, worst(of(QUEUE_RUNNING))),
        ("GPU busy", Unit::Ratio, Some(1.0), gpu),
    ];
    let rows = rows.map(|(name, unit, ceiling, cells)| Curve { name, unit, ceiling, cells });
    curves::draw(&format!("{} over time", row.name()), &bins, &rows, view, area, buffer);
}
