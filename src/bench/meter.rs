//! Repeats one kernel until its time is known, or until its share of the budget is spent.

use std::time::Duration;

use headwater_engine::peers::quantile;

/// Batches that are measured at least, where the budget allows it: quartiles of fewer mean nothing.
const LEAST_BATCHES: usize = 9;

/// Batches from which a median tells anything: of fewer one interruption is half of what was seen.
pub const LEAST_FOR_A_MEDIAN: u32 = 3;

/// Batches after which more would not tell more.
const MOST_BATCHES: usize = 400;

/// The noise at which measuring ends: the interquartile range over the median.
pub const STEADY: f64 = 0.02;

/// How long one batch should take: long enough for any clock, short enough that an interruption spoils few.
const BATCH: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(20));

/// Runs in one batch at most.
const LARGEST_BATCH: u32 = 100_000;

/// The share of a kernel's budget that one batch may take.
const BATCHES_A_BUDGET: u32 = 20;

/// What measuring one kernel came to; times are seconds of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The very first run.
    pub cold: f64,
    /// The median of the batches.
    pub median: f64,
    /// The interquartile range of the batches.
    pub iqr: f64,
    /// The fastest batch.
    pub min: f64,
    /// Batches that were measured; 0 where the budget allowed none, so that all that is known is one warm run.
    pub batches: u32,
    /// Runs in all batches.
    pub runs: u64,
    /// Whether the noise fell below [`STEADY`].
    pub is_steady: bool,
}

/// Repeats `run`, which does so many runs and says how long they took by the device's clock; `cold` is what it said of the very
/// first. `elapsed` is the host's clock; no batch is begun that would, as far as is known, end after `budget`. The kernel runs
/// once more at least, whatever that costs.
pub fn measure<E>(
    cold: Duration,
    budget: Duration,
    elapsed: &dyn Fn() -> Duration,
    run: &mut dyn FnMut(u32) -> Result<Duration, E>,
) -> Result<Timing, E> {
    let begun = elapsed();
    let spent = || elapsed().saturating_sub(begun);
    // The second run is warm; from there batches double until one is long enough. One run alone may lie: on a busy machine
    // it takes a microsecond or a time slice.
    let batch = (budget / BATCHES_A_BUDGET).clamp(BATCH.0, BATCH.1);
    let mut size = 1;
    let (warm, mut longest) = loop {
        let before = spent();
        let took = run(size)?;
        let whole = spent().saturating_sub(before);
        if whole * 2 > batch || size * 2 > LARGEST_BATCH || spent() + whole * 2 > budget {
            break (took / size, whole);
        }
        size *= 2;
    };
    let mut times = vec![];
    while times.len() < MOST_BATCHES && spent() + longest <= budget {
        let before = spent();
        let took = run(size)?;
        longest = longest.max(spent().saturating_sub(before));
        times.push(took.as_secs_f64() / f64::from(size));
        if times.len() >= LEAST_BATCHES && noise(&times) < STEADY {
            break;
        }
    }
    let batches = times.len() as u32;
    let mut runs = u64::from(batches) * u64::from(size);
    if times.is_empty() {
        times.push(warm.as_secs_f64());
        runs = 1;
    }
    let is_steady = times.len() >= LEAST_BATCHES && noise(&times) < STEADY;
    let (median, iqr, min) = spread(&mut times);
    Ok(Timing { cold: cold.as_secs_f64(), median, iqr, min, batches, runs, is_steady })
}

fn noise(times: &[f64]) -> f64 {
    let (median, iqr, _) = spread(&mut times.to_vec());
    if median > 0.0 { iqr / median } else { f64::INFINITY }
}

/// The median, the interquartile range and the least of times.
fn spread(times: &mut [f64]) -> (f64, f64, f64) {
    times.sort_by(f64::total_cmp);
    let at = |q| quantile(times, q).unwrap_or_default();
    (at(0.5), at(0.75) - at(0.25), at(0.0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    /// Measures a kernel whose runs take so long each, on a clock that only they move.
    fn measured(budget: Duration, mut time: impl FnMut(u64) -> Duration) -> (Timing, Duration) {
        let clock = Cell::new(Duration::ZERO);
        let mut runs = 0;
        let mut run = |times| {
            let took: Duration = (0..times)
                .map(|_| {
                    runs += 1;
                    time(runs)
                })
                .sum();
            clock.set(clock.get() + took);
            Ok::<_, Infallible>(took)
        };
        let cold = run(1).unwrap_or_else(|never| match never {});
        let timing = measure(cold, budget.saturating_sub(cold), &|| clock.get(), &mut run);
        (timing.unwrap_or_else(|never| match never {}), clock.get())
    }

    #[test]
    fn a_steady_kernel_ends_early_and_a_noisy_one_with_its_budget() {
        let budget = Duration::from_millis(200);
        let (steady, spent) = measured(budget, |run| Duration::from_micros(if run == 1 { 900 } else { 10 }));
        assert_eq!((steady.cold, steady.median, steady.min), (900e-6, 10e-6, 10e-6));
        assert!(steady.is_steady && spent < budget / 2, "{steady:?} {spent:?}");

        // Whole batches are slow or fast, so that averaging within one hides nothing.
        let (noisy, spent) =
            measured(budget, |run| Duration::from_micros(if (run / 1_000) % 2 == 0 { 10 } else { 20 }));
        assert!(!noisy.is_steady && noisy.iqr > 0.02 * noisy.median, "{noisy:?}");
        assert!(spent <= budget && spent > budget / 2, "{spent:?}");
    }

    #[test]
    fn no_batch_is_begun_that_would_end_after_the_budget() {
        for micros in [1, 70, 3_000, 40_000] {
            let budget = Duration::from_millis(100);
            let (timing, spent) = measured(budget, |run| Duration::from_micros(micros + run % 3));
            assert!(spent <= budget + Duration::from_micros(micros / 20), "{micros}: {spent:?}");
            assert!(timing.runs >= 1 && timing.median > 0.0);
        }
    }

    #[test]
    fn one_quick_run_does_not_make_a_batch_that_eats_the_budget() {
        let budget = Duration::from_millis(100);
        // The first warm runs are a thousand times faster than what comes after them.
        let (timing, spent) = measured(budget, |run| Duration::from_micros(if run < 4 { 2 } else { 2_000 }));
        assert!(spent <= budget + Duration::from_millis(10), "{spent:?}");
        assert!(timing.runs > 10 && timing.median > 1_000e-6, "{timing:?}");
    }

    #[test]
    fn a_kernel_that_is_longer_than_its_budget_runs_twice_and_is_not_called_steady() {
        let (timing, spent) = measured(Duration::from_millis(1), |_| Duration::from_millis(50));
        assert_eq!((timing.batches, timing.runs, timing.median, timing.iqr), (0, 1, 0.05, 0.0));
        assert!(!timing.is_steady);
        assert_eq!(spent, Duration::from_millis(100));
    }
}
