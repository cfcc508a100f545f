//! What a user agrees to in advance, because it starts something at a server or slows it.

use std::time::Duration;

use clap::Args;

use super::span;
use crate::app::hot_search::Permit;
use crate::config::is_redis_address;
use crate::sources::redis::LONGEST_MONITOR;

/// The flags that agree to searches for hot keys.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ConsentArgs {
    /// Let MONITOR run on a shard in question to name its hot keys, for 1s unless told otherwise and 2s at most: up to
    /// half of the shard's throughput while it lasts
    #[arg(long, value_name = "TIME", value_parser = monitor_span, num_args = 0..=1, require_equals = false, default_missing_value = "1s")]
    pub(super) allow_monitor: Option<Duration>,

    /// Let a shard in question count its hot keys for 10 s (HOTKEYS of Redis 8.6)
    #[arg(long)]
    pub(super) allow_hotkeys: bool,
}

impl ConsentArgs {
    /// What may run, with ways that only read allowed or not.
    pub(super) fn permit(&self, reads: bool) -> Permit {
        Permit { reads, hotkeys: self.allow_hotkeys, monitor: self.allow_monitor }
    }
}

fn monitor_span(text: &str) -> Result<Duration, String> {
    if is_redis_address(text) {
        return Err(format!("a time belongs here and not a target: write --allow-monitor 1s {text}"));
    }
    let asked = span(text)?;
    if asked <= LONGEST_MONITOR {
        Ok(asked)
    } else {
        Err(format!("MONITOR may run {} s at most: it slows the server", LONGEST_MONITOR.as_secs()))
    }
}
