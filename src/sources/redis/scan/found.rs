//! What a scan has found so far: the biggest keys, the longest, patterns and expiries, all of bounded size.

use headwater_engine::RemoteText;
use headwater_engine::reading::KeySize;
use headwater_engine::slot::slot_of;

use super::super::allowed::Length;
use super::expiry::ExpirySample;
use super::pattern::Patterns;

/// From this size on a key can be among the longest: TYPE and the lengths add to a node's hits.
const WORTH_A_LOOK: u64 = 8 * 1024;

/// A key with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) key: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) kind: Option<String>,
    pub(super) elements: Option<u64>,
}

/// What a scan has found so far.
#[derive(Clone, Debug)]
pub(super) struct Found {
    keep: usize,
    /// The biggest, biggest first.
    biggest: Vec<Known>,
    /// The collections with most elements, most first.
    longest: Vec<Known>,
    pub(super) patterns: Patterns,
    pub(super) expiries: ExpirySample,
    /// Keys whose type is asked for next.
    to_type: Vec<Known>,
    /// Keys whose length is asked for next.
    pub(super) to_measure: Vec<(Known, Length)>,
    describing: Right,
}

/// Whether the user may ask a thing. One key is asked first, because every refusal is logged at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Not tried.
    Unknown,
    /// An answer has come.
    Granted,
    /// A refusal has come.
    Refused,
}

impl Right {
    /// How many of so many keys may be asked.
    pub(super) fn of(self, keys: usize) -> usize {
        match self {
            Self::Unknown => keys.min(1),
            Self::Granted => keys,
            Self::Refused => 0,
        }
    }
}

impl Found {
    /// Nothing yet, of a shard with so many keys; so many are kept of each kind.
    pub(super) fn new(keep: usize, keys: u64) -> Self {
        Self {
            keep,
            biggest: vec![],
            longest: vec![],
            patterns: Patterns::default(),
            expiries: ExpirySample::new(keys),
            to_type: vec![],
            to_measure: vec![],
            describing: Right::Unknown,
        }
    }

    /// Takes a key's size.
    pub(super) fn weighed(&mut self, key: &[u8], bytes: u64) {
        self.patterns.add(key, bytes);
        let is_big =
            self.biggest.len() < self.keep || self.biggest.last().is_some_and(|last| last.bytes < bytes);
        let known = || Known { key: key.to_vec(), bytes, kind: None, elements: None };
        // SCAN may return a key twice.
        if is_big && !self.biggest.iter().any(|known| known.key == key) {
            let place = self.biggest.partition_point(|known| known.bytes >= bytes);
            self.biggest.insert(place, known());
            self.biggest.truncate(self.keep);
        }
        // An element takes a byte at the very least.
        let least = self.longest.get(self.keep - 1).and_then(|last| last.elements).unwrap_or(0);
        if bytes >= WORTH_A_LOOK && bytes > least && self.describing != Right::Refused {
            self.to_type.push(known());
        }
    }

    /// Takes out the keys whose type is asked for now.
    pub(super) fn next_to_type(&mut self) -> Vec<Known> {
        let now = self.describing.of(self.to_type.len());
        self.to_type.drain(..now).collect()
    }

    /// Takes the type of a key.
    pub(super) fn typed(&mut self, mut known: Known, kind: String) {
        self.describing = Right::Granted;
        let big = self.biggest.iter_mut().find(|big| big.key == known.key);
        let is_big = big.is_some();
        if let Some(big) = big {
            big.kind = Some(kind.clone());
        }
        if let Some(length) = Length::of_type(&kind)
            && (is_big || length != Length::String)
        {
            known.kind = Some(kind);
            self.to_measure.push((known, length));
        }
    }

    /// Takes the length of a key.
    pub(super) fn measured(&mut self, mut known: Known, length: Length, elements: u64) {
        if let Some(big) = self.biggest.iter_mut().find(|big| big.key == known.key) {
            big.elements = Some(elements);
        }
        if length == Length::String || known.bytes < WORTH_A_LOOK {
            return;
        }
        known.elements = Some(elements);
        self.longest.retain(|long| long.key != known.key);
        let place = self.longest.partition_point(|long| long.elements.unwrap_or(0) >= elements);
        self.longest.insert(place, known);
        self.longest.truncate(self.keep);
    }

    /// Has the type of every kept key asked for that has none yet.
    pub(super) fn ask_the_rest(&mut self) {
        if self.describing != Right::Refused {
            let unknown = self.biggest.iter().filter(|big| big.kind.is_none());
            let unknown = unknown.filter(|big| !self.to_type.iter().any(|asked| asked.key == big.key));
            let unknown: Vec<_> = unknown.cloned().collect();
            self.to_type.extend(unknown);
        }
    }

    /// Whether types, lengths or expiries are still to be asked for.
    pub(super) fn has_questions(&self) -> bool {
        !self.to_type.is_empty() || !self.to_measure.is_empty() || self.expiries.has_questions()
    }

    /// Asks for no more types and lengths: the user may not.
    pub(super) fn describe_no_more(&mut self) {
        self.describing = Right::Refused;
        self.to_type.clear();
        self.to_measure.clear();
    }

    /// The biggest and the longest keys as users see them.
    pub(super) fn rows(&self, clustered: bool) -> (Vec<KeySize>, Vec<KeySize>) {
        let row = |known: &Known| KeySize {
            key: RemoteText::from_bytes(&known.key),
            slot: clustered.then(|| slot_of(&known.key)),
            kind: RemoteText::new(known.kind.as_deref().unwrap_or_default()),
            bytes: known.bytes,
            elements: known.elements,
        };
        (self.biggest.iter().map(row).collect(), self.longest.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(found: &mut Found, kind: &str, elements: u64) {
        for known in std::mem::take(&mut found.to_type) {
            found.typed(known, kind.to_owned());
        }
        for (known, length) in std::mem::take(&mut found.to_measure) {
            found.measured(known, length, elements);
        }
    }

    #[test]
    fn the_biggest_and_the_longest_are_two_rankings() {
        let mut found = Found::new(2, 9);
        found.weighed(b"text", 1_000_000);
        described(&mut found, "string", 999_900);
        found.weighed(b"list", 20_000);
        described(&mut found, "list", 9_000);
        found.weighed(b"hash", 50_000);
        described(&mut found, "hash", 12);
        found.weighed(b"tiny", 100);
        assert!(!found.has_questions(), "a small key is asked nothing");
        found.weighed(b"hash", 50_000);
        described(&mut found, "hash", 12);
        let (biggest, longest) = found.rows(true);
        let names = |rows: &[KeySize]| rows.iter().map(|row| row.key.to_string()).collect::<Vec<_>>();
        assert_eq!(names(&biggest), ["text", "hash"]);
        assert_eq!(names(&longest), ["list", "hash"]);
        assert_eq!((biggest[0].kind.as_str(), biggest[0].elements), ("string", Some(999_900)));
        assert_eq!(longest[0].slot, Some(slot_of(b"list")));
    }

    #[test]
    fn a_key_that_cannot_be_longer_than_the_longest_is_not_asked() {
        let mut found = Found::new(1, 9);
        found.weighed(b"long", 90_000);
        described(&mut found, "set", 20_000);
        found.weighed(b"short", 19_000);
        assert!(!found.has_questions());
        found.weighed(b"maybe", 30_000);
        assert!(found.has_questions());
        found.describe_no_more();
        found.weighed(b"maybe", 80_000);
        assert!(!found.has_questions());
    }
}
