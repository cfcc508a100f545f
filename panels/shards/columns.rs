//! The columns of shards and of nodes.

use std::borrow::Cow;

use headwater_engine::filter::{FieldKind, FieldRow};
use headwater_engine::metric::{
    Metric, REDIS_ANSWER_TIME, REDIS_CLIENTS, REDIS_COMMANDS, REDIS_CPU, REDIS_EXEC, REDIS_KEYS,
    REDIS_MEMORY, REDIS_NET_IN, REDIS_NET_OUT, REDIS_SLOW, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::reading::NodeHealth;
use headwater_engine::wording::verdict_word;
use headwater_widgets::HeatStrip;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::lens::LENSES;
use super::line::{Line, NAME_ROOM};
use crate::data_state::DataState;
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::table::{Cell, Column, Width};

/// The name of the column with the strips.
pub(super) const STRIP: &str = "strip";

/// What a row of a shard shows.
pub(super) static SHARDS: &[Column<Line>] = &[
    VERDICT,
    Column {
        title: "shard",
        width: Width::Cells(12),
        ..named("shard", "deployment and number of the shard")
    },
    Column { rank: 4, ..ADDRESS },
    OVER_TIME,
    ANSWER,
    LINK,
    CPU,
    OUT,
    IN,
    OPS,
    SLOW,
    MEMORY,
    CLIENTS,
    KEYS,
    DATA,
];

/// What a row of a node shows; verdicts are on shards.
pub(super) static NODES: &[Column<Line>] = &[
    Column { title: "node", width: Width::Cells(7), ..named("role", "primary or replica") },
    ADDRESS,
    OVER_TIME,
    ANSWER,
    LINK,
    CPU,
    OUT,
    IN,
    OPS,
    SLOW,
    MEMORY,
    CLIENTS,
    KEYS,
    DATA,
];

const VERDICT: Column<Line> = Column {
    field: FieldRow { name: "verdict", kind: FieldKind::Text, help: "guilty, suspect, unknown or innocent" },
    title: "verdict",
    width: Width::Cells(10),
    rank: 0,
    cell: |line| {
        let verdict = line.verdict();
        let shown = format!("{} {}", glyph_of(verdict), verdict_word(verdict));
        Cell::text(verdict_word(verdict)).shown(shown).colored(role_of(verdict)).ranked(verdict as u8)
    },
    draw: None,
};

const fn named(name: &'static str, help: &'static str) -> Column<Line> {
    Column {
        field: FieldRow { name, kind: FieldKind::Text, help },
        title: name,
        width: Width::Cells(12),
        rank: 0,
        cell: |line| {
            let cell = Cell::text(line.name());
            if let Some(room) = line.narrow {
                let (sign, role) = (glyph_of(line.verdict()), role_of(line.verdict()));
                return cell
                    .shown(format!("{sign} {}", line.shown_name(room.saturating_sub(2))))
                    .colored(role);
            }
            let cell = cell.shown(line.shown_name(NAME_ROOM));
            if line.is_marked { cell.colored(ColorRole::Mark) } else { cell }
        },
        draw: None,
    }
}

const ADDRESS: Column<Line> = Column {
    field: FieldRow {
        name: "address",
        kind: FieldKind::Text,
        help: "address of the node; of a shard, of its primary",
    },
    title: "address",
    width: Width::Cells(16),
    rank: 0,
    cell: |line| match line.address() {
        "" => Cell::text("").shown("no primary").colored(ColorRole::Unknown),
        address => Cell::name(address),
    },
    draw: None,
};

const OVER_TIME: Column<Line> = Column {
    field: FieldRow {
        name: STRIP,
        kind: FieldKind::Text,
        help: "the chosen number over time; for filters its name",
    },
    title: "over time",
    width: Width::Rest(10),
    rank: 1,
    cell: |line| Cell::text(line.strip.lens.name),
    draw: Some(draw_strip),
};

/// Draws the strip of a row.
pub(super) fn draw_strip(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let full = line.strip.full;
    let cells = line.cells(view.snapshot).into_iter().map(|cell| cell.map(|value| value / full));
    let cells: Vec<Option<f64>> = cells.collect();
    HeatStrip::new(&cells).glyphs(view.palette.glyphs).styles(view.palette.heat()).render(area, buffer);
}

const ANSWER: Column<Line> = Column {
    field: FieldRow {
        name: "answer",
        kind: FieldKind::Number(Unit::Seconds),
        help: "our own time to an INFO reply",
    },
    title: "answer",
    width: Width::Cells(7),
    rank: 1,
    cell: |line| number(line, |value| value(REDIS_ANSWER_TIME), Unit::Seconds),
    draw: None,
};

const LINK: Column<Line> = Column {
    field: FieldRow {
        name: "link",
        kind: FieldKind::Number(Unit::Ratio),
        help: "the greater of bytes in and out, replication included, as a share of the declared link",
    },
    title: "link",
    width: Width::Cells(6),
    rank: 2,
    cell: |line| match line.through(&LENSES[0]) {
        None => stale(line, line.last_through(&LENSES[0]), Unit::Ratio),
        some => Cell::number(some),
    },
    draw: None,
};

const CPU: Column<Line> = Column {
    field: FieldRow {
        name: "cpu",
        kind: FieldKind::Number(Unit::Ratio),
        help: "the greater of the main thread's CPU and its time executing commands",
    },
    title: "CPU",
    width: Width::Cells(6),
    rank: 2,
    cell: |line| {
        let busy = |value: &dyn Fn(Metric) -> Option<f64>| {
            value(REDIS_CPU).into_iter().chain(value(REDIS_EXEC)).reduce(f64::max)
        };
        number(line, busy, Unit::Ratio)
    },
    draw: None,
};

const OUT: Column<Line> =
    level("out", "out", 3, 9, Unit::BytesPerSecond, "bytes to clients a second", |line| {
        number(line, |value| value(REDIS_NET_OUT), Unit::BytesPerSecond)
    });
const IN: Column<Line> =
    level("in", "in", 6, 9, Unit::BytesPerSecond, "bytes from clients a second", |line| {
        number(line, |value| value(REDIS_NET_IN), Unit::BytesPerSecond)
    });
const OPS: Column<Line> = level("ops", "ops", 5, 7, Unit::PerSecond, "commands a second", |line| {
    number(line, |value| value(REDIS_COMMANDS), Unit::PerSecond)
});
const SLOW: Column<Line> = level(
    "slow",
    "slow",
    5,
    6,
    Unit::PerSecond,
    "new entries of its slow log a second, without our own and administrators'",
    |line| number(line, |value| value(REDIS_SLOW), Unit::PerSecond),
);
const MEMORY: Column<Line> = level("memory", "memory", 7, 7, Unit::Bytes, "bytes allocated", |line| {
    number(line, |value| value(REDIS_MEMORY), Unit::Bytes)
});
const CLIENTS: Column<Line> = level("clients", "clients", 8, 7, Unit::Count, "client connections", |line| {
    number(line, |value| value(REDIS_CLIENTS), Unit::Count)
});
const KEYS: Column<Line> = level("keys", "keys", 8, 7, Unit::Count, "keys in all databases", |line| {
    number(line, |value| value(REDIS_KEYS), Unit::Count)
});

const fn level(
    name: &'static str,
    title: &'static str,
    rank: u8,
    cells: u16,
    unit: Unit,
    help: &'static str,
    cell: fn(&Line) -> Cell<'_>,
) -> Column<Line> {
    Column {
        field: FieldRow { name, kind: FieldKind::Number(unit), help },
        title,
        width: Width::Cells(cells),
        rank,
        cell,
        draw: None,
    }
}

const DATA: Column<Line> = Column {
    field: FieldRow {
        name: "data",
        kind: FieldKind::Text,
        help: "whether its numbers are fresh, late or old, or why there are none",
    },
    title: "data",
    width: Width::Cells(9),
    rank: 1,
    cell: |line| {
        let (words, role) = data_words(line);
        Cell::text(words).colored(role)
    },
    draw: None,
};

/// How a row's data stands; what the cluster says of the node comes before a fresh answer.
pub(super) fn data_words(line: &Line) -> (Cow<'static, str>, ColorRole) {
    let health = match line.health {
        Some(NodeHealth::Loading) => Some("loading"),
        Some(NodeHealth::Suspected) => Some("suspected"),
        Some(NodeHealth::Failed) => Some("failed"),
        _ => None,
    };
    let data = line.data();
    match health.filter(|_| data.is_present()) {
        Some(word) => (word.into(), ColorRole::Suspect),
        None => (data.words(), data.role()),
    }
}

/// A present number; else the last one in the colour of what is old, when the row says how old.
fn number<'a>(
    line: &Line,
    of: impl Fn(&dyn Fn(Metric) -> Option<f64>) -> Option<f64>,
    unit: Unit,
) -> Cell<'a> {
    match of(&line.present()) {
        None => {
            let seen = line.seen();
            stale(line, of(&|metric| seen(metric).map(|seen| seen.value)), unit)
        }
        some => Cell::number(some),
    }
}

/// A number that is not what is going on now: no filter and no order takes it for one. A dash where the row does not
/// say how old it is, as that of a node that refuses: nobody should take its last numbers for present ones.
fn stale<'a>(line: &Line, last: Option<f64>, unit: Unit) -> Cell<'a> {
    let cell = Cell::number(None).colored(ColorRole::Stale);
    match last.filter(|_| matches!(line.data(), DataState::Stale(_))) {
        Some(last) => cell.shown(show(last, unit)),
        None => cell,
    }
}
