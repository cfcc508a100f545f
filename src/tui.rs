//! The terminal UI: a feed of snapshots, a terminal, and the loop between them.
//!
//! ```text
//! feed (live, replay) --snapshots--> run --draw--> terminal
//!   ^--------------- orders -- effects <-- Screen <-- events
//! ```

pub mod feed;
