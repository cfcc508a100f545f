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
pub(crate) enum Weight {
    /// The accusation, the chain, the next step.
    Core,
    /// What is innocent, what is not known, what is in trouble.
    Account,
    /// What shows it.
    Context,
    /// Everything else that is said.
    Detail,
}

/// A label with a text.
#[derive(Debug)]
pub(crate) struct Line {
    weight: Weight,
    label: String,
    text: String,
    role: ColorRole,
    text_role: ColorRole,
}

impl Line {
    /// A line whose label is drawn as a label.
    pub(crate) fn new(weight: Weight, label: &str, text: String) -> Self {
        let (role, text_role) = (ColorRole::Label, ColorRole::Text);
        Self { weight, label: label.to_owned(), text, role, text_role }
    }

    /// The same line with its label in the colour of this role.
    pub(crate) fn colored(mut self, role: ColorRole) -> Self {
        self.role = role;
        self
    }

    /// The same line with its text in the colour of this role.
    pub(crate) fn text_colored(mut self, role: ColorRole) -> Self {
        self.text_role = role;
        self
    }

    /// What it is, for what needs a place whatever happens.
    pub(crate) fn weight(&self) -> Weight {
        self.weight
    }

    fn hanging<'a>(&'a self, palette: &Palette) -> Hanging<'a> {
        Hanging::new(&self.label, INDENT, &self.text)
            .label_style(palette.style(self.role))
            .text_style(palette.style(self.text_role))
            .glyphs(palette.glyphs)
    }

    /// How many rows it takes in full.
    pub(crate) fn height(&self, palette: &Palette, width: u16) -> u16 {
        self.hanging(palette).height(width)
    }
}

/// Draws what fits, heaviest lines first, in their given order; returns how many lines had to be left out.
pub(crate) fn draw(lines: &[Line], palette: &Palette, area: Rect, buffer: &mut Buffer) -> usize {
    let wanted: Vec<(Weight, u16)> =
        lines.iter().map(|line| (line.weight, line.height(palette, area.width))).collect();
    let rows = allot(&wanted, area.height);
    let mut y = area.top();
    for (line, height) in lines.iter().zip(&rows).filter(|(_, height)| **height > 0) {
        let place = Rect { y, height: *height, ..area };
        line.hanging(palette).render(place, buffer);
        y += height;
    }
    rows.iter().filter(|height| **height == 0).count()
}

/// Rows for each line: first one for each that must be told, then what these still want in the order of their weight,
/// then the same for each lighter weight.
fn allot(wanted: &[(Weight, u16)], rows: u16) -> Vec<u16> {
    let mut given = vec![0; wanted.len()];
    let mut left = rows;
    let mut give = |line: usize, most: u16, given: &mut Vec<u16>| {
        let more = most.saturating_sub(given[line]).min(left);
        given[line] += more;
        left -= more;
    };
    let of = |weights: &'static [Weight]| {
        weights
            .iter()
            .flat_map(move |weight| (0..wanted.len()).filter(move |line| wanted[*line].0 == *weight))
    };
    let stages: [&'static [Weight]; 3] =
        [&[Weight::Core, Weight::Account], &[Weight::Context], &[Weight::Detail]];
    for stage in stages {
        for line in of(stage) {
            give(line, 1, &mut given);
        }
        for line in of(stage) {
            give(line, wanted[line].1, &mut given);
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_lines_are_told_in_full_before_light_ones_begin() {
        use Weight::{Account, Context, Core, Detail};
        let wanted = [(Context, 3), (Core, 2), (Detail, 1), (Core, 4)];
        assert_eq!(allot(&wanted, 0), [0, 0, 0, 0]);
        assert_eq!(allot(&wanted, 1), [0, 1, 0, 0]);
        assert_eq!(allot(&wanted, 3), [0, 2, 0, 1]);
        assert_eq!(allot(&wanted, 8), [2, 2, 0, 4]);
        assert_eq!(allot(&wanted, 99), [3, 2, 1, 4]);
        assert_eq!(allot(&[(Core, 4), (Account, 2), (Context, 1)], 4), [3, 1, 0]);
    }
}
