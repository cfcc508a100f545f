//! What a terminal that knows nothing beyond ASCII is shown in place of other characters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Characters that numbers and sentences have, with what stands for them in one cell.
static INSTEAD: &[(char, &str)] = &[
    ('µ', "u"),
    ('μ', "u"),
    ('°', " "),
    ('×', "x"),
    ('·', "."),
    ('…', "~"),
    ('–', "-"),
    ('—', "-"),
    ('─', "-"),
    ('│', "|"),
    ('→', ">"),
    ('←', "<"),
    ('≥', ">"),
    ('≤', "<"),
    ('±', "~"),
    ('‘', "'"),
    ('’', "'"),
    ('“', "\""),
    ('”', "\""),
    ('\u{a0}', " "),
];

/// Replaces whatever is beyond ASCII in an area, a cell by a cell; what nothing stands for becomes a question mark.
pub fn only_ascii(buffer: &mut Buffer, area: Rect) {
    let area = area.intersection(buffer.area);
    for place in area.positions() {
        let cell = &mut buffer[place];
        if cell.symbol().is_ascii() {
            continue;
        }
        let first = cell.symbol().chars().next();
        let known = INSTEAD.iter().find(|(from, _)| Some(*from) == first);
        cell.set_symbol(known.map_or("?", |(_, to)| to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_keeps_its_place() {
        let mut buffer = Buffer::with_lines(["46.7 µs, 43 °C, ≤ 5", "名前 ok é│"]);
        only_ascii(&mut buffer, Rect::new(0, 0, 99, 99));
        assert_eq!(buffer, Buffer::with_lines(["46.7 us, 43  C, < 5", "? ?  ok ?|"]));
        assert!(INSTEAD.iter().all(|(from, to)| !from.is_ascii() && to.is_ascii() && to.len() == 1));
    }

    #[test]
    fn what_lies_outside_stays() {
        let mut buffer = Buffer::with_lines(["µµ"]);
        only_ascii(&mut buffer, Rect::new(1, 0, 1, 1));
        assert_eq!(buffer, Buffer::with_lines(["µu"]));
    }
}
