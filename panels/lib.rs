//! Panels: one file a panel, each a picture of one engine snapshot.
//!
//! A panel reads nothing but what it is handed: the snapshot, its own view state and a palette. It draws in whatever
//! area it is given, the most important lines first.

pub mod overview;
pub mod palette;

pub use overview::Overview;
pub use palette::{ColorRole, Palette};
