//! The columns of upstreams.

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::Unit;
use headwater_widgets::HeatStrip;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::upstream::{Line, MANY_ERRORS};
use crate::palette::ColorRole;
use crate::panel::View;
use crate::table::{Cell, Column, Width, number, text};

/// The name of the column with the strips.
pub(super) const STRIP: &str = "out-over-time";

fn draw_strip(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    HeatStrip::new(&line.strip).glyphs(view.palette.glyphs).styles(view.palette.heat()).render(area, buffer);
}

/// What a row shows.
pub(super) static COLUMNS: &[Column<Line>] = &[
    text("state", "out, unready, failing, unseen or well", Width::Cells(9), 0, |line| {
        let state = line.state();
        let shown = format!("{} {}", state.glyph(), state.word());
        Cell::text(state.word()).shown(shown).colored(state.role()).ranked(state as u8)
    }),
    text(
        "upstream",
        "a cluster, a pool or an address, as the gateway names it",
        Width::Cells(20),
        0,
        |line| Cell::name(line.name.as_str()),
    ),
    text("gateway", "the gateway that tells it", Width::Cells(16), 7, |line| {
        Cell::name(line.gateway.as_str())
    }),
    number("attempts", Unit::PerSecond, "attempts a second", 8, 1, |line| Cell::number(line.requests)),
    number("errors", Unit::Ratio, "share of attempts that fail", 7, 1, |line| {
        let ratio = line.error_ratio();
        let is_bad = ratio.is_some_and(|ratio| ratio >= MANY_ERRORS);
        Cell::number(ratio).colored(if is_bad { ColorRole::Suspect } else { ColorRole::Text })
    }),
    number(
        "p99",
        Unit::Seconds,
        "99th percentile of the last minute, where there are buckets",
        8,
        2,
        |line| Cell::number(line.p99),
    ),
    number("mean", Unit::Seconds, "mean time of an attempt", 8, 2, |line| Cell::number(line.mean)),
    number("retries", Unit::PerSecond, "attempts that repeat a failed one", 8, 3, |line| {
        Cell::number(line.retries)
    }),
    number("active", Unit::Count, "attempts under way", 7, 4, |line| Cell::number(line.active)),
    number("pending", Unit::Count, "requests that wait for a connection", 8, 6, |line| {
        Cell::number(line.pending)
    }),
    number("out", Unit::Count, "members that are taken out", 4, 3, |line| Cell::number(line.out)),
    number("timeout", Unit::Seconds, "how long the gateway waits for it", 8, 5, |line| {
        Cell::number(line.timeout)
    }),
    Column {
        field: FieldRow {
            name: STRIP,
            kind: FieldKind::Text,
            help: "how many were taken out, or whether the readiness check failed, over time",
        },
        title: "out over time",
        width: Width::Rest(10),
        rank: 4,
        cell: |_| Cell::text(""),
        draw: Some(draw_strip),
    },
];
