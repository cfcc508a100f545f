//! Which request ids were there before within the last half minute, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// How long an id is remembered after each time that it was there.
pub const REMEMBERED_FOR_S: i64 = 30;

/// The ids of the last half minute: hashes of them, by the second in which they were there.
#[derive(Debug)]
pub struct Repeats {
    most: usize,
    seconds: VecDeque<(i64, Vec<(u16, u64)>)>,
    held: usize,
    counts: HashMap<(u16, u64), u32, FixedState>,
}

impl Repeats {
    /// Remembers at most so many requests; with more the span gets shorter, and never the memory larger.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), seconds: VecDeque::new(), held: 0, counts: HashMap::default() }
    }

    /// Notes a request and says how often its id was there on this route in the 30 s before. Seconds do not go back: an
    /// earlier one counts as the latest.
    pub fn note(&mut self, second: i64, route: u16, id: &[u8]) -> u32 {
        let second = self.seconds.back().map_or(second, |(latest, _)| second.max(*latest));
        self.forget_before(second - REMEMBERED_FOR_S);
        while self.held >= self.most {
            self.forget_oldest();
        }
        let key = (route, FixedState::with_seed(u64::from(route)).hash_one(id));
        match self.seconds.back_mut() {
            Some((latest, keys)) if *latest == second => keys.push(key),
            _ => self.seconds.push_back((second, vec![key])),
        }
        self.held += 1;
        let count = self.counts.entry(key).or_default();
        *count += 1;
        *count - 1
    }

    /// Forgets what is over by this second.
    pub fn pass(&mut self, second: i64) {
        self.forget_before(second - REMEMBERED_FOR_S);
    }

    /// Requests that are remembered.
    pub fn held(&self) -> usize {
        self.held
    }

    fn forget_before(&mut self, second: i64) {
        while self.seconds.front().is_some_and(|(oldest, _)| *oldest < second) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, keys)) = self.seconds.pop_front() else { return };
        self.held -= keys.len();
        for key in keys {
            let Some(count) = self.counts.get_mut(&key) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_remembered_for_half_a_minute_on_its_route() {
        let mut repeats = Repeats::new(1_000);
        assert_eq!(repeats.note(100, 0, b"a"), 0);
        assert_eq!(repeats.note(100, 1, b"a"), 0, "another route");
        assert_eq!(repeats.note(130, 0, b"a"), 1);
        assert_eq!(repeats.note(131, 0, b"a"), 1, "the first is too old");
        assert_eq!(repeats.note(131, 0, b"a"), 2);
        assert_eq!(repeats.note(131, 0, b"b"), 0);
        repeats.pass(200);
        assert_eq!((repeats.held(), repeats.counts.len()), (0, 0));
    }

    proptest! {
        #[test]
        fn it_counts_as_a_list_of_all_requests_does(
            requests in proptest::collection::vec((0i64..6, 0u16..3, 0u8..8), 0..300),
        ) {
            let mut repeats = Repeats::new(10_000);
            let mut all: Vec<(i64, u16, u8)> = vec![];
            let mut now = 0;
            for (later, route, id) in requests {
                now += later;
                let is_same = |known: &&(i64, u16, u8)| known.0 >= now - REMEMBERED_FOR_S && (known.1, known.2) == (route, id);
                let expected = all.iter().filter(is_same).count();
                prop_assert_eq!(repeats.note(now, route, &[id]) as usize, expected);
                all.push((now, route, id));
            }
        }

        #[test]
        fn memory_is_bounded_whatever_comes(
            requests in proptest::collection::vec((0i64..3, 0u16..2, any::<[u8; 2]>()), 0..400),
            most in 1usize..50,
        ) {
            let mut repeats = Repeats::new(most);
            let mut now = 0;
            for (later, route, id) in requests {
                now += later;
                repeats.note(now, route, &id);
                prop_assert!(repeats.held() <= most);
                prop_assert!(repeats.counts.len() <= most);
            }
        }
    }
}
