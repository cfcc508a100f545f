//! Labelled lines that share an area by their weight.

use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::palette::{ColorRole, Palette};

/// The column of the texts.
const INDENT: u16 = 11;

/// Below this width a label leaves no room beside it: its sign or first word stands before the text instead.
const NARROW: u16 = 2 * INDENT;

/// Who gets rows first when there are too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// The accusation.
    Core,
    /// What is of use only as a whole: the chain, who is innocent, the next step.
    Whole,
    /// What is not known, what is in trouble.
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
    /// The text where there is no room for a label.
    narrow: String,
    role: ColorRole,
    text_role: ColorRole,
}

impl Line {
    /// A line whose label is drawn as a label.
    pub(crate) fn new(weight: Weight, label: &str, text: String) -> Self {
        let (role, text_role) = (ColorRole::Label, ColorRole::Text);
        let sign = label.split(' ').next().unwrap_or_default();
        let narrow = format!("{sign} {text}").trim_start().to_owned();
        Self { weight, label: label.to_owned(), text, narrow, role, text_role }
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

    /// What it says.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What it is, for what needs a place whatever happens.
    pub(crate) fn weight(&self) -> Weight {
        self.weight
    }

    fn hanging<'a>(&'a self, palette: &Palette, width: u16) -> Hanging<'a> {
        let (label, indent, text, role) = match width < NARROW {
            true if self.label.is_empty() => ("", 0, &self.text, self.text_role),
            true => ("", 0, &self.narrow, self.role),
            false => (self.label.as_str(), INDENT, &self.text, self.text_role),
        };
        Hanging::new(label, indent, text)
            .label_style(palette.style(self.role))
            .text_style(palette.style(role))
            .glyphs(palette.glyphs)
    }

    /// How many rows it takes in full.
    pub(crate) fn height(&self, palette: &Palette, width: u16) -> u16 {
        self.hanging(palette, width).height(width)
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
        line.hanging(palette, area.width).render(place, buffer);
        y += height;
    }
    rows.iter().filter(|height| **height == 0).count()
}

/// Draws lines in full from this one on, in their order; returns the first one that did not fit.
pub(crate) fn draw_from(
    from: usize,
    lines: &[Line],
    palette: &Palette,
    area: Rect,
    buffer: &mut Buffer,
) -> usize {
    let mut rest = area;
    for (place, line) in lines.iter().enumerate().skip(from) {
        let height = line.height(palette, area.width).min(rest.height);
        if height == 0 {
            return place;
        }
        line.hanging(palette, area.width).render(Rect { height, ..rest }, buffer);
        rest = Rect { y: rest.y + height, height: rest.height - height, ..rest };
    }
    lines.len()
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
    // Who is first told at all, and who is first told in full: a long accusation leaves what is short whole.
    let stages: [[&'static [Weight]; 2]; 3] = [
        [&[Weight::Core, Weight::Whole, Weight::Account], &[Weight::Whole, Weight::Core, Weight::Account]],
        [&[Weight::Context]; 2],
        [&[Weight::Detail]; 2],
    ];
    for [told, in_full] in stages {
        for line in of(told) {
            give(line, 1, &mut given);
        }
        for line in of(in_full) {
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
        assert_eq!(allot(&[(Core, 6), (Account, 2), (Weight::Whole, 2)], 5), [2, 1, 2]);
    }
}
