//! The expiries of all shards together: each shard's sample stands for all of its keys.

use std::collections::BTreeMap;

use headwater_engine::Moment;
use headwater_engine::reading::{Scan, ToCome};

/// When the keys of some shards expire. Shares of seconds and spans are of the keys that expire at all.
#[derive(Debug, PartialEq)]
pub(super) struct Forecast {
    /// When the newest key was asked.
    pub(super) at: Moment,
    /// Keys in all.
    pub(super) keys: f64,
    /// Keys that were asked.
    pub(super) sampled: u64,
    /// The share that never expires.
    pub(super) without: f64,
    /// The shares that expire within so many seconds and not within the span before.
    pub(super) spans: Vec<(Option<u64>, f64)>,
    /// Keys of the samples that expire at all.
    pub(super) volatile: u64,
    /// The shares of the fullest seconds, in the order of time.
    seconds: BTreeMap<Moment, f64>,
}

impl Forecast {
    /// What the scans say together; `None` where none has a sample.
    pub(super) fn of(scans: &[Scan]) -> Option<Self> {
        let (mut keys, mut sampled, mut without, mut at) = (0.0, 0, 0.0, None);
        let mut spans: BTreeMap<u64, f64> = BTreeMap::new();
        let mut seconds: BTreeMap<Moment, f64> = BTreeMap::new();
        let mut asked = 0;
        for scan in scans {
            let Some(expiries) = scan.expiries.as_ref().filter(|expiries| expiries.sampled > 0) else {
                continue;
            };
            // Shards are sampled by different shares.
            let weight = scan.scanned as f64 / expiries.sampled as f64;
            keys += scan.scanned as f64;
            sampled += expiries.sampled;
            asked += expiries.volatile();
            without += expiries.without as f64 * weight;
            at = at.max(Some(expiries.at));
            for span in &expiries.spans {
                *spans.entry(span.within_s.unwrap_or(u64::MAX)).or_default() += span.keys as f64 * weight;
            }
            for second in &expiries.seconds {
                *seconds.entry(second.at).or_default() += second.keys as f64 * weight;
            }
        }
        let volatile = f64::max(keys - without, f64::MIN_POSITIVE);
        seconds.values_mut().for_each(|sum| *sum /= volatile);
        Some(Self {
            at: at?,
            keys,
            sampled,
            without: without / keys,
            spans: spans
                .into_iter()
                .map(|(end, sum)| (Some(end).filter(|end| *end < u64::MAX), sum / volatile))
                .collect(),
            volatile: asked,
            seconds,
        })
    }

    /// What the samples say of herds that are still to come, judged as the rule and the screen do.
    pub(super) fn to_come(&self, now: Moment) -> ToCome {
        let seconds = self.seconds.iter().map(|(at, share)| (*at, *share));
        ToCome::of(seconds, self.volatile, 1.0, self.at, now)
    }

    /// So many of the fullest seconds, the fullest first.
    pub(super) fn fullest(&self, count: usize) -> Vec<(Moment, f64)> {
        let mut seconds: Vec<_> = self.seconds.iter().map(|(at, share)| (*at, *share)).collect();
        seconds.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        seconds.truncate(count);
        seconds
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::Subject;
    use headwater_engine::reading::{Expiries, ExpirySecond, ExpirySpan};

    use super::*;

    fn scan(scanned: u64, sampled: u64, without: u64, seconds: &[(i64, u64)]) -> Scan {
        let shard: Subject = "redis/features#1".parse().unwrap();
        let second = |(at, keys): &(i64, u64)| ExpirySecond { at: Moment(at * 1_000), keys: *keys };
        let expiries = Expiries {
            at: Moment(500),
            sampled,
            without,
            seconds: seconds.iter().map(second).collect(),
            spans: vec![ExpirySpan { within_s: Some(60), keys: sampled - without }],
        };
        Scan { scanned, expiries: Some(expiries), ..Scan::begun(shard.clone(), shard) }
    }

    #[test]
    fn a_small_shard_that_is_sampled_whole_does_not_outweigh_a_large_one() {
        let scans = [scan(100, 100, 0, &[(60, 100)]), scan(10_000, 400, 200, &[(70, 200)])];
        let forecast = Forecast::of(&scans).unwrap();
        assert_eq!((forecast.keys, forecast.sampled), (10_100.0, 500));
        assert!((forecast.without - 5_000.0 / 10_100.0).abs() < 1e-9);
        let ToCome::Herd { at, share } = forecast.to_come(Moment(500)) else { panic!("{forecast:?}") };
        assert_eq!(at, Moment(70_000));
        assert!((share - 5_000.0 / 5_100.0).abs() < 1e-9);
        assert_eq!(forecast.spans.len(), 1);
        assert!((forecast.spans[0].1 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_handful_is_no_herd_what_has_passed_is_none_to_come_and_no_sample_no_forecast() {
        let now = Moment(500);
        assert_eq!(Forecast::of(&[scan(10, 10, 6, &[(9, 4)])]).unwrap().to_come(now), ToCome::TooFew);
        let herd = Forecast::of(&[scan(400, 400, 0, &[(9, 400)])]).unwrap();
        assert!(matches!(herd.to_come(now), ToCome::Herd { .. }));
        assert_eq!(herd.to_come(Moment(9_000)), ToCome::Passed);
        let eternal = Forecast::of(&[scan(10, 10, 10, &[])]).unwrap();
        assert_eq!((eternal.without, eternal.to_come(now)), (1.0, ToCome::TooFew));
        assert_eq!(Forecast::of(&[scan(0, 0, 0, &[])]), None);
    }
}
