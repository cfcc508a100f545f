//! What Headwater itself has cost one node: commands, bytes, and hits that nobody else would have made.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use redis::Value;

use super::allowed::{Command, Length};
use super::reply::{integer, text};

/// What Headwater itself has cost one node.
#[derive(Debug, Default)]
pub struct Cost {
    pub(super) commands: AtomicU64,
    pub(super) bytes: AtomicU64,
    hits: AtomicU64,
    /// Our own ends of the connections that are open now, as the server may see them.
    pub(super) ends: Mutex<BTreeSet<SocketAddr>>,
}

impl Cost {
    /// Commands sent.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Bytes sent and received, TLS included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Look-ups that were added to the node's hits.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Notes the answer to a command: some look-ups that only read about a key count as its reads.
    pub(super) fn answered(&self, command: &Command<'_>, reply: &Value) {
        if adds_hit(command, reply) {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Our own ends of the connections that are open now; behind a translated address the server sees others.
    pub fn ends(&self) -> BTreeSet<SocketAddr> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether this answer is to a look-up that the server has counted among its hits. SCAN and MEMORY USAGE are none; a key
/// that is gone was a miss.
pub(super) fn adds_hit(command: &Command<'_>, reply: &Value) -> bool {
    match command {
        Command::Type(_) => text(reply).is_some_and(|kind| kind != "none"),
        // Only a string and a stream can be there and be empty.
        Command::Length(Length::String | Length::Stream, _) => integer(reply).is_some(),
        Command::Length(..) => integer(reply).is_some_and(|length| length > 0),
        Command::Pttl(_) => integer(reply).is_some_and(|left| left != -2),
        Command::ObjectFreq(_) => integer(reply).is_some(),
        _ => false,
    }
}
