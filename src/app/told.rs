//! When to speak of what goes on: a line each, not too often, and once at its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The pause between two lines about one thing.
const PAUSE: Duration = Duration::from_secs(2);

/// Remembers when each thing was last spoken of, and whether its end was told.
#[derive(Debug)]
pub struct Told<Name> {
    told: BTreeMap<Name, (Instant, bool)>,
}

impl<Name> Default for Told<Name> {
    fn default() -> Self {
        Self { told: BTreeMap::new() }
    }
}

impl<Name: Ord> Told<Name> {
    /// Notes that its start was told: the next line about it comes after a pause.
    pub fn started(&mut self, name: Name) {
        self.told.insert(name, (Instant::now(), false));
    }

    /// Whether to speak of it now: at once when nothing was said of it yet, then after each pause, and once at its end.
    /// Whoever asks does so if it is.
    pub fn is_due(&mut self, name: Name, has_ended: bool) -> bool {
        let is_due = self
            .told
            .get(&name)
            .is_none_or(|(at, is_end_told)| !is_end_told && (has_ended || at.elapsed() >= PAUSE));
        if is_due {
            self.told.insert(name, (Instant::now(), has_ended));
        }
        is_due
    }

    /// Whether its end was told.
    pub fn is_end_told(&self, name: &Name) -> bool {
        self.told.get(name).is_some_and(|(_, is_end_told)| *is_end_told)
    }
}
