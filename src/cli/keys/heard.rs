//! What nodes tell of their keys while they are watched, without being asked for more.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::reading::{ClusterView, Event, KeySizes, LargeCommand, LargeKind, Reading};
use headwater_engine::{RemoteText, Subject};

/// Keys of large commands that are remembered: a scan may go on for long, and names never end.
const KEPT: usize = 4_096;

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// How many keys of which size each node has, where it counts them.
    pub(super) sizes: BTreeMap<Subject, KeySizes>,
    /// Each node's view of its cluster.
    pub(super) views: BTreeMap<Subject, ClusterView>,
    large: BTreeMap<(Subject, LargeKind, RemoteText, RemoteText), LargeKey>,
    answered: BTreeSet<Subject>,
}

/// Large commands on one key, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargeKey {
    /// Commands.
    pub(super) times: u64,
    /// Bytes of the largest.
    pub(super) most: u64,
}

/// One row of what was large: node, kind, command, key.
pub(super) type LargeRow<'a> = (&'a Subject, LargeKind, &'a RemoteText, &'a RemoteText, LargeKey);

impl Heard {
    /// Takes what a reading says.
    pub(super) fn take(&mut self, reading: &Reading) {
        if !reading.samples.is_empty() || !reading.faults.is_empty() {
            self.answered.insert(reading.source.clone());
        }
        for event in &reading.events {
            match event {
                Event::KeySizes(sizes) => {
                    self.sizes.insert(reading.source.clone(), sizes.clone());
                }
                Event::ClusterView(view) => {
                    self.views.insert(view.node.clone(), view.clone());
                }
                Event::LargeCommand(command) if !command.excluded => self.add(&reading.source, command),
                _ => {}
            }
        }
    }

    /// Whether all of these have answered or failed.
    pub(super) fn is_complete(&self, nodes: &[Subject]) -> bool {
        nodes.iter().all(|node| self.answered.contains(node))
    }

    /// What was large, the largest first.
    pub(super) fn large(&self) -> Vec<LargeRow<'_>> {
        let mut rows: Vec<LargeRow<'_>> = self
            .large
            .iter()
            .map(|((node, kind, command, key), large)| (node, *kind, command, key, *large))
            .collect();
        rows.sort_by_key(|(.., large)| std::cmp::Reverse(large.most));
        rows
    }

    fn add(&mut self, node: &Subject, command: &LargeCommand) {
        let Some(key) = &command.key else { return };
        let place = (node.clone(), command.kind, command.command.clone(), key.clone());
        if self.large.len() >= KEPT && !self.large.contains_key(&place) {
            return;
        }
        let known = self.large.entry(place).or_insert(LargeKey { times: 0, most: 0 });
        known.times += 1;
        known.most = known.most.max(command.bytes);
    }
}
