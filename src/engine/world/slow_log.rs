//! The newest slow-log entries of every node, by our clock.

use std::collections::{BTreeMap, VecDeque};

use crate::reading::SlowCommand;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Entries kept per node: what a server keeps by default.
const KEPT: usize = 128;

/// Two readings of one entry may differ by this much once they are shifted to our clock.
const SAME_ENTRY_MS: u64 = 15_000;

/// The newest slow-log entries of every node.
#[derive(Debug, Default)]
pub struct SlowLogs {
    logs: BTreeMap<Subject, VecDeque<SlowCommand>>,
}

impl SlowLogs {
    /// Takes an entry; it is dated by the server's clock, and the rules go by ours.
    pub(super) fn take(&mut self, node: &Subject, command: &SlowCommand, clocks_apart_ms: i64) {
        let log = self.logs.entry(node.clone()).or_default();
        let at = Moment(command.at.0.saturating_add(clocks_apart_ms));
        // A source that began anew reads the whole log again.
        if log.iter().any(|known| known.id == command.id && known.at.0.abs_diff(at.0) < SAME_ENTRY_MS) {
            return;
        }
        if log.len() >= KEPT {
            log.pop_front();
        }
        log.push_back(SlowCommand { at, ..command.clone() });
    }

    pub(super) fn remove(&mut self, node: &Subject) {
        self.logs.remove(node);
    }

    /// A node's entries, oldest first.
    pub fn of(&self, node: &Subject) -> impl Iterator<Item = &SlowCommand> {
        self.logs.get(node).into_iter().flatten()
    }

    /// The newest entries of all nodes, newest first.
    pub fn newest(&self, most: usize) -> Vec<(Subject, SlowCommand)> {
        let mut all: Vec<(&Subject, &SlowCommand)> =
            self.logs.iter().flat_map(|(node, log)| log.iter().map(move |command| (node, command))).collect();
        let newest_first = |one: &(&Subject, &SlowCommand), other: &(&Subject, &SlowCommand)| {
            (other.1.at, one.0, one.1.id).cmp(&(one.1.at, other.0, other.1.id))
        };
        if all.len() > most {
            all.select_nth_unstable_by(most, newest_first);
            all.truncate(most);
        }
        all.sort_by(newest_first);
        all.into_iter().map(|(node, command)| (node.clone(), command.clone())).collect()
    }
}

/// The keys that entries name, with how often.
pub(crate) fn keys_of<'a>(log: impl Iterator<Item = &'a SlowCommand>) -> BTreeMap<RemoteText, usize> {
    let mut keys = BTreeMap::new();
    for key in log.filter(|command| !command.excluded).filter_map(|command| command.key.as_ref()) {
        *keys.entry(key.clone()).or_insert(0) += 1;
    }
    keys
}
