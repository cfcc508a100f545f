//! The newest slow-log entries of every node, by our clock.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use super::World;
use crate::reading::SlowCommand;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Entries kept per node: what a server keeps by default.
const KEPT: usize = 128;

/// Two readings of one entry may differ by this much once they are shifted to our clock.
pub(super) const SAME_ENTRY_MS: u64 = 15_000;

/// The newest slow-log entries of every node.
#[derive(Debug, Default)]
pub struct SlowLogs {
    logs: BTreeMap<Subject, VecDeque<SlowCommand>>,
}

impl World {
    /// The slow logs of all nodes.
    pub fn slow_logs(&self) -> &SlowLogs {
        &self.slow
    }
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

    /// The newest entries of all nodes, newest first. At most a quarter of them are our own and administrators': these
    /// convict nobody and come steadily, and would push out those that somebody waits for.
    pub fn newest(&self, most: usize) -> Vec<(Subject, SlowCommand)> {
        let all = self.logs.iter().flat_map(|(node, log)| log.iter().map(move |command| (node, command)));
        let (mut excluded, mut all): (Vec<Entry<'_>>, Vec<Entry<'_>>) =
            all.partition(|(_, command)| command.excluded);
        keep_newest(&mut excluded, most / 4);
        all.extend(excluded);
        keep_newest(&mut all, most);
        all.sort_by(newest_first);
        all.into_iter().map(|(node, command)| (node.clone(), command.clone())).collect()
    }
}

/// An entry with its node.
type Entry<'a> = (&'a Subject, &'a SlowCommand);

fn newest_first(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
    (other.1.at, one.0, one.1.id).cmp(&(one.1.at, other.0, other.1.id))
}

/// Keeps the newest entries, in no order.
fn keep_newest(entries: &mut Vec<Entry<'_>>, most: usize) {
    if entries.len() > most {
        entries.select_nth_unstable_by(most, newest_first);
        entries.truncate(most);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn our_own_entries_do_not_push_out_those_of_others() {
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let mut logs = SlowLogs::default();
        for id in 0..100 {
            let excluded = id >= 10;
            let command = SlowCommand {
                id,
                at: Moment(i64::try_from(id).unwrap() * 60_000),
                took: Duration::from_millis(20),
                command: if excluded { "INFO" } else { "KEYS" }.into(),
                key: None,
                arguments: vec![],
                client: "x".into(),
                excluded,
            };
            logs.take(&node, &command, 0);
        }
        let ids = |most| logs.newest(most).iter().map(|(_, command)| command.id).collect::<Vec<_>>();
        assert_eq!(ids(8), [99, 98, 9, 8, 7, 6, 5, 4]);
        assert_eq!(ids(40).len(), 20, "ten of ours and all ten of the others");
        assert_eq!(ids(0), [0; 0]);
    }
}
