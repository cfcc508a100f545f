//! Drawing parts that know no domain word: values, labels and styles in, cells out.
//!
//! Every widget draws in whatever area it is given, down to none at all, and never outside of it. Colours come
//! with the call; a meaning is always carried by a glyph or a word as well, so each widget can be read without
//! any colour.

pub mod ascii;
#[cfg(test)]
mod drawn;
pub mod glyphs;
pub mod hanging;
pub mod heat_strip;
pub mod marked_line;
pub mod names;
pub mod progress;
pub mod segments;
pub mod sparkline;
pub mod wires;

pub use glyphs::Glyphs;
pub use hanging::Hanging;
pub use heat_strip::HeatStrip;
pub use marked_line::MarkedLine;
pub use names::apart;
pub use progress::Progress;
pub use segments::Segments;
pub use sparkline::Sparkline;
pub use wires::{Stroke, Wires};
