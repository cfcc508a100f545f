//! Scrapes of one histogram, thinned as they age: they are cumulative, so thinning costs only resolution.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::budget::Caps;
use crate::histogram::Histogram;
use crate::time::Moment;

/// Scrapes younger than this are all kept; of older ones the last of each step.
const WHOLE: Duration = Duration::from_secs(90);
const STEP_MS: i64 = 10_000;

/// A minute at one a second: the windows of the rules need them, whatever the budget says.
const FEWEST_SCRAPES: usize = 64;

/// Scrapes that are appended before any is looked at again.
const CHUNK_SCRAPES: usize = 16;

/// Bytes of a scrape beside its counts.
const SCRAPE_OVERHEAD: usize = 80;

/// A histogram as it stood at one moment.
#[derive(Clone, Debug)]
struct Scrape {
    at: Moment,
    /// Scrapes of one run of the target have the same number: between two runs nothing can be subtracted.
    run: u32,
    histogram: Arc<Histogram>,
}

/// Room for the newest scrapes, which whoever holds a handle to fewer of them does not see.
#[derive(Debug, Default)]
struct Chunk {
    scrapes: [OnceLock<Scrape>; CHUNK_SCRAPES],
}

/// The history of one histogram, as a snapshot holds it: two shared handles, whatever is appended later.
#[derive(Clone, Debug, Default)]
pub struct Scrapes {
    past: Arc<VecDeque<Scrape>>,
    tail: Arc<Chunk>,
    /// How many scrapes of the tail there were when the handle was taken.
    tail_length: usize,
}

impl Scrapes {
    /// What was gained between two moments; the nearest scrapes at or before each are taken, and where the target
    /// restarted in between or was not watched before, the first of its present run. `None` when there are no two scrapes
    /// of one run in between.
    pub fn gained(&self, from: Moment, to: Moment) -> Option<Histogram> {
        self.gained_since(from, to).map(|(_, gained)| gained)
    }

    /// The same with the moment of the scrape from which on it was gained.
    pub fn gained_since(&self, from: Moment, to: Moment) -> Option<(Moment, Histogram)> {
        let (start, end) = self.ends(from, to)?;
        Some((start.at, end.histogram.since(&start.histogram)?))
    }

    /// The moment of the scrape from which on [`Scrapes::gained`] tells.
    pub fn gained_from(&self, from: Moment, to: Moment) -> Option<Moment> {
        self.ends(from, to).map(|(start, _)| start.at)
    }

    /// The first and the last scrape of a span.
    fn ends(&self, from: Moment, to: Moment) -> Option<(&Scrape, &Scrape)> {
        let last = self.place_at(to)?;
        let end = self.get(last)?;
        let begun = self.partition_point(|scrape| scrape.run < end.run);
        let first = self.place_at(from).unwrap_or(0).max(begun);
        if first >= last {
            return None;
        }
        Some((self.get(first)?, end))
    }

    /// When the newest scrape at or before a moment was made.
    pub fn last_at(&self, moment: Moment) -> Option<Moment> {
        Some(self.get(self.place_at(moment)?)?.at)
    }

    /// When the oldest scrape that is kept was made.
    pub fn first_at(&self) -> Option<Moment> {
        Some(self.get(0)?.at)
    }

    /// The bounds of the buckets in the newest scrape at or before a moment, in the metric's unit; empty where the target
    /// keeps a count and a sum alone.
    pub fn bounds_at(&self, moment: Moment) -> Option<&Arc<[f64]>> {
        Some(&self.get(self.place_at(moment)?)?.histogram.bounds)
    }

    fn len(&self) -> usize {
        self.past.len() + self.tail_length
    }

    fn get(&self, place: usize) -> Option<&Scrape> {
        match place.checked_sub(self.past.len()) {
            None => self.past.get(place),
            Some(place) if place < self.tail_length => self.tail.scrapes.get(place)?.get(),
            Some(_) => None,
        }
    }

    fn last(&self) -> Option<&Scrape> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The place of the newest scrape at or before a moment.
    fn place_at(&self, moment: Moment) -> Option<usize> {
        self.partition_point(|scrape| scrape.at <= moment).checked_sub(1)
    }

    /// The place of the first scrape for which `is_before` is false; it is true of none behind that.
    fn partition_point(&self, is_before: impl Fn(&Scrape) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle) {
                Some(scrape) if is_before(scrape) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

/// The scrapes of a target's histogram, as the store keeps them, with what they began with.
#[derive(Debug, Default)]
pub(super) struct Cumulative {
    scrapes: Scrapes,
    lifetime: Option<Arc<Histogram>>,
    contacted: bool,
}

impl Cumulative {
    pub(super) fn push(&mut self, at: Moment, mut histogram: Arc<Histogram>, restarted: bool, caps: Caps) {
        let mut run = 0;
        if let Some(last) = self.scrapes.last() {
            if at <= last.at {
                return;
            }
            run = last.run;
            if restarted || histogram.since(&last.histogram).is_none() {
                run = run.saturating_add(1);
                self.lifetime = None;
            } else if !Arc::ptr_eq(&histogram.bounds, &last.histogram.bounds) {
                let bounds = Arc::clone(&last.histogram.bounds);
                histogram = Arc::new(Histogram { bounds, ..(*histogram).clone() });
            }
        }
        if !self.contacted {
            self.contacted = true;
            self.lifetime = Some(Arc::clone(&histogram));
        }
        if self.scrapes.tail_length == CHUNK_SCRAPES {
            self.seal(at, caps);
        }
        let Scrapes { tail, tail_length, .. } = &mut self.scrapes;
        // Only the store appends, and only to the one handle that it keeps, so that no two scrapes want the same place.
        if let Some(place) = tail.scrapes.get(*tail_length) {
            place.get_or_init(|| Scrape { at, run, histogram });
            *tail_length += 1;
        }
    }

    /// Moves a full tail to the past, of which what has grown old is thinned and what is too much is let go.
    fn seal(&mut self, now: Moment, caps: Caps) {
        let full = std::mem::take(&mut self.scrapes.tail);
        self.scrapes.tail_length = 0;
        let past = Arc::make_mut(&mut self.scrapes.past);
        past.extend(full.scrapes.iter().filter_map(OnceLock::get).cloned());
        thin(past, now);
        let one = past.back().map_or(1, bytes_of);
        // The tail will fill up too.
        let most = (caps.scrape_bytes / one).saturating_sub(CHUNK_SCRAPES).max(FEWEST_SCRAPES);
        past.drain(..past.len().saturating_sub(most));
    }

    pub(super) fn gained(&self, from: Moment, to: Moment) -> Option<Histogram> {
        self.scrapes.gained(from, to)
    }

    pub(super) fn lifetime(&self) -> Option<&Arc<Histogram>> {
        self.lifetime.as_ref()
    }

    pub(super) fn last_at(&self) -> Option<Moment> {
        self.scrapes.last().map(|last| last.at)
    }

    /// A handle to all of them.
    pub(super) fn scrapes(&self) -> &Scrapes {
        &self.scrapes
    }

    pub(super) fn bytes(&self) -> usize {
        self.scrapes.last().map_or(0, bytes_of) * self.scrapes.len()
    }
}

fn bytes_of(scrape: &Scrape) -> usize {
    scrape.histogram.counts.len() * size_of::<f64>() + SCRAPE_OVERHEAD
}

/// Drops what is past [`WHOLE`] but the first scrape of a run and the last of each step: a window that ends where a step
/// does then has the very scrape that it would have had of all.
fn thin(past: &mut VecDeque<Scrape>, now: Moment) {
    let step = |scrape: &Scrape| (scrape.run, scrape.at.0.div_euclid(STEP_MS));
    let aged = past.partition_point(|scrape| now.since(scrape.at) > WHOLE);
    // The last that has aged may have younger ones of its own step behind it, which will age too.
    let steps: Vec<_> = past.iter().take(aged + 1).map(step).collect();
    let is_kept = |place: usize| {
        let Some(own) = steps.get(place).filter(|_| place < aged) else { return true };
        let before = place.checked_sub(1).and_then(|before| steps.get(before));
        before.is_none_or(|before| before.0 != own.0) || steps.get(place + 1) != Some(own)
    };
    let mut places = 0..;
    past.retain(|_| places.next().is_none_or(is_kept));
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
        let kept = cumulative.scrapes.len();
        assert!((FEWEST_SCRAPES..=FEWEST_SCRAPES + CHUNK_SCRAPES).contains(&kept), "{kept} scrapes");
        assert_eq!(cumulative.last_at(), Some(Moment(1_999_000)));
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
    fn a_restart_voids_the_lifetime_and_nothing_is_subtracted_over_it() {
        let mut cumulative = Cumulative::default();
        cumulative.push(Moment(0), at_count(500.0), false, CAPS);
        assert_eq!(cumulative.lifetime().unwrap().count, 500.0);
        cumulative.push(Moment(1_000), at_count(530.0), false, CAPS);
        cumulative.push(Moment(2_000), at_count(3.0), false, CAPS);
        assert!(cumulative.lifetime().is_none());
        assert!(cumulative.gained(Moment(0), Moment(2_000)).is_none());
        cumulative.push(Moment(3_000), at_count(600.0), true, CAPS);
        cumulative.push(Moment(4_000), at_count(607.0), false, CAPS);
        let gained = |from, to| cumulative.gained(Moment(from), Moment(to)).map(|gained| gained.count);
        assert_eq!(
            (gained(0, 1_000), gained(0, 4_000), gained(3_500, 4_000)),
            (Some(30.0), Some(7.0), Some(7.0))
        );
        assert_eq!(gained(2_000, 3_000), None, "a restart that has counted further than before");
    }

    #[test]
    fn a_handle_does_not_change_when_scrapes_arrive() {
        let mut cumulative = Cumulative::default();
        let mut held = vec![];
        for second in 0..50 {
            cumulative.push(Moment(second * 1_000), at_count(second as f64), false, CAPS);
            held.push(cumulative.scrapes().clone());
        }
        for (second, scrapes) in (0..).zip(&held) {
            assert_eq!(scrapes.last_at(Moment(i64::MAX)), Some(Moment(second * 1_000)));
            let gained = scrapes.gained(Moment(0), Moment(i64::MAX)).map(|gained| gained.count);
            assert_eq!(gained, (second > 0).then_some(second as f64));
        }
    }

    #[test]
    fn old_scrapes_are_thinned_and_the_sums_still_agree() {
        let mut cumulative = Cumulative::default();
        for second in 0..600 {
            cumulative.push(Moment(second * 1_000), at_count(second as f64), false, CAPS);
        }
        assert!(cumulative.scrapes.len() < 175, "{} scrapes", cumulative.scrapes.len());
        let gained = cumulative.gained(Moment(100_000), Moment(500_000)).unwrap();
        assert!((390.0..=410.0).contains(&gained.count), "{}", gained.count);
        // Each step of ten seconds has its own scrape, whatever the second at which one began.
        for step in 0..50 {
            let from = Moment(step * 10_000 - 1);
            let gained = cumulative.gained(from, from + Duration::from_secs(10)).unwrap();
            assert_eq!(gained.count, if step == 0 { 9.0 } else { 10.0 }, "step {step}");
        }
    }
}
