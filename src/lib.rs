//! Headwater, the application: everything that touches the world.
//!
//! The way through the house: a [`sources`] task turns bytes into readings, the app loop hands them to the
//! engine, and what the engine says is reported.

pub mod app;
pub mod bench;
pub mod cli;
pub mod config;
pub mod imports;
pub mod keymap;
pub mod lab;
pub mod library;
mod new_files;
mod open_files;
pub mod postmortem;
mod process;
pub mod recording;
pub mod report;
pub mod sources;
pub mod theme;
pub mod tls;
pub mod tui;
mod written_moment;
