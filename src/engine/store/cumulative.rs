//! Scrapes of one histogram, thinned as they age: they are cumulative, so thinning costs only resolution.

use std::sync::Arc;
use std::time::Duration;

use super::budget::Caps;
use crate::histogram::Histogram;
use crate::time::Moment;

/// Scrapes younger than this are all kept; older ones at one per ten seconds.
const WHOLE: Duration = Duration::from_secs(90);
const STEP: Duration = Duration::from_secs(10);

/// A minute at one a second: the windows of the rules need them, whatever the budget says.
const FEWEST_SCRAPES: usize = 64;

/// Bytes of a scrape beside its counts.
const SCRAPE_OVERHEAD: usize = 80;

/// The scrapes of one run of the target.
#[derive(Debug, Default)]
pub(super) struct Cumulative {
    scrapes: Vec<(Moment, Arc<Histogram>)>,
    lifetime: Option<Arc<Histogram>>,
    contacted: bool,
}

impl Cumulative {
    pub(super) fn push(&mut self, at: Moment, mut histogram: Arc<Histogram>, restarted: bool, caps: Caps) {
        if let Some((last_at, last)) = self.scrapes.last() {
            if at <= *last_at {
                return;
            }
            if restarted || histogram.since(last).is_none() {
                self.scrapes.clear();
                self.lifetime = None;
            } else if !Arc::ptr_eq(&histogram.bounds, &last.bounds) {
                let shared = Histogram { bounds: Arc::clone(&last.bounds), ..(*histogram).clone() };
                histogram = Arc::new(shared);
            }
        }
        if !self.contacted {
            self.contacted = true;
            self.lifetime = Some(Arc::clone(&histogram));
        }
        self.scrapes.push((at, histogram));
        self.thin(at, caps);
    }

    /// Drops scrapes that stand closer than a step to an older kept one once they are past [`WHOLE`].
    fn thin(&mut self, now: Moment, caps: Caps) {
        if self.scrapes.len() >= 3 {
            let aged = self.scrapes.partition_point(|(at, _)| now.since(*at) > WHOLE);
            if aged >= 2 && self.scrapes[aged - 1].0.since(self.scrapes[aged - 2].0) < STEP {
                self.scrapes.remove(aged - 1);
            }
        }
        while self.scrapes.len() > FEWEST_SCRAPES && self.bytes() > caps.scrape_bytes {
            self.scrapes.remove(0);
        }
    }

    pub(super) fn gained(&self, from: Moment, to: Moment) -> Option<Histogram> {
        let end = self.scrapes.partition_point(|(at, _)| *at <= to);
        let start = self.scrapes.partition_point(|(at, _)| *at <= from).max(1);
        (start < end).then(|| self.scrapes[end - 1].1.since(&self.scrapes[start - 1].1)).flatten()
    }

    pub(super) fn lifetime(&self) -> Option<&Arc<Histogram>> {
        self.lifetime.as_ref()
    }

    pub(super) fn last(&self) -> Option<(Moment, &Histogram)> {
        self.scrapes.last().map(|(at, histogram)| (*at, &**histogram))
    }

    pub(super) fn bytes(&self) -> usize {
        let one =
            self.scrapes.last().map_or(0, |(_, histogram)| histogram.counts.len() * 8 + SCRAPE_OVERHEAD);
        one * self.scrapes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { points: 128, fine_bins: 200, coarse_bins: 10, scrape_bytes: 16 * 1024 };

    fn at_count(count: f64) -> Arc<Histogram> {
        Arc::new(Histogram { bounds: [1.0].into(), counts: [count].into(), count, sum: None })
    }

    #[test]
    fn a_window_gains_what_lies_between_its_scrapes() {
        let mut cumulative = Cumulative::default();
        for second in 0..20 {
            cumulative.push(Moment(second * 1_000), at_count(second as f64 * 10.0), false, CAPS);
        }
        let gained = cumulative.gained(Moment(5_000), Moment(15_000)).unwrap();
        assert_eq!(gained.count, 100.0);
        assert!(cumulative.gained(Moment(50_000), Moment(60_000)).is_none());
    }

    #[test]
    fn many_wide_histograms_keep_to_their_bytes() {
        let wide = |count: f64| {
            let bounds: Arc<[f64]> = (0..200).map(f64::from).collect();
            Arc::new(Histogram { counts: vec![count; 200].into(), bounds, count, sum: None })
        };
        let mut cumulative = Cumulative::default();
        for second in 0..2_000 {
            cumulative.push(Moment(second * 1_000), wide(second as f64), false, CAPS);
        }
        assert_eq!(cumulative.scrapes.len(), FEWEST_SCRAPES);
        assert_eq!(cumulative.last().unwrap().1.count, 1_999.0);
    }

    #[test]
    fn a_count_and_a_sum_without_buckets_give_means() {
        let mut cumulative = Cumulative::default();
        for second in 0..200_u32 {
            let (count, sum) = (f64::from(second) * 10.0, Some(f64::from(second) * 2.0));
            let whole = Arc::new(Histogram { bounds: [].into(), counts: [].into(), count, sum });
            cumulative.push(Moment(i64::from(second) * 1_000), whole, false, CAPS);
        }
        let gained = cumulative.gained(Moment(150_000), Moment(180_000)).unwrap();
        assert_eq!((gained.count, gained.mean(), gained.percentile(0.5)), (300.0, Some(0.2), None));
        assert!(cumulative.bytes() > 0);
    }

    #[test]
    fn a_restart_voids_what_was_before() {
        let mut cumulative = Cumulative::default();
        cumulative.push(Moment(0), at_count(500.0), false, CAPS);
        assert_eq!(cumulative.lifetime().unwrap().count, 500.0);
        cumulative.push(Moment(1_000), at_count(3.0), false, CAPS);
        assert!(cumulative.lifetime().is_none());
        assert!(cumulative.gained(Moment(0), Moment(1_000)).is_none());
    }

    #[test]
    fn old_scrapes_are_thinned_and_the_sums_still_agree() {
        let mut cumulative = Cumulative::default();
        for second in 0..600 {
            cumulative.push(Moment(second * 1_000), at_count(second as f64), false, CAPS);
        }
        assert!(cumulative.scrapes.len() < 160, "{} scrapes", cumulative.scrapes.len());
        let gained = cumulative.gained(Moment(100_000), Moment(500_000)).unwrap();
        assert!((390.0..=410.0).contains(&gained.count), "{}", gained.count);
    }
}
