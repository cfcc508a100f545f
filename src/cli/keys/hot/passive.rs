//! What is known of hot keys without a search: keys of commands that were slow or large.

use std::collections::BTreeMap;

use headwater_engine::metric::Unit;
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{RemoteText, Subject, quantity};

/// Keys that are listed.
const MOST: usize = 10;

/// Keys that are remembered: a search may go on for long, and names never end.
const KEPT: usize = 4_096;

/// The keys that slow logs and COMMANDLOG name, with how often and an example.
#[derive(Default)]
pub(super) struct Passive {
    keys: BTreeMap<(Subject, RemoteText), (u64, String)>,
}

impl Passive {
    /// Notes the keys that a reading names.
    pub(super) fn take(&mut self, reading: &Reading) {
        for event in &reading.events {
            let seen = match event {
                Event::SlowCommand(entry) if !entry.excluded => entry.key.clone().map(|key| {
                    let took = quantity::show(entry.took.as_secs_f64(), Unit::Seconds);
                    (key, format!("{} took {took}", entry.command))
                }),
                Event::LargeCommand(entry) if !entry.excluded => entry.key.clone().map(|key| {
                    let size = quantity::show(entry.bytes as f64, Unit::Bytes);
                    (key, format!("{} of {size}", entry.command))
                }),
                _ => None,
            };
            if let Some((key, words)) = seen {
                let name = (reading.source.clone(), key);
                if self.keys.len() < KEPT || self.keys.contains_key(&name) {
                    self.keys.entry(name).or_insert((0, words)).0 += 1;
                }
            }
        }
    }

    /// The keys that were named most often, with the node that named them.
    pub(super) fn most_named(&self) -> Vec<(&Subject, &RemoteText, u64, &str)> {
        let mut keys: Vec<_> = self
            .keys
            .iter()
            .map(|((node, key), (times, words))| (node, key, *times, words.as_str()))
            .collect();
        keys.sort_by_key(|(.., times, _)| std::cmp::Reverse(*times));
        keys.truncate(MOST);
        keys
    }
}
