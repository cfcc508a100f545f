//! What is offered over time, beside what was wanted and what ended well, on one scale.

use headwater_engine::metric::{Bad, Unit};
use headwater_engine::quantity::show;
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::asked::{Asked, Sum};
use crate::changes::marks;
use crate::palette::ColorRole;
use crate::panel::View;
use crate::time_bins::TimeBins;
use crate::title;

/// How far back the curves go, in seconds.
const SPAN_S: u64 = 300;

/// Cells of a curve's name and of its present value.
const NAME: u16 = 10;
const VALUE: u16 = 9;

/// Below this width there is no room for a curve beside both.
const LEAST_WIDTH: u16 = NAME + VALUE + 10;

/// Rows of a title with its curves.
const ROWS: u16 = 4;

/// Draws the curves of as many callers as there is room for; returns how many rows were taken.
pub(super) fn draw(view: &View<'_>, asked: &[Asked], area: Rect, buffer: &mut Buffer) -> u16 {
    if area.width < LEAST_WIDTH {
        return 0;
    }
    let mut taken = 0;
    for asked in asked {
        if area.height - taken < ROWS {
            break;
        }
        draw_one(view, asked, Rect { y: area.y + taken, height: ROWS, ..area }, buffer);
        taken += ROWS;
    }
    taken
}

fn draw_one(view: &View<'_>, asked: &Asked, area: Rect, buffer: &mut Buffer) {
    let (snapshot, palette) = (view.snapshot, view.palette);
    let curve = Rect { x: area.x + NAME + VALUE, width: area.width - NAME - VALUE, ..area };
    let from = snapshot.began.max(snapshot.at - std::time::Duration::from_secs(SPAN_S));
    let bins = TimeBins::covering(from, snapshot.at, usize::from(curve.width));
    let lines = [
        ("attempts", asked.counting.attempts, asked.attempts),
        ("originals", asked.counting.originals, Some(asked.originals)),
        ("goodput", asked.counting.goodput, asked.goodput),
    ];
    let values = lines.map(|(_, sum, _)| cells(snapshot, &asked.subject, sum, &bins));
    let ceiling = values.iter().flatten().flatten().copied().fold(1.0, f64::max);
    title::draw(
        &format!("{} a second", asked.subject),
        &format!("{} min", SPAN_S / 60),
        palette,
        area,
        buffer,
    );
    marks::draw(snapshot, |at| bins.place(at), palette, Rect { height: 1, ..curve }, buffer);
    for (place, ((name, _, now), values)) in lines.iter().zip(&values).enumerate() {
        let y = area.y + 1 + u16::try_from(place).unwrap_or(0);
        buffer.set_stringn(area.x, y, *name, usize::from(NAME) - 1, palette.style(ColorRole::Label));
        let (text, role) = match now {
            Some(now) => (show(*now, Unit::PerSecond), ColorRole::Text),
            None => ("? unseen".to_owned(), ColorRole::Unknown),
        };
        buffer.set_stringn(area.x + NAME, y, text, usize::from(VALUE) - 1, palette.style(role));
        Sparkline::new(values)
            .ceiling(ceiling)
            .glyphs(palette.glyphs)
            .style(palette.style(ColorRole::Trend))
            .render(Rect { y, height: 1, ..curve }, buffer);
    }
}

/// A sum over time: the most of each series in each cell.
fn cells(snapshot: &Snapshot, subject: &Subject, sum: Sum, bins: &TimeBins) -> Vec<Option<f64>> {
    let mut cells: Vec<Option<f64>> = vec![None; bins.count];
    for by in snapshot.history.parts(subject) {
        for (name, _, trace) in snapshot.history.traces(by) {
            let Some((sign, _)) = sum.iter().find(|(_, metric)| *name == (*metric).into()) else { continue };
            for (cell, value) in cells.iter_mut().zip(bins.worst(trace, snapshot.at, Bad::High)) {
                if let Some(value) = value {
                    *cell = Some(cell.unwrap_or(0.0) + sign * value);
                }
            }
        }
    }
    cells.into_iter().map(|cell| cell.map(|value| value.max(0.0))).collect()
}
