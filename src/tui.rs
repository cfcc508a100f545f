//! The terminal UI: a feed of snapshots, a terminal, and the loop between them.
//!
//! ```text
//! feed (live, replay) --snapshots--> run --draw--> terminal
//!   ^--------------- orders -- effects <-- Screen <-- events
//! ```

mod effects;
pub mod events;
pub mod feed;
pub mod look;
pub mod run;
pub mod signals;
pub mod terminal;
