//! The columns of GPUs.

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{foreseen_s, show};
use headwater_engine::xid;
use headwater_widgets::HeatStrip;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::errors::Shown;
use super::row::Line;
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::table::{Cell, Column, Width, number, text};

/// The name of the column that takes what the others leave, and the cells of the other strips.
pub(super) const BUSY_STRIP: &str = "busy-over-time";
pub(super) const SHORT_STRIP: u16 = 12;

/// Share of the time held down from which it is worth a colour.
const HELD: f64 = 0.1;

fn draw(cells: &[Option<f64>], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    HeatStrip::new(cells).glyphs(view.palette.glyphs).styles(view.palette.heat()).render(area, buffer);
}

fn draw_busy(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    draw(&line.busy_strip, view, area, buffer);
}

fn draw_memory(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    draw(&line.memory_strip, view, area, buffer);
}

fn draw_held(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    draw(&line.held_strip, view, area, buffer);
}

const fn strip(
    name: &'static str,
    title: &'static str,
    help: &'static str,
    width: Width,
    rank: u8,
    draw: crate::table::DrawCell<Line>,
) -> Column<Line> {
    let field = FieldRow { name, kind: FieldKind::Text, help };
    Column { field, title, width, rank, cell: |_| Cell::text(""), draw: Some(draw) }
}

/// What a row shows.
pub(super) static COLUMNS: &[Column<Line>] = &[
    text(
        "gpu",
        "the GPU: machine and number, or the instance that tells of it",
        Width::Cells(24),
        0,
        |line| {
            let shown = format!("{} {}", glyph_of(line.verdict), line.name());
            Cell::text(line.id.as_str()).shown(shown).colored(role_of(line.verdict))
        },
    ),
    number("busy", Unit::Ratio, "share of time with a kernel running: not how much it did", 6, 0, |line| {
        let cell = Cell::number(line.busy);
        if line.is_lost { cell.shown("lost").colored(ColorRole::Suspect) } else { cell }
    }),
    number("memory", Unit::Ratio, "share of its memory in use", 6, 0, |line| {
        let role = if line.is_full() || line.leaks() { ColorRole::Suspect } else { ColorRole::Text };
        Cell::number(line.share()).colored(role)
    }),
    number("full-in", Unit::Seconds, "time until its memory is full, where it grows", 8, 1, |line| {
        let seconds = line.full_in_s();
        let cell = Cell::number(seconds).colored(ColorRole::Suspect);
        match (line.is_full(), seconds) {
            (true, _) => cell.shown("full"),
            (false, Some(seconds)) => cell.shown(show(foreseen_s(seconds), Unit::Seconds)),
            (false, None) => cell,
        }
    }),
    number("launch", Unit::Seconds, "time from asking for a kernel to its start", 8, 1, |line| {
        Cell::number(line.launch.map(|launch| launch.now_s))
    }),
    text("xid", "the last error that the driver logged, and whom it hits", Width::Cells(5), 2, |line| {
        match line.xid {
            None => Cell::text("").shown("-"),
            Some(Shown { code, .. }) if code < 1.0 => Cell::text("none"),
            Some(Shown { code, is_past }) => {
                let hits_nobody = xid::by_code(code as u32).is_some_and(|row| row.hits == xid::Hits::Nobody);
                let role = match (is_past, hits_nobody) {
                    (true, _) => ColorRole::Faint,
                    (false, true) => ColorRole::Text,
                    (false, false) => ColorRole::Suspect,
                };
                Cell::text(format!("{code:.0}")).colored(role)
            }
        }
    }),
    number("held", Unit::Ratio, "share of time in which something holds its clocks down", 6, 3, |line| {
        let share = line.held.as_ref().map(|(_, share)| *share);
        let is_much = share.is_some_and(|share| share >= HELD);
        Cell::number(share).colored(if is_much { ColorRole::Suspect } else { ColorRole::Text })
    }),
    number("clock", Unit::Hertz, "clock of its multiprocessors", 9, 4, |line| Cell::number(line.clock)),
    number("temp", Unit::Celsius, "temperature of the chip", 6, 5, |line| Cell::number(line.temperature)),
    number("power", Unit::Watts, "power drawn", 6, 6, |line| Cell::number(line.power)),
    strip(
        "memory-over-time",
        "memory then",
        "its memory in use over time",
        Width::Cells(SHORT_STRIP),
        7,
        draw_memory,
    ),
    strip(
        "held-over-time",
        "held then",
        "how much of the time it was held down, over time",
        Width::Cells(SHORT_STRIP),
        8,
        draw_held,
    ),
    strip(BUSY_STRIP, "busy then", "how busy it was over time", Width::Rest(8), 4, draw_busy),
];
