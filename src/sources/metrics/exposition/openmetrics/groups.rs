//! Which samples of a family have the same labels.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::super::Label;

/// The label sets of one family, numbered in the order in which they begin.
#[derive(Default)]
pub(super) struct Groups<'p> {
    /// By a hash that does not depend on the order of labels: the number, and the first labels with what was left out.
    by_hash: HashMap<u64, (usize, &'p [Label<'p>], &'p str), RandomState>,
    hasher: RandomState,
    /// How many there are.
    pub(super) count: usize,
}

impl<'p> Groups<'p> {
    /// Forgets all of them and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.by_hash.clear();
        self.count = 0;
    }

    /// The number of a label set, without the label that is called `part`.
    pub(super) fn number(&mut self, labels: &'p [Label<'p>], part: &'p str) -> usize {
        let rest = labels.iter().filter(|label| label.name != part);
        let hash = rest
            .fold(0_u64, |sum, label| sum.wrapping_add(self.hasher.hash_one((&*label.name, &*label.value))));
        let next = self.count;
        let (known, first, left_out) = *self.by_hash.entry(hash).or_insert((next, labels, part));
        if known < next && is_same_set((first, left_out), (labels, part)) {
            return known;
        }
        self.count += 1;
        next
    }
}

/// Whether two lists have the same labels in whatever order, each without the one of a name.
fn is_same_set(one: (&[Label<'_>], &str), other: (&[Label<'_>], &str)) -> bool {
    let sorted = |(labels, part): (&[Label<'_>], &str)| {
        let mut labels: Vec<_> = labels
            .iter()
            .filter(|label| label.name != part)
            .map(|label| (label.name.to_string(), label.value.to_string()))
            .collect();
        labels.sort_unstable();
        labels
    };
    sorted(one) == sorted(other)
}
