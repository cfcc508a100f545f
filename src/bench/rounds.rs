//! Spreads the time of a run over its kernels. Each is timed in several rounds with the others between them, because what batches
//! one after the other agree on may be gone a second later; what is then left goes to the noisiest.

use std::time::Duration;

use super::backend::{Backend, Runnable, Trouble};
use super::kernel::Kernel;
use super::line::Line;
use super::meter::{Allowance, Series};
use super::report::{KernelResult, Skipped};

/// Rounds that each kernel has, where the budget allows it.
const PLANNED: usize = 5;

/// Rounds after which more would not tell more.
const MOST: usize = 60;

/// How long a device works while its clocks are read: as long as the reading takes.
const WATCHED: Duration = Duration::from_millis(10);

/// Runs in that time at most.
const MOST_WATCHED: f64 = 1_000.0;

/// Times kernels within a budget and tells each when all is done. Kernels that the device lacks are asked for first, so that
/// their share is the others'.
pub(super) fn measure_all(
    backend: &dyn Backend,
    kernels: &[&'static Kernel],
    budget: Duration,
    elapsed: &dyn Fn() -> Duration,
    tell: &mut dyn FnMut(&Line),
) -> Result<(), Trouble> {
    let skip = |tell: &mut dyn FnMut(&Line), kernel: &Kernel, why: String| {
        tell(&Line::Skipped(Skipped { name: kernel.name.to_owned(), why }));
    };
    let mut here = vec![];
    for kernel in kernels {
        match backend.lacks(kernel.id) {
            Some(why) => skip(tell, kernel, why),
            None => here.push(*kernel),
        }
    }
    let clock =
        Clock { backend, elapsed, budget, watching: WATCHED.min(budget / 20 / here.len().max(1) as u32) };
    let mut timed: Vec<Timed> = vec![];
    for (place, kernel) in here.iter().enumerate() {
        let left = clock.left();
        if left.is_zero() && place > 0 {
            skip(tell, kernel, Skipped::SPENT.to_owned());
            continue;
        }
        tell(&Line::Begun(kernel.name.to_owned()));
        let (not_begun, begun) = ((here.len() - place) as u32, timed.len() as u32);
        let planned = not_begun * PLANNED as u32 + begun * (PLANNED as u32 - 1);
        let allowed = Allowance { usual: left / planned, most: left / not_begun };
        match clock.first(kernel, allowed) {
            Ok(first) => timed.push(first),
            Err(Trouble::NotHere(why) | Trouble::Wrong(why)) => skip(tell, kernel, why),
            Err(Trouble::Failed(why)) => return Err(failed(kernel, &why)),
        }
    }
    while let Some(place) = next(&timed, clock.left()) {
        let planned: usize = timed.iter().map(|timed| PLANNED.saturating_sub(timed.series.rounds())).sum();
        let (share, next) = (clock.left() / planned.max(1) as u32, &mut timed[place]);
        let usual = if planned > 0 { share } else { next.cost() };
        tell(&Line::Begun(next.kernel.name.to_owned()));
        match clock.another(next, Allowance { usual, most: clock.left() }) {
            Ok(()) => {}
            // What serves requests may have taken its memory meanwhile; what was seen of it stands.
            Err(Trouble::NotHere(_)) => next.is_over = true,
            Err(Trouble::Wrong(why) | Trouble::Failed(why)) => return Err(failed(next.kernel, &why)),
        }
    }
    for timed in timed {
        tell(&Line::Timed(timed.result()));
    }
    Ok(())
}

fn failed(kernel: &Kernel, why: &str) -> Trouble {
    Trouble::Failed(format!("{}: {why}", kernel.name))
}

/// The kernel that has the next round: the one with the fewest until all have had those that were planned, then the noisiest, in
/// proportion to the rounds that it has had. One whose round would not end in what is left has none.
fn next(timed: &[Timed], left: Duration) -> Option<usize> {
    let wants = |place: &usize| timed[*place].is_wanting() && timed[*place].cost() <= left;
    let order = |place: &usize| {
        let rounds = timed[*place].series.rounds();
        (rounds.min(PLANNED), -timed[*place].noise() / rounds as f64)
    };
    let first = |one: &usize, other: &usize| {
        let (one, other) = (order(one), order(other));
        one.0.cmp(&other.0).then(if one.0 < PLANNED {
            std::cmp::Ordering::Equal
        } else {
            one.1.total_cmp(&other.1)
        })
    };
    (0..timed.len()).filter(wants).min_by(first)
}

/// A kernel that was timed for a round at least.
struct Timed {
    kernel: &'static Kernel,
    series: Series,
    /// The longest that preparing it took.
    preparing: Duration,
    /// What checking its result takes.
    checking: Duration,
    work: f64,
    table_bytes: Option<u64>,
    wrong: Option<String>,
    /// Whether the device was looked at while it worked, or need not be.
    is_watched: bool,
    /// Whether it can have no more rounds.
    is_over: bool,
}

impl Timed {
    /// Whether another round would tell more.
    fn is_wanting(&self) -> bool {
        let rounds = self.series.rounds();
        let is_known = rounds >= PLANNED && self.series.timing().is_steady;
        !self.is_over && self.wrong.is_none() && !is_known && rounds < MOST
    }

    /// What another round takes at least.
    fn cost(&self) -> Duration {
        self.preparing + self.checking + self.series.round_cost()
    }

    /// The noise over the median; what is unknown is the most.
    fn noise(&self) -> f64 {
        let timing = self.series.timing();
        timing.noise.map_or(f64::MAX, |noise| noise / timing.median)
    }

    fn result(self) -> KernelResult {
        let timing = self.series.timing();
        let rate_unit = self.kernel.work.rate_unit();
        KernelResult {
            name: self.kernel.name.to_owned(),
            unit: "s".to_owned(),
            median: timing.median,
            iqr: timing.iqr,
            noise: timing.noise,
            min: timing.min,
            batches: timing.batches,
            rounds: timing.rounds,
            runs: timing.runs,
            baseline: None,
            baseline_at: None,
            ratio: None,
            change: None,
            cold: timing.cold,
            is_steady: timing.is_steady,
            work: self.work,
            table_bytes: self.table_bytes,
            rate: rate_unit.filter(|_| timing.median > 0.0).map(|_| self.work / timing.median),
            rate_unit: rate_unit.map(str::to_owned),
            wrong: self.wrong,
            at: None,
        }
    }
}

/// The device, and the time that it has.
struct Clock<'a> {
    backend: &'a dyn Backend,
    elapsed: &'a dyn Fn() -> Duration,
    budget: Duration,
    watching: Duration,
}

impl Clock<'_> {
    fn left(&self) -> Duration {
        self.budget.saturating_sub((self.elapsed)())
    }

    /// The first round. The first result is checked at once: that tells what checking the last one will take, which is the
    /// kernel's own time as all else is.
    fn first(&self, kernel: &'static Kernel, allowed: Allowance) -> Result<Timed, Trouble> {
        let began = (self.elapsed)();
        let mut runnable = self.backend.prepare(kernel.id)?;
        let preparing = (self.elapsed)().saturating_sub(began);
        let cold = runnable.run(1)?;
        let before = (self.elapsed)();
        let wrong = fault_in(runnable.as_mut())?;
        let mut timed = Timed {
            kernel,
            series: Series::new(cold),
            preparing,
            checking: (self.elapsed)().saturating_sub(before),
            work: runnable.work(),
            table_bytes: runnable.table_bytes(),
            wrong,
            is_watched: false,
            is_over: false,
        };
        self.round(&mut timed, runnable.as_mut(), began, allowed)?;
        Ok(timed)
    }

    /// One more round. The memory of a kernel is given back between its rounds: all together would take too much.
    fn another(&self, timed: &mut Timed, allowed: Allowance) -> Result<(), Trouble> {
        let began = (self.elapsed)();
        let mut runnable = self.backend.prepare(timed.kernel.id)?;
        timed.preparing = timed.preparing.max((self.elapsed)().saturating_sub(began));
        self.round(timed, runnable.as_mut(), began, allowed)
    }

    fn round(
        &self,
        timed: &mut Timed,
        runnable: &mut dyn Runnable,
        began: Duration,
        allowed: Allowance,
    ) -> Result<(), Trouble> {
        let spent = || (self.elapsed)().saturating_sub(began);
        let watching = if timed.is_watched { Duration::ZERO } else { self.watching * 2 };
        let reserved = spent() + timed.checking + watching;
        let rest = Allowance {
            usual: allowed.usual.saturating_sub(reserved),
            most: allowed.most.saturating_sub(reserved),
        };
        timed.series.round(rest, self.elapsed, &mut |times| runnable.run(times))?;
        let left = || allowed.most.saturating_sub(spent());
        if !timed.is_watched {
            let median = timed.series.timing().median;
            let runs = (self.watching.as_secs_f64() / median.max(1e-9)).clamp(1.0, MOST_WATCHED);
            let working = Duration::from_secs_f64(runs * median).max(self.watching);
            if left() >= timed.checking + working {
                timed.is_watched = true;
                if self.backend.watch_next(timed.kernel.id) {
                    runnable.run(runs as u32)?;
                }
            }
        }
        // Of a kernel that is longer than its share an earlier result has to do.
        if timed.wrong.is_none() && timed.checking <= left() {
            timed.wrong = fault_in(runnable)?;
        }
        Ok(())
    }
}

/// What is wrong with the last result, if anything is.
fn fault_in(runnable: &mut dyn Runnable) -> Result<Option<String>, Trouble> {
    match runnable.check() {
        Ok(()) => Ok(None),
        Err(Trouble::Wrong(why)) => Ok(Some(why)),
        Err(trouble) => Err(trouble),
    }
}

#[cfg(test)]
mod tests;
