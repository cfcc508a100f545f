//! When keys expire, by a random sample: PTTL adds to a node's hits, so few keys are asked.

use std::collections::BTreeMap;

use headwater_engine::Moment;
use headwater_engine::reading::{Expiries, ExpirySecond, ExpirySpan};

use super::found::Right;

/// The share of a large shard's keys that is asked.
const SHARE: f64 = 1.0 / 64.0;

/// Of a small shard so many keys are asked, or all: a handful would show no herd.
const LEAST: f64 = 512.0;

/// How many answers are kept; from then on a new one takes the place of a random one.
const KEPT: usize = 16_384;

/// How many of the busiest seconds are told.
const SECONDS_SHOWN: usize = 48;

/// Where the spans end, in seconds.
const SPANS: [u64; 9] = [1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000];

/// PTTL's answers for a key that is gone, and for one that never expires.
const GONE: i64 = -2;
const NEVER: i64 = -1;

/// The sample so far.
#[derive(Clone, Debug)]
pub(super) struct ExpirySample {
    share: f64,
    right: Right,
    /// Keys that were picked and not asked yet.
    to_ask: Vec<Vec<u8>>,
    answers: u64,
    /// The second in which each expires, since the Unix epoch; `None` for those that never do.
    kept: Vec<Option<i64>>,
    at: Moment,
}

impl ExpirySample {
    /// An empty sample of a shard with so many keys.
    pub(super) fn new(keys: u64) -> Self {
        let share = (LEAST / keys.max(1) as f64).clamp(SHARE, 1.0);
        Self { share, right: Right::Unknown, to_ask: vec![], answers: 0, kept: vec![], at: Moment(0) }
    }

    /// Picks those of these keys that are asked.
    pub(super) fn pick(&mut self, keys: &[Vec<u8>]) {
        if self.right != Right::Refused {
            let picked = keys.iter().filter(|_| rand::random::<f64>() < self.share);
            self.to_ask.extend(picked.cloned());
        }
    }

    /// Whether keys are still to be asked.
    pub(super) fn has_questions(&self) -> bool {
        !self.to_ask.is_empty()
    }

    /// Takes out the keys that are asked now.
    pub(super) fn next_to_ask(&mut self) -> Vec<Vec<u8>> {
        let now = self.right.of(self.to_ask.len());
        self.to_ask.drain(..now).collect()
    }

    /// Takes the milliseconds that a key has left, as PTTL says.
    pub(super) fn take(&mut self, left_ms: i64, now: Moment) {
        self.right = Right::Granted;
        if left_ms == GONE || left_ms < NEVER {
            return;
        }
        self.at = now;
        let second = (left_ms != NEVER).then(|| now.0.saturating_add(left_ms).div_euclid(1_000));
        self.answers += 1;
        if self.kept.len() < KEPT {
            self.kept.push(second);
        } else {
            let place = rand::random_range(0..self.answers);
            if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.kept.get_mut(place)) {
                *kept = second;
            }
        }
    }

    /// Notes that the user may not ask.
    pub(super) fn refused(&mut self) {
        self.right = Right::Refused;
        self.to_ask.clear();
    }

    /// What the sample says; `None` while nobody was asked.
    pub(super) fn expiries(&self) -> Option<Expiries> {
        if self.kept.is_empty() {
            return None;
        }
        let mut seconds: BTreeMap<i64, u64> = BTreeMap::new();
        let mut spans = [0; SPANS.len() + 1];
        for second in self.kept.iter().flatten() {
            *seconds.entry(*second).or_default() += 1;
            let left = second.saturating_sub(self.at.0.div_euclid(1_000));
            let left = u64::try_from(left).unwrap_or(0);
            spans[SPANS.partition_point(|end| *end < left)] += 1;
        }
        let sampled = self.kept.len() as u64;
        let volatile: u64 = seconds.values().sum();
        let mut busiest: Vec<_> = seconds.into_iter().collect();
        busiest.sort_by_key(|(second, keys)| (std::cmp::Reverse(*keys), *second));
        busiest.truncate(SECONDS_SHOWN);
        busiest.sort_unstable();
        let ends = SPANS.iter().map(|end| Some(*end)).chain([None]);
        Some(Expiries {
            at: self.at,
            sampled,
            without: sampled - volatile,
            seconds: busiest
                .into_iter()
                .map(|(second, keys)| ExpirySecond { at: Moment(second.saturating_mul(1_000)), keys })
                .collect(),
            spans: ends
                .zip(spans)
                .filter(|(_, keys)| *keys > 0)
                .map(|(within_s, keys)| ExpirySpan { within_s, keys })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_herd_stands_out_and_every_key_is_in_a_span() {
        let mut sample = ExpirySample::new(10);
        assert_eq!(sample.expiries(), None);
        let keys = vec![vec![]; 500];
        sample.pick(&keys);
        assert_eq!(sample.next_to_ask().len(), 1, "one is asked before it is known that it may be");
        let now = Moment(1_700_000_000_250);
        for left in [-2, -1, -1] {
            sample.take(left, now);
        }
        for key in 0..200 {
            sample.take(60_000 + key * 1_000, now);
        }
        for _ in 0..40 {
            sample.take(30_000, now);
        }
        assert_eq!(sample.next_to_ask().len(), 499, "a small shard is asked whole");
        assert!(!sample.has_questions());
        let expiries = sample.expiries().unwrap();
        assert_eq!((expiries.sampled, expiries.without, expiries.volatile()), (242, 2, 240));
        let (second, share) = expiries.herd().unwrap();
        assert_eq!((second.at, second.keys), (Moment(1_700_000_030_000), 40));
        assert!((share - 40.0 / 240.0).abs() < 1e-9);
        assert!(expiries.seconds.len() <= SECONDS_SHOWN && expiries.seconds.is_sorted_by_key(|s| s.at));
        assert_eq!(expiries.spans.iter().map(|span| span.keys).sum::<u64>(), 240);
        assert_eq!(expiries.spans[0], ExpirySpan { within_s: Some(60), keys: 41 });
    }

    #[test]
    fn a_long_scan_keeps_no_more_than_its_sample() {
        let mut sample = ExpirySample::new(u64::MAX);
        for key in 0..40_000_i64 {
            sample.take(if key % 4 == 0 { -1 } else { i64::MAX - key }, Moment(5));
        }
        let expiries = sample.expiries().unwrap();
        assert_eq!(expiries.sampled, KEPT as u64);
        let share = expiries.without as f64 / expiries.sampled as f64;
        assert!((0.2..0.3).contains(&share), "{share}");
        sample.refused();
        sample.pick(&vec![vec![]; 1_000]);
        assert!(!sample.has_questions());
    }
}
