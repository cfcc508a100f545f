//! Headwater's core: readings in, verdicts out.
//!
//! This crate has no clock, no file, no network, no log and no thread: whatever it says is a function of its
//! [`Input`]s, so a recording replays to the same report byte for byte.

pub mod baseline;
pub mod case;
pub mod command_time;
mod course;
pub mod engine;
pub mod filter;
pub mod findings;
pub mod flow;
pub mod freshness;
pub mod gpu_errors;
pub mod gpu_memory;
mod gpu_requests;
pub mod graph;
pub mod histogram;
pub mod kernel_change;
pub mod launches;
pub mod library;
pub mod loopback;
pub mod measured;
pub mod metric;
pub mod peers;
pub mod quantity;
pub mod queues;
pub mod ranking;
pub mod reach;
pub mod reading;
pub mod report;
pub mod rules;
pub mod runbook;
pub mod scene;
pub mod settings;
mod settled;
pub mod signal;
pub mod slot;
pub mod snapshot;
pub mod spread;
pub mod store;
pub mod subject;
mod tellers;
pub mod text;
pub mod throttle;
pub mod time;
pub mod timeline;
pub mod trend;
pub mod triage;
pub mod upstream_time;
pub mod wording;
pub mod world;
pub mod writeup;
pub mod xid;

pub use engine::Engine;
pub use library::Library;
pub use reading::{Input, Reading};
pub use report::Report;
pub use settings::{Baselines, Settings};
pub use snapshot::Snapshot;
pub use subject::{Kind, Subject};
pub use text::RemoteText;
pub use time::Moment;
