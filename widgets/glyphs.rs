//! The characters that widgets draw with.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ascii::only_ascii;

/// Which characters a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks, shades and dots beyond ASCII.
    #[default]
    Unicode,
    /// Nothing beyond ASCII: for serial lines, old fonts and logs.
    Ascii,
}

impl Glyphs {
    /// Shades from empty to full, for cells whose colour says the same.
    pub fn shades(self) -> [&'static str; 4] {
        match self {
            Self::Unicode => ["░", "▒", "▓", "█"],
            Self::Ascii => [".", "-", "+", "#"],
        }
    }

    /// Levels from the bottom to the top of one cell; the lowest stands for zero and can be seen.
    pub fn levels(self) -> &'static [&'static str] {
        match self {
            Self::Unicode => &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
            Self::Ascii => &["_", ".", "-", "^"],
        }
    }

    /// What a completely filled cell below the top of a column looks like.
    pub fn full(self) -> &'static str {
        match self {
            Self::Unicode => "█",
            Self::Ascii => "|",
        }
    }

    /// The end of a text that was cut.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }

    /// Arrows down and up.
    pub fn arrows(self) -> [&'static str; 2] {
        match self {
            Self::Unicode => ["▼", "▲"],
            Self::Ascii => ["v", "^"],
        }
    }

    /// A horizontal line, one cell of it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Unicode => "─",
            Self::Ascii => "-",
        }
    }

    /// Makes an area of what has been drawn one that such a terminal can show: numbers and sentences have characters of their
    /// own, and so have names from outside.
    pub fn fit(self, buffer: &mut Buffer, area: Rect) {
        if self == Self::Ascii {
            only_ascii(buffer, area);
        }
    }

    /// A vertical line, one cell of it.
    pub fn bar(self) -> &'static str {
        match self {
            Self::Unicode => "│",
            Self::Ascii => "|",
        }
    }
}

/// The share of `value` in 0..=1; `None` for a gap and for what is no number.
pub(crate) fn share(value: Option<f64>) -> Option<f64> {
    value.filter(|value| !value.is_nan()).map(|value| value.clamp(0.0, 1.0))
}

/// The step of `steps` on which a share in 0..=1 stands: 0 only at 0, the last only near 1.
pub(crate) fn step(share: f64, steps: usize) -> usize {
    let last = steps.saturating_sub(1);
    ((share * last as f64).round() as usize).min(last)
}
