//! Lines between boxes, along rows and columns, with the corners and crossings that come of it.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;

use crate::glyphs::Glyphs;

/// How a line looks; where two share a cell, the later in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stroke {
    /// Broken: it may not be there at all.
    Dashed,
    /// Thin.
    Plain,
    /// Thick and broken: the one to look at, but it may not be there at all.
    HeavyDashed,
    /// Thick: the one to look at.
    Heavy,
}

/// Arms of a cell, as bits.
const UP: usize = 1;
const RIGHT: usize = 2;
const DOWN: usize = 4;
const LEFT: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Cell {
    arms: usize,
    stroke: Stroke,
    style: Style,
    /// The end of a wire, which points that way.
    points: Option<usize>,
}

/// Lines that are laid one after the other and then drawn at once, each cell with all that meet in it.
#[derive(Clone, Debug, Default)]
pub struct Wires {
    cells: BTreeMap<(u16, u16), Cell>,
    glyphs: Glyphs,
}

impl Wires {
    /// No line yet, of these characters.
    pub fn new(glyphs: Glyphs) -> Self {
        Self { cells: BTreeMap::new(), glyphs }
    }

    /// Lays a line from corner to corner; two corners that follow each other share a row or a column, and where they do
    /// not, the line goes along the row first.
    pub fn lay(&mut self, corners: &[Position], stroke: Stroke, style: Style) {
        for pair in corners.windows(2) {
            let turn = Position::new(pair[1].x, pair[0].y);
            self.straight(pair[0], turn, stroke, style);
            self.straight(turn, pair[1], stroke, style);
        }
    }

    /// Puts the head of an arrow that points to the right, or to the left.
    pub fn point(&mut self, at: Position, is_to_the_left: bool, stroke: Stroke, style: Style) {
        let arm = if is_to_the_left { LEFT } else { RIGHT };
        self.meet(at, arm, stroke, style);
        if let Some(cell) = self.cells.get_mut(&(at.y, at.x)) {
            cell.points = Some(arm);
        }
    }

    fn straight(&mut self, from: Position, to: Position, stroke: Stroke, style: Style) {
        let is_row = from.y == to.y;
        let along = |at: u16| if is_row { Position::new(at, from.y) } else { Position::new(from.x, at) };
        let (one, other) = if is_row { (from.x, to.x) } else { (from.y, to.y) };
        let (ahead, back) = if is_row { (RIGHT, LEFT) } else { (DOWN, UP) };
        for at in one.min(other)..one.max(other) {
            self.meet(along(at), ahead, stroke, style);
            self.meet(along(at + 1), back, stroke, style);
        }
    }

    fn meet(&mut self, at: Position, arm: usize, stroke: Stroke, style: Style) {
        let cell = self.cells.entry((at.y, at.x)).or_insert(Cell { arms: 0, stroke, style, points: None });
        cell.arms |= arm;
        if stroke >= cell.stroke {
            (cell.stroke, cell.style) = (stroke, style);
        }
    }

    /// Whether no line goes through these cells of a row.
    pub fn is_free(&self, row: u16, columns: std::ops::Range<u16>) -> bool {
        self.cells.range((row, columns.start)..(row, columns.end.max(columns.start))).next().is_none()
    }
}

impl Widget for &Wires {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        for ((y, x), cell) in &self.cells {
            if area.contains(Position::new(*x, *y)) {
                buffer[(*x, *y)].set_symbol(symbol(cell, self.glyphs)).set_style(cell.style);
            }
        }
    }
}

fn symbol(cell: &Cell, glyphs: Glyphs) -> &'static str {
    if let Some(arm) = cell.points {
        let [left, right] = match glyphs {
            Glyphs::Unicode => ["◂", "▸"],
            Glyphs::Ascii => ["<", ">"],
        };
        return if arm == LEFT { left } else { right };
    }
    // By the arms as bits: up 1, right 2, down 4, left 8.
    let symbols: [&'static str; 16] = match (glyphs, cell.stroke) {
        (Glyphs::Unicode, Stroke::Heavy) => {
            [" ", "┃", "━", "┗", "┃", "┃", "┏", "┣", "━", "┛", "━", "┻", "┓", "┫", "┳", "╋"]
        }
        (Glyphs::Unicode, Stroke::Plain) => {
            [" ", "│", "─", "╰", "│", "│", "╭", "├", "─", "╯", "─", "┴", "╮", "┤", "┬", "┼"]
        }
        (Glyphs::Unicode, Stroke::Dashed) => {
            [" ", "┆", "╌", "╰", "┆", "┆", "╭", "├", "╌", "╯", "╌", "┴", "╮", "┤", "┬", "┼"]
        }
        (Glyphs::Unicode, Stroke::HeavyDashed) => {
            [" ", "┇", "╍", "┗", "┇", "┇", "┏", "┣", "╍", "┛", "╍", "┻", "┓", "┫", "┳", "╋"]
        }
        (Glyphs::Ascii, Stroke::HeavyDashed) => {
            [" ", ":", "~", "#", ":", ":", "#", "#", "~", "#", "~", "#", "#", "#", "#", "#"]
        }
        (Glyphs::Ascii, Stroke::Heavy) => {
            [" ", "#", "=", "#", "#", "#", "#", "#", "=", "#", "=", "#", "#", "#", "#", "#"]
        }
        (Glyphs::Ascii, Stroke::Plain) => {
            [" ", "|", "-", "+", "|", "|", "+", "+", "-", "+", "-", "+", "+", "+", "+", "+"]
        }
        (Glyphs::Ascii, Stroke::Dashed) => {
            [" ", ":", ".", ".", ":", ":", ".", ".", ".", ".", ".", ".", ".", ".", ".", "."]
        }
    };
    symbols[cell.arms & 15]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::drawn;

    fn corners(places: &[(u16, u16)]) -> Vec<Position> {
        places.iter().map(|(x, y)| Position::new(*x, *y)).collect()
    }

    fn tree(glyphs: Glyphs) -> Wires {
        let mut wires = Wires::new(glyphs);
        wires.lay(&corners(&[(0, 1), (3, 1), (3, 0), (5, 0)]), Stroke::Plain, Style::new());
        wires.lay(&corners(&[(0, 1), (3, 1), (3, 2), (5, 2)]), Stroke::Dashed, Style::new());
        wires.point(Position::new(5, 0), false, Stroke::Plain, Style::new());
        wires
    }

    #[test]
    fn lines_that_part_share_their_beginning() {
        assert_eq!(drawn(&tree(Glyphs::Unicode), 6, 3), Buffer::with_lines(["   ╭─▸", "───┤  ", "   ╰╌╌"]));
        assert_eq!(drawn(&tree(Glyphs::Ascii), 6, 3), Buffer::with_lines(["   +->", "---+  ", "   ..."]));
        assert!(tree(Glyphs::Ascii).is_free(0, 0..3) && !tree(Glyphs::Ascii).is_free(0, 0..4));
    }

    #[test]
    fn a_line_that_may_not_be_there_is_broken_also_when_it_is_thick() {
        for (glyphs, rows) in [(Glyphs::Unicode, ["╍╍┓", "  ┇"]), (Glyphs::Ascii, ["~~#", "  :"])] {
            let mut wires = Wires::new(glyphs);
            wires.lay(&corners(&[(0, 0), (2, 0), (2, 1)]), Stroke::HeavyDashed, Style::new());
            assert_eq!(drawn(&wires, 3, 2), Buffer::with_lines(rows));
        }
    }

    #[test]
    fn the_stronger_line_is_seen_where_two_cross_and_nothing_is_drawn_outside() {
        let mut wires = Wires::new(Glyphs::Unicode);
        wires.lay(&corners(&[(1, 0), (1, 2)]), Stroke::Heavy, Style::new());
        wires.lay(&corners(&[(0, 1), (2, 1)]), Stroke::Plain, Style::new());
        wires.point(Position::new(9, 9), true, Stroke::Plain, Style::new());
        assert_eq!(drawn(&wires, 3, 3), Buffer::with_lines([" ┃ ", "─╋─", " ┃ "]));
        assert_eq!(drawn(&wires, 2, 2), Buffer::with_lines([" ┃", "─╋"]));
        drawn(&wires, 0, 0);
    }
}
