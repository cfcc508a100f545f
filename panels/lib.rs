//! The screen: one file a panel, each a picture of one engine snapshot, and the [`Screen`] that holds them.
//!
//! A panel reads nothing but what it is handed: the snapshot, its own view state and a palette. It draws in whatever
//! area it is given, the most important lines first. Keys come in as [`keys::Stroke`]s and go out as
//! [`panel::Effect`]s; nothing here touches a terminal, a clock or a file.

pub mod action;
mod big;
mod big_key_scan;
mod callers;
mod cases;
mod changes;
mod curves;
mod data_state;
mod elsewhere;
#[cfg(test)]
mod example;
mod gateway;
mod gauge;
mod gpu;
mod graph;
pub mod keys;
mod keyspace;
pub mod kiosk;
mod lines;
mod listing;
mod overview;
mod page;
pub mod palette;
pub mod panel;
mod queue;
#[cfg(test)]
mod redis_world;
#[cfg(test)]
mod rehearsal;
mod rules;
mod runbook;
pub mod screen;
mod sentences;
mod shard_name;
mod shards;
mod slow_groups;
mod slow_log;
mod sources;
mod standing;
mod strip_bins;
pub mod table;
mod time_bins;
mod title;
mod ttft;
mod unseen_redis;

pub use action::Action;
pub use keys::{Command, Keymap, Stroke};
pub use kiosk::Kiosk;
pub use palette::{ColorRole, Palette};
pub use panel::{Effect, PANELS, Panel, Play, View};
pub use screen::{Feed, Screen, Shown, Status};
pub use tui_textarea::{Input, Key};
