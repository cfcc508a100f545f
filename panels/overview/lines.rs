//! Labelled lines that share an area by their weight.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::palette::{ColorRole, Palette};

/// The column of the texts.
const INDENT: u16 = 11;

/// Who gets rows first when there are too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The accusation, the chain, the next step.
    Core,
    /// What is innocent, what is not known, what is in trouble.
    Account,
    /// What shows it.
    Context,
    /// Everything else that is said.
    Detail,
    /// What only separates.
    Frame,
}

/// A label with a text, or a rule across the area.
#[derive(Debug)]
pub(super) struct Line {
    weight: Weight,
    label: String,
    text: String,
    role: ColorRole,
    is_rule: bool,
}

impl Line {
    /// A line whose label is drawn as a label.
    pub(super) fn new(weight: Weight, label: &str, text: String) -> Self {
        Self { weight, label: label.to_owned(), text, role: ColorRole::Label, is_rule: false }
    }

    /// A rule across the area.
    pub(super) fn rule() -> Self {
        Self { is_rule: true, role: ColorRole::Faint, ..Self::new(Weight::Frame, "", String::new()) }
    }

    /// The same line with its label in the colour of this role.
    pub(super) fn colored(mut self, role: ColorRole) -> Self {
        self.role = role;
        self
    }

    fn hanging<'a>(&'a self, palette: &Palette) -> Hanging<'a> {
        Hanging::new(&self.label, INDENT, &self.text)
            .label_style(palette.style(self.role))
            .text_style(palette.style(ColorRole::Text))
            .glyphs(palette.glyphs)
    }

    fn height(&self, palette: &Palette, width: u16) -> u16 {
        if self.is_rule { 1 } else { self.hanging(palette).height(width) }
    }
}

/// Draws what fits, heaviest lines first, in their given order; returns how many lines had to be left out.
pub(super) fn draw(lines: &[Line], palette: &Palette, area: Rect, buffer: &mut Buffer) -> usize {
    let wanted: Vec<(Weight, u16)> =
        lines.iter().map(|line| (line.weight, line.height(palette, area.width))).collect();
    let rows = allot(&wanted, area.height);
    let mut y = area.top();
    for (line, height) in lines.iter().zip(&rows).filter(|(_, height)| **height > 0) {
        let place = Rect { y, height: *height, ..area };
        if line.is_rule {
            let rule = palette.glyphs.rule().repeat(usize::from(area.width));
            buffer.set_stringn(place.x, y, &rule, usize::from(area.width), palette.style(line.role));
        } else {
            line.hanging(palette).render(place, buffer);
        }
        y += height;
    }
    lines.iter().zip(&rows).filter(|(line, height)| **height == 0 && !line.is_rule).count()
}

/// Rows for each line: one for each in the order of weight, then what each still wants in the same order.
fn allot(wanted: &[(Weight, u16)], rows: u16) -> Vec<u16> {
    let mut by_weight: Vec<usize> = (0..wanted.len()).collect();
    by_weight.sort_by_key(|line| wanted[*line].0);
    let mut given = vec![0; wanted.len()];
    let mut left = rows;
    for weight in [Weight::Core, Weight::Account, Weight::Context, Weight::Detail, Weight::Frame] {
        let lines = || by_weight.iter().copied().filter(|line| wanted[*line].0 == weight);
        for line in lines() {
            given[line] = left.min(1);
            left -= given[line];
        }
        for line in lines().filter(|line| wanted[*line].1 > 1) {
            let more = (wanted[line].1 - 1).min(left);
            given[line] += more;
            left -= more;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_lines_are_told_in_full_before_light_ones_begin() {
        let wanted = [(Weight::Context, 3), (Weight::Core, 2), (Weight::Detail, 1), (Weight::Core, 4)];
        assert_eq!(allot(&wanted, 0), [0, 0, 0, 0]);
        assert_eq!(allot(&wanted, 1), [0, 1, 0, 0]);
        assert_eq!(allot(&wanted, 3), [0, 2, 0, 1]);
        assert_eq!(allot(&wanted, 8), [2, 2, 0, 4]);
        assert_eq!(allot(&wanted, 99), [3, 2, 1, 4]);
    }
}
