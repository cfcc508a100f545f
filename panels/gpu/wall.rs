//! GPUs on a wall: the worst in big type, and how many there are beside them.

use headwater_engine::filter::{FieldKind, FieldValue};
use headwater_engine::quantity::show;
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line as Words, Span};
use ratatui::widgets::Widget;
use tui_big_text::PixelSize;

use super::columns::COLUMNS;
use super::row::Line;
use crate::big::{self, Figure};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;

/// The columns whose values are figures on a wall, as far as any GPU has one; in plain type the last are left out where there is
/// no room for all.
const FIGURES: &[&str] = &["busy", "memory", "full-in", "launch", "held", "temp", "xid"];

/// At most so many GPUs in big type share the height of a wall.
const SIDE_BY_SIDE: u16 = 4;

/// The rows of a GPU beside its figures: its name and verdict.
const HEADING: u16 = 1;

/// Rows of figures in plain type: their names beside their values.
const PLAIN: u16 = 1;

/// Below this height there is no room for a GPU with its figures, and the panel is drawn as on any other screen.
pub(super) const LEAST: u16 = HEADING + PLAIN + 1;

/// Draws as many as there is room for, the worst first, and a line about the rest.
pub(super) fn draw(rows: &[Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let names = figure_names(rows);
    let mut all: Vec<Vec<Figure<'_>>> = rows.iter().map(|row| figures(row, &names)).collect();
    let count = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    // The most of them that can be seen from afar; fewer than two of several would hide too much.
    let size = (2.min(count)..=SIDE_BY_SIDE.min(count))
        .rev()
        .find_map(|abreast| size_for(&all, area.height / abreast.max(1), view, area.width));
    if size.is_none() {
        let fit = fitting_plain(&all, area.width);
        all.iter_mut().for_each(|figures| figures.truncate(fit));
    }
    let each = HEADING + size.map_or(PLAIN, |(_, tall)| 1 + tall);
    let fitting = area.height / each;
    let shown = if count > fitting { area.height.saturating_sub(1) / each } else { count };
    let mut rest = area;
    for (row, figures) in rows.iter().zip(&all).take(usize::from(shown)) {
        draw_heading(row, view, rest, buffer);
        rest = below(rest, HEADING);
        let place = Rect { height: each - HEADING, ..rest };
        match size {
            Some(_) => drop(big::draw_figures(figures, size, view.palette, place, buffer)),
            None => draw_plain(figures, view, place, buffer),
        }
        rest = below(rest, each - HEADING);
    }
    if count > shown {
        let text = beside(&rows[usize::from(shown)..]);
        buffer.set_stringn(
            rest.x,
            rest.y,
            text,
            usize::from(rest.width),
            view.palette.style(ColorRole::Heading),
        );
    }
}

/// The size in which the figures of every GPU fit into so many rows with its heading: one for all, so that none looks worse
/// than it is.
fn size_for(all: &[Vec<Figure<'_>>], rows: u16, view: &View<'_>, width: u16) -> Option<(PixelSize, u16)> {
    let room = rows.saturating_sub(HEADING);
    let sizes = all.iter().map(|figures| big::size_of_figures(figures, width, room, view.palette.glyphs));
    // A GPU of which nothing is told has no say.
    let told = sizes.zip(all).filter(|(_, figures)| figures.iter().any(|figure| figure.is_told));
    told.map(|(size, _)| size).min_by_key(|size| size.map(|(_, tall)| tall)).flatten()
}

fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// `X host-a:1 guilty: XID 79, fallen off the bus ...`.
fn draw_heading(row: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let text =
        format!("{} {} {}: {}", glyph_of(row.verdict), row.name(), verdict_word(row.verdict), row.reason);
    let style = view.palette.style(role_of(row.verdict));
    let place = Rect { height: HEADING.min(area.height), ..area };
    Hanging::new("", 0, &text).text_style(style).glyphs(view.palette.glyphs).render(place, buffer);
}

/// How many figures, the first ones, fit side by side in plain type, as whole ones and of every GPU; at least one.
fn fitting_plain(all: &[Vec<Figure<'_>>], width: u16) -> usize {
    let count = all.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |first: usize| all.iter().flat_map(|figures| figures.iter().take(first)).map(plain_width).max();
    let fits = |first: &usize| widest(*first).is_none_or(|widest| (widest + 1) * first <= usize::from(width));
    (1..=count).rev().find(fits).unwrap_or(1)
}

fn plain_width(figure: &Figure<'_>) -> usize {
    Span::raw(figure.name).width() + 1 + Span::raw(figure.value.as_str()).width()
}

/// `busy 97 %  memory 74.3 %`, in columns.
fn draw_plain(figures: &[Figure<'_>], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let width = area.width / u16::try_from(figures.len()).unwrap_or(u16::MAX).max(1);
    for (place, figure) in (0_u16..).zip(figures) {
        let told = [(figure.name, ColorRole::Label), (" ", ColorRole::Label), (&figure.value, figure.role)];
        let spans = told.map(|(text, role)| Span::styled(text, view.palette.style(role)));
        let cell = Rect { x: area.x + width * place, width: width.saturating_sub(1), ..area };
        let cell = cell.intersection(buffer.area);
        Words::from_iter(spans).render(cell, buffer);
        if plain_width(figure) > usize::from(cell.width) && !cell.is_empty() {
            buffer[(cell.right() - 1, cell.y)].set_symbol(view.palette.glyphs.ellipsis());
        }
    }
}

/// The figures that any GPU has.
fn figure_names(rows: &[Line]) -> Vec<&'static str> {
    let is_told =
        |name: &&&'static str| rows.iter().any(|row| figure(row, name).is_some_and(|one| one.is_told));
    FIGURES.iter().filter(is_told).copied().collect()
}

fn figures(row: &Line, names: &[&'static str]) -> Vec<Figure<'static>> {
    names.iter().filter_map(|name| figure(row, name)).collect()
}

/// What the column of this name shows of a GPU.
fn figure(row: &Line, name: &'static str) -> Option<Figure<'static>> {
    let column = COLUMNS.iter().find(|column| column.field.name == name)?;
    let cell = (column.cell)(row);
    let (value, is_told) = match (&cell.value, column.field.kind) {
        (FieldValue::Absent, _) if cell.text.is_some() => (cell.text.unwrap_or_default().into_owned(), true),
        (FieldValue::Number(number), FieldKind::Number(unit)) => (show(*number, unit), true),
        (FieldValue::Text(text), _) if !text.is_empty() => (text.to_string(), true),
        _ => ("-".to_owned(), false),
    };
    let role = match cell.role {
        ColorRole::Text => ColorRole::Heading,
        other => other,
    };
    Some(Figure { name, aside: String::new(), value, role, is_told })
}

/// `and 6 more: 1 suspect, 5 innocent`.
fn beside(rows: &[Line]) -> String {
    let each = [Verdict::Guilty, Verdict::Suspect, Verdict::Unknown, Verdict::Innocent];
    let counted = each.into_iter().filter_map(|verdict| {
        let count = rows.iter().filter(|row| row.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict_word(verdict)))
    });
    format!("and {} more: {}", rows.len(), counted.collect::<Vec<_>>().join(", "))
}
