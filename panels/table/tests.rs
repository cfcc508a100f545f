use headwater_engine::filter::FieldKind;
use headwater_engine::metric::Unit;
use headwater_engine::report::{Conclusion, Cost, Report, SCHEMA, Shape, ShapeKind};
use headwater_engine::{Moment, Snapshot};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;

use super::*;
use crate::keys::Keymap;
use crate::palette::Palette;
use crate::panel::View;

struct Line {
    id: &'static str,
    group: usize,
    value: Option<f64>,
}

impl Row for Line {
    fn id(&self) -> &str {
        self.id
    }

    fn group(&self) -> usize {
        self.group
    }
}

const COLUMNS_OF: [Column<Line>; 3] = [
    Column {
        field: FieldRow { name: "name", kind: FieldKind::Text, help: "its name" },
        title: "name",
        width: Width::Cells(4),
        rank: 0,
        cell: |line| Cell::text(line.id),
        draw: None,
    },
    Column {
        field: FieldRow { name: "share", kind: FieldKind::Number(Unit::Ratio), help: "its share" },
        title: "share",
        width: Width::Cells(6),
        rank: 1,
        cell: |line| Cell::number(line.value),
        draw: None,
    },
    Column {
        field: FieldRow { name: "more", kind: FieldKind::Text, help: "more" },
        title: "more",
        width: Width::Rest(4),
        rank: 2,
        cell: |_| Cell::text("xyz"),
        draw: None,
    },
];

static COLUMNS: &[Column<Line>] = &COLUMNS_OF;

const ROWS: [Line; 4] = [
    Line { id: "a", group: 0, value: Some(0.1) },
    Line { id: "b", group: 0, value: None },
    Line { id: "c", group: 0, value: Some(0.9) },
    Line { id: "d", group: 1, value: Some(1.0) },
];

fn drawn(table: &mut Table<Line>, width: u16, height: u16) -> Vec<String> {
    drawn_of(table, &ROWS, width, height)
}

fn drawn_of(table: &mut Table<Line>, rows: &[Line], width: u16, height: u16) -> Vec<String> {
    let report = Report {
        schema: SCHEMA,
        name: "test".into(),
        at: Moment(0),
        conclusion: Conclusion::Clear,
        shape: Shape { kind: ShapeKind::Calm, sentence: String::new() },
        symptom: None,
        verdicts: vec![],
        suspects: vec![],
        chain: vec![],
        exonerated: vec![],
        unknown: vec![],
        next_step: String::new(),
        cost: Cost::default(),
        breakdown: None,
        loops: vec![],
        history: vec![],
        notes: vec![],
    };
    let snapshot = Snapshot::of(report);
    let (palette, keys) = (Palette::mono(Glyphs::Ascii), Keymap::default());
    let view = View {
        snapshot: &snapshot,
        now: Moment(0),
        palette: &palette,
        keys: &keys,
        is_replay: false,
        library: &headwater_engine::library::EMPTY,
    };
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    table.draw(rows, &view, buffer.area, &mut buffer);
    (0..height)
        .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned())
        .collect()
}

fn ids(table: &Table<Line>) -> String {
    table.arranged(&ROWS).iter().map(|row| row.id).collect()
}

#[test]
fn the_worst_comes_first_within_its_group_and_what_nobody_knows_last() {
    let mut table = Table::new(COLUMNS);
    assert_eq!(ids(&table), "abcd");
    table.act(Action::Sort, &ROWS);
    table.act(Action::Sort, &ROWS);
    assert_eq!((ids(&table), table.order_words()), ("cabd".into(), Some("sorted by share".into())));
    table.act(Action::Reverse, &ROWS);
    assert_eq!(ids(&table), "bacd");
    assert_eq!(drawn(&mut table, 11, 3), ["name share^", "b         -", "a      10 %"]);
}

#[test]
fn a_column_that_says_nothing_is_neither_drawn_nor_sorted_by() {
    let mut table = Table::new(COLUMNS);
    table.leave_out(&["share"]);
    assert_eq!(drawn(&mut table, 12, 2), ["name more", "a    xyz"]);
    table.act(Action::Sort, &ROWS);
    table.act(Action::Sort, &ROWS);
    assert_eq!(table.order_words(), Some("sorted by more".into()));
    assert_eq!(table.fields().len(), 3);
}

#[test]
fn columns_of_high_rank_go_first_and_the_cursor_stays_on_its_row() {
    let mut table = Table::new(COLUMNS);
    table.act(Action::Bottom, &ROWS);
    assert_eq!(drawn(&mut table, 4, 3), ["name", "c", "d"]);
    table.act(Action::Sort, &ROWS);
    table.act(Action::Reverse, &ROWS);
    assert_eq!(table.selected(&ROWS).map(|row| row.id), Some("d"));
    assert!(table.click(Position::new(0, 1), &ROWS));
    assert_eq!(table.selected(&ROWS).map(|row| row.id), Some("a"));
    assert!(!table.click(Position::new(0, 0), &ROWS));
}

#[test]
fn any_size_can_be_drawn() {
    let mut table = Table::new(COLUMNS);
    for width in 0..20 {
        for height in 0..7 {
            drawn(&mut table, width, height);
        }
    }
}

#[test]
fn a_worse_row_that_comes_later_is_in_sight_until_somebody_moves_the_cursor() {
    let mut table = Table::new(COLUMNS);
    assert_eq!(drawn_of(&mut table, &ROWS[1..], 4, 3), ["name", "b", "c"]);
    assert_eq!(drawn(&mut table, 4, 3), ["name", "a", "b"]);
    assert_eq!(table.selected(&ROWS).map(|row| row.id), Some("a"));
    let mut table = Table::new(COLUMNS);
    drawn_of(&mut table, &ROWS[1..], 4, 3);
    table.act(Action::Top, &ROWS[1..]);
    drawn(&mut table, 4, 2);
    assert_eq!(drawn(&mut table, 4, 2), ["name", "b"]);
}

#[test]
fn words_with_an_order_of_their_own_stand_in_it_and_only_what_is_in_sight_is_sorted_by() {
    static RANKED: &[Column<Line>] = &[
        Column {
            cell: |line| Cell::text(line.id).ranked(if line.id == "b" { 0 } else { 1 }),
            ..COLUMNS_OF[0]
        },
        Column { draw: Some(|_, _, _, _| {}), ..COLUMNS_OF[1] },
        Column { ..COLUMNS_OF[2] },
    ];
    let mut table = Table::new(RANKED);
    table.act(Action::Sort, &ROWS);
    assert_eq!(ids(&table), "bacd");
    table.act(Action::Sort, &ROWS);
    assert_eq!(table.order_words(), Some("sorted by more".into()), "a drawing has no order");
    drawn(&mut table, 11, 3);
    table.act(Action::Sort, &ROWS);
    table.act(Action::Sort, &ROWS);
    table.act(Action::Sort, &ROWS);
    assert_eq!(table.order_words(), None, "only the name is in sight at this width");
}
