//! The columns of instances.

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::histogram::Percentile;
use headwater_engine::metric::Unit;
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::row::{Kept, Line, shown};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::table::{Cell, Column, Width, number, text};

fn percentile(line: &Line, q: f64) -> Cell<'_> {
    shown_as(line.percentile(q))
}

fn shown_as<'a>(value: Option<Percentile>) -> Cell<'a> {
    let cell = Cell::number(value.map(|value| value.number()));
    value.map_or(cell.clone(), |value| cell.shown(shown(value)))
}

fn draw_curve(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(measure) = line.measure else { return };
    let cells = usize::from(area.width);
    let values = line.with_cells(measure, view.snapshot, cells, |cells| cells.curve(line, view.snapshot));
    Sparkline::new(&values)
        .glyphs(view.palette.glyphs)
        .style(view.palette.style(ColorRole::Trend))
        .render(area, buffer);
}

/// What a row shows.
pub(super) static COLUMNS: &[Column<Line>] = &[
    text("instance", "the instance, or all of a service together", Width::Rest(16), 0, |line| {
        let shown = format!("{} {}", glyph_of(line.verdict), line.name());
        Cell::name(line.id.as_str()).shown(shown).colored(role_of(line.verdict))
    }),
    text(
        "of",
        "TTFT: time to the first token; model and request: of a whole one, where the page tells no TTFT",
        Width::Cells(9),
        0,
        |line| {
            let is_less = line.kept != Kept::Buckets;
            Cell::text(line.word()).colored(if is_less { ColorRole::Unknown } else { ColorRole::Text })
        },
    ),
    number("p50", Unit::Seconds, "half of the requests wait at most this long", 9, 1, |line| {
        percentile(line, 0.5)
    }),
    number("p90", Unit::Seconds, "nine of ten wait at most this long", 9, 2, |line| percentile(line, 0.9)),
    number("p99", Unit::Seconds, "all but one of a hundred wait at most this long", 9, 0, |line| {
        percentile(line, 0.99)
    }),
    number(
        "whole",
        Unit::Seconds,
        "the same of whole requests at the same instance, refused and given-up ones included, where its page tells them too",
        9,
        2,
        |line| shown_as(line.whole),
    ),
    number(
        "mean",
        Unit::Seconds,
        "the mean, which hides the slow ones; all that there is without buckets",
        8,
        3,
        |line| Cell::number(line.mean),
    ),
    number(
        "probed",
        Unit::Seconds,
        "what our own small completion waited for its first token, way included",
        8,
        1,
        |line| Cell::number(line.probed.map(|probed| probed.value)),
    ),
    number("done", Unit::PerSecond, "requests a second that are counted here", 8, 4, |line| {
        Cell::number(line.spread.as_ref().map(|spread| spread.rate()))
    }),
    number("over", Unit::Seconds, "the span that the percentiles are of", 6, 5, |line| {
        Cell::number(line.spread.as_ref().map(|spread| spread.over.as_secs_f64()))
    }),
    number(
        "max",
        Unit::Seconds,
        "the longest in the last minutes, where the server keeps it",
        8,
        7,
        |line| Cell::number(line.max),
    ),
    Column {
        field: FieldRow {
            name: "over-time",
            kind: FieldKind::Text,
            help: "p90 over time, or the mean where there are no buckets; each row on a scale of its own",
        },
        title: "p90 over time",
        width: Width::Cells(20),
        rank: 6,
        cell: |_| Cell::text(""),
        draw: Some(draw_curve),
    },
];
