//! A buffer as SVG: what the README shows.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Pixels of a cell.
const CELL: (f32, f32) = (8.4, 17.0);
const MARGIN: f32 = 8.0;

/// The buffer in these colours of the ground, `(text, background)`.
pub(super) fn svg(buffer: &Buffer, title: &str, ground: (Color, Color)) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let width = f32::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut out = String::new();
    let mut put = |line: String| writeln!(out, "{line}").expect("a string takes everything");
    put(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" role="img" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">"#
    ));
    put(format!("<title>{}</title>", escaped(title)));
    put(format!(r#"<rect width="100%" height="100%" rx="6" fill="{}"/>"#, hex(ground.1, ground.1)));
    for (y, row) in buffer.content.chunks(usize::from(columns.max(1))).enumerate() {
        for run in runs(row) {
            let (text, back) = colours(&row[run.start], ground);
            let x = MARGIN + run.start as f32 * CELL.0;
            let top = MARGIN + y as f32 * CELL.1;
            let long = run.len() as f32 * CELL.0;
            if back != hex(ground.1, ground.1) {
                put(format!(
                    r#"<rect x="{x:.1}" y="{top:.1}" width="{long:.1}" height="{}" fill="{back}"/>"#,
                    CELL.1
                ));
            }
            let words: String = row[run.clone()].iter().map(Cell::symbol).collect();
            if words.trim().is_empty() {
                continue;
            }
            let modifier = row[run.start].modifier;
            let weight = if modifier.contains(Modifier::BOLD) { r#" font-weight="bold""# } else { "" };
            let dim = if modifier.contains(Modifier::DIM) { r#" opacity="0.65""# } else { "" };
            put(format!(
                r#"<text x="{x:.1}" y="{:.1}" textLength="{long:.1}" xml:space="preserve" fill="{text}"{weight}{dim}>{}</text>"#,
                top + CELL.1 - 4.5,
                escaped(&words)
            ));
        }
    }
    put("</svg>".to_owned());
    out
}

/// Runs of cells in one style.
fn runs(row: &[Cell]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = vec![];
    for place in 0..row.len() {
        match runs.last_mut() {
            Some(run) if row[run.start].style() == row[place].style() => run.end = place + 1,
            _ => runs.push(place..place + 1),
        }
    }
    runs
}

fn colours(cell: &Cell, ground: (Color, Color)) -> (String, String) {
    let (text, back) = (hex(cell.fg, ground.0), hex(cell.bg, ground.1));
    if cell.modifier.contains(Modifier::REVERSED) { (back, text) } else { (text, back) }
}

/// Themes are written in true colour; everything else is the ground's own.
fn hex(colour: Color, own: Color) -> String {
    match (colour, own) {
        (Color::Rgb(red, green, blue), _) | (_, Color::Rgb(red, green, blue)) => {
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        _ => "none".to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
