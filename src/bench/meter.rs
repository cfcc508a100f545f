//! Times one kernel round by round, and says how far its time is known.

use std::time::Duration;

use headwater_engine::peers::quantile;

/// Batches from which an interquartile range tells anything.
const LEAST_BATCHES: usize = 9;

/// Batches from which a median tells anything: of fewer one interruption is half of what was seen.
pub const LEAST_FOR_A_MEDIAN: u32 = 3;

/// Rounds with a median from which it can be told how far rounds lie apart.
pub const LEAST_ROUNDS: usize = 3;

/// Batches of one round that agree with each other, so that more would not tell more.
const ENOUGH_A_ROUND: usize = 5;

/// Batches of one round at most.
const MOST_A_ROUND: usize = 100;

/// The noise at which measuring ends, over the median.
pub const STEADY: f64 = 0.02;

/// How long one batch should take: long enough for any clock, short enough that an interruption spoils few.
const BATCH: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// Runs in one batch at most.
const LARGEST_BATCH: u32 = 100_000;

/// The share of a round that one batch may take.
const BATCHES_A_ROUND: u32 = 10;

/// What measuring one kernel came to; times are seconds of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The very first run.
    pub cold: f64,
    /// The median of the batches.
    pub median: f64,
    /// The interquartile range of the batches; `None` of fewer than can tell it.
    pub iqr: Option<f64>,
    /// How far the median may be off: the interquartile range, or how far the medians of rounds lie apart where that is more.
    /// `None` where either is unknown.
    pub noise: Option<f64>,
    /// The fastest that was seen: a batch, or a run before them.
    pub min: f64,
    /// Batches that were measured; 0 where the budget allowed none, so that all that is known is one warm run.
    pub batches: u32,
    /// Rounds that had a batch.
    pub rounds: u32,
    /// Runs in all batches.
    pub runs: u64,
    /// Whether the noise is known to be below [`STEADY`].
    pub is_steady: bool,
}

/// The time that one round may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// What it should take.
    pub usual: Duration,
    /// What it may take until it has batches for a median.
    pub most: Duration,
}

/// What was seen of one kernel so far.
#[derive(Clone, Debug)]
pub struct Series {
    cold: f64,
    /// One run before any batch.
    warm: f64,
    /// The fastest run that was no batch.
    least: f64,
    /// Runs in a batch; 0 before the first round.
    size: u32,
    /// The longest that a batch took by the host's clock.
    longest: Duration,
    /// The time of one run by each batch, round by round.
    rounds: Vec<Vec<f64>>,
}

impl Series {
    /// A kernel whose very first run took so long.
    pub fn new(cold: Duration) -> Self {
        let cold = cold.as_secs_f64();
        Self { cold, warm: cold, least: cold, size: 0, longest: Duration::ZERO, rounds: vec![] }
    }

    /// Repeats `run`, which does so many runs and says how long they took by the device's clock. `elapsed` is the host's clock; no
    /// batch is begun that would, as far as is known, end after what is allowed. The kernel runs once at least, whatever that
    /// costs, and that is not counted: what ran meanwhile has taken its caches.
    pub fn round<E>(
        &mut self,
        allowed: Allowance,
        elapsed: &dyn Fn() -> Duration,
        run: &mut dyn FnMut(u32) -> Result<Duration, E>,
    ) -> Result<(), E> {
        let begun = elapsed();
        let spent = || elapsed().saturating_sub(begun);
        if self.size == 0 {
            self.find_size(allowed, &spent, run)?;
        } else {
            run(self.size)?;
        }
        let mut times = vec![];
        while times.len() < MOST_A_ROUND {
            let end = spent() + self.longest;
            let is_short = times.len() < LEAST_FOR_A_MEDIAN as usize;
            if end > allowed.usual && !(is_short && end <= allowed.most) {
                break;
            }
            let before = spent();
            let took = run(self.size)?;
            self.longest = self.longest.max(spent().saturating_sub(before));
            times.push(took.as_secs_f64() / f64::from(self.size));
            let (median, iqr, _) = spread(&times);
            if times.len() >= ENOUGH_A_ROUND && iqr < STEADY * median {
                break;
            }
        }
        self.rounds.push(times);
        Ok(())
    }

    /// Doubles batches until one is long enough. One run alone may lie: on a busy machine it takes a microsecond or a time slice.
    fn find_size<E>(
        &mut self,
        allowed: Allowance,
        spent: &dyn Fn() -> Duration,
        run: &mut dyn FnMut(u32) -> Result<Duration, E>,
    ) -> Result<(), E> {
        let batch = (allowed.usual / BATCHES_A_ROUND).clamp(BATCH.0, BATCH.1);
        self.size = 1;
        loop {
            let before = spent();
            let took = run(self.size)?;
            self.longest = spent().saturating_sub(before);
            self.warm = took.as_secs_f64() / f64::from(self.size);
            // A clock that is too coarse for one run tells nothing of it.
            if self.warm > 0.0 {
                self.least = self.least.min(self.warm);
            }
            let next = self.longest * 2;
            if next > batch || self.size * 2 > LARGEST_BATCH || spent() + next > allowed.most {
                return Ok(());
            }
            self.size *= 2;
        }
    }

    /// The longest that a batch took, by the host's clock.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// What a round takes that gives a median, by the host's clock.
    pub fn round_cost(&self) -> Duration {
        self.longest * (1 + LEAST_FOR_A_MEDIAN)
    }

    /// What it came to so far.
    pub fn timing(&self) -> Timing {
        let mut times = self.rounds.concat();
        let batches = times.len() as u32;
        let runs = if batches == 0 { 1 } else { u64::from(batches) * u64::from(self.size) };
        if times.is_empty() {
            times.push(self.warm);
        }
        let (median, iqr, min) = spread(&times);
        let iqr = Some(iqr).filter(|_| times.len() >= LEAST_BATCHES);
        let noise = iqr.zip(self.apart()).map(|(iqr, apart)| iqr.max(apart));
        Timing {
            cold: self.cold,
            median,
            iqr,
            noise,
            min: min.min(self.least),
            batches,
            rounds: self.rounds.iter().filter(|round| !round.is_empty()).count() as u32,
            runs,
            is_steady: noise.is_some_and(|noise| noise < STEADY * median),
        }
    }

    /// How far the medians of rounds lie apart: what batches one after the other cannot see.
    fn apart(&self) -> Option<f64> {
        let has_median = |round: &&Vec<f64>| round.len() >= LEAST_FOR_A_MEDIAN as usize;
        let medians: Vec<f64> = self.rounds.iter().filter(has_median).map(|round| spread(round).0).collect();
        let most = medians.iter().copied().reduce(f64::max)?;
        let least = medians.iter().copied().reduce(f64::min)?;
        (medians.len() >= LEAST_ROUNDS).then_some(most - least)
    }
}

/// The median, the interquartile range and the least of times.
fn spread(times: &[f64]) -> (f64, f64, f64) {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let at = |q| quantile(&times, q).unwrap_or_default();
    (at(0.5), at(0.75) - at(0.25), at(0.0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    /// So many rounds of a kernel whose runs take so long each, by their round and their number, on a clock that only they move.
    fn measured(rounds: u64, allowed: Duration, time: impl Fn(u64, u64) -> Duration) -> (Timing, Duration) {
        let (clock, runs) = (Cell::new(Duration::ZERO), Cell::new(0));
        let run = |round: u64, times: u32| {
            let took: Duration = (0..times)
                .map(|_| {
                    runs.set(runs.get() + 1);
                    time(round, runs.get())
                })
                .sum();
            clock.set(clock.get() + took);
            Ok::<_, Infallible>(took)
        };
        let mut series = Series::new(run(0, 1).unwrap_or_else(|never| match never {}));
        for round in 0..rounds {
            let allowed = Allowance { usual: allowed, most: allowed };
            let done = series.round(allowed, &|| clock.get(), &mut |times| run(round, times));
            done.unwrap_or_else(|never| match never {});
        }
        (series.timing(), clock.get())
    }

    const ROUND: Duration = Duration::from_millis(50);

    #[test]
    fn a_steady_kernel_ends_its_rounds_early_and_a_noisy_one_takes_all_of_them() {
        let (steady, spent) =
            measured(4, ROUND, |_, run| Duration::from_micros(if run == 1 { 900 } else { 10 }));
        assert_eq!((steady.cold, steady.median, steady.min), (900e-6, 10e-6, 10e-6));
        assert_eq!((steady.rounds, steady.iqr, steady.noise), (4, Some(0.0), Some(0.0)));
        assert!(steady.is_steady && spent < ROUND * 4, "{steady:?} {spent:?}");

        // Whole batches are slow or fast, so that averaging within one hides nothing.
        let (noisy, spent) =
            measured(4, ROUND, |_, run| Duration::from_micros(if (run / 1_000) % 2 == 0 { 10 } else { 20 }));
        assert!(!noisy.is_steady && noisy.iqr > Some(0.02 * noisy.median), "{noisy:?}");
        assert!(spent <= ROUND * 5 && spent > ROUND * 3, "{spent:?}");
    }

    #[test]
    fn a_clock_that_drifts_between_rounds_is_not_steady_however_well_each_round_agrees() {
        // 4 % more in every round.
        let (timing, _) = measured(5, ROUND, |round, _| Duration::from_nanos(10_000 + 400 * round));
        let noise = timing.noise.expect("there are enough rounds");
        assert!(!timing.is_steady && (noise - 1.6e-6).abs() < 1e-9, "{timing:?}");
        // One round of five that is 14 % slower is in no quartile of the batches.
        let (timing, _) =
            measured(5, ROUND, |round, _| Duration::from_nanos(if round == 3 { 11_400 } else { 10_000 }));
        assert!(timing.iqr < Some(0.02 * timing.median), "{timing:?}");
        assert!(!timing.is_steady && timing.noise > Some(0.13 * timing.median), "{timing:?}");
    }

    #[test]
    fn noise_is_unknown_where_too_little_was_seen_to_tell_it() {
        let (timing, _) = measured(1, ROUND, |_, _| Duration::from_micros(10));
        assert!(timing.noise.is_none() && !timing.is_steady, "one round tells of no drift: {timing:?}");
        let (timing, _) = measured(1, ROUND, |_, _| Duration::from_millis(12));
        assert_eq!((timing.batches, timing.iqr), (3, None));
        let (timing, _) = measured(2, ROUND, |_, _| Duration::from_millis(12));
        assert_eq!((timing.iqr, timing.noise, timing.is_steady), (None, None, false));
    }

    #[test]
    fn the_fastest_is_never_slower_than_the_first_run() {
        let (timing, _) = measured(3, ROUND, |_, run| Duration::from_micros(if run == 1 { 3 } else { 400 }));
        assert_eq!((timing.cold, timing.min), (3e-6, 3e-6));
    }

    #[test]
    fn no_batch_is_begun_that_would_end_after_what_is_allowed() {
        for micros in [1, 70, 3_000, 40_000] {
            let allowed = Duration::from_millis(100);
            let (timing, spent) = measured(1, allowed, |_, run| Duration::from_micros(micros + run % 3));
            let first = Duration::from_micros(micros + 1);
            assert!(spent <= allowed + first + Duration::from_micros(micros / 20), "{micros}: {spent:?}");
            assert!(timing.runs >= 1 && timing.median > 0.0);
        }
    }

    #[test]
    fn one_quick_run_does_not_make_a_batch_that_eats_the_budget() {
        let allowed = Duration::from_millis(100);
        // The first warm runs are a thousand times faster than what comes after them.
        let (timing, spent) =
            measured(1, allowed, |_, run| Duration::from_micros(if run < 4 { 2 } else { 2_000 }));
        assert!(spent <= allowed + Duration::from_millis(20), "{spent:?}");
        assert!(timing.runs > 3 && timing.median > 1_000e-6, "{timing:?}");
    }

    #[test]
    fn a_kernel_that_is_longer_than_its_budget_runs_twice_and_is_not_called_steady() {
        let (timing, spent) = measured(1, Duration::from_millis(1), |_, _| Duration::from_millis(50));
        assert_eq!((timing.batches, timing.runs, timing.median, timing.iqr), (0, 1, 0.05, None));
        assert!(!timing.is_steady && timing.noise.is_none());
        assert_eq!(spent, Duration::from_millis(100));
    }
}
