//! One device and the time that it has: what one round of a kernel does, as long as it fits into what is left.

use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;

use super::timed::Timed;
use crate::bench::backend::{Backend, GoOn, Runnable, Trouble};
use crate::bench::kernel::Kernel;
use crate::bench::meter::{Allowance, Series};

/// How long a device works while its clocks are read: as long as the reading takes.
const WATCHED: Duration = Duration::from_millis(10);

/// Runs in that time at most.
const MOST_WATCHED: f64 = 1_000.0;

/// The share of what preparing took that giving memory back is supposed to take, before that is known.
const GIVING_BACK: u32 = 8;

/// The device, and the time that it has.
pub(super) struct Clock<'a> {
    backend: &'a dyn Backend,
    elapsed: &'a dyn Fn() -> Duration,
    budget: Duration,
    watching: Duration,
}

impl<'a> Clock<'a> {
    /// A device that times so many kernels within a budget, by the host's clock.
    pub(super) fn new(
        backend: &'a dyn Backend,
        budget: Duration,
        kernels: usize,
        elapsed: &'a dyn Fn() -> Duration,
    ) -> Self {
        let watching = WATCHED.min(budget / 20 / kernels.max(1) as u32);
        Self { backend, elapsed, budget, watching }
    }

    /// What is left of the budget.
    pub(super) fn left(&self) -> Duration {
        self.budget.saturating_sub((self.elapsed)())
    }

    /// Has the device take less memory to work on where filling it would not fit into so much time: how much of how much.
    pub(super) fn fit(&self, within: Duration) -> Option<(u64, u64)> {
        self.backend.fit(within, self.elapsed)
    }

    /// The first round. What is not known to fit into what is left is not begun: two runs as long as a part of one foretells, a second
    /// one as long as the first. The first result is checked at once: that tells what checking the last one will take, which is
    /// the kernel's own time as all else is.
    pub(super) fn first(&self, kernel: &'static Kernel, allowed: Allowance) -> Result<Timed, Trouble> {
        let began = (self.elapsed)();
        let since = |moment: Duration| (self.elapsed)().saturating_sub(moment);
        let mut runnable = self.backend.prepare(kernel.id, &|| self.go_on("filling its memory takes"))?;
        let preparing = since(began);
        self.fits(runnable.foretold() * 2)?;
        let before = (self.elapsed)();
        let cold = runnable.run(1)?;
        let ran = since(before);
        let before = (self.elapsed)();
        let wrong = fault_in(runnable.as_mut(), &|| self.go_on("checking its result takes"))?;
        let checking = since(before);
        let again = self.fits(ran);
        let mut timed = Timed {
            kernel,
            series: Series::new(cold),
            preparing,
            giving_back: preparing / GIVING_BACK,
            checking,
            work: runnable.work(),
            table_bytes: runnable.table_bytes(),
            wrong,
            is_watched: false,
            is_over: again.is_err(),
        };
        match again {
            Ok(()) => self.round(&mut timed, runnable, began, allowed)?,
            // That a result is wrong is told, whatever else is not known of it.
            Err(_) if timed.wrong.is_some() => {}
            Err(late) => return Err(late),
        }
        Ok(timed)
    }

    /// One more round. The memory of a kernel is given back between its rounds: all together would take too much.
    pub(super) fn another(&self, timed: &mut Timed, allowed: Allowance) -> Result<(), Trouble> {
        let began = (self.elapsed)();
        let runnable = self.backend.prepare(timed.kernel.id, &|| self.go_on("filling its memory takes"))?;
        timed.preparing = timed.preparing.max((self.elapsed)().saturating_sub(began));
        self.fits(timed.series.longest())?;
        self.round(timed, runnable, began, allowed)
    }

    fn round(
        &self,
        timed: &mut Timed,
        mut runnable: Box<dyn Runnable + '_>,
        began: Duration,
        allowed: Allowance,
    ) -> Result<(), Trouble> {
        let spent = || (self.elapsed)().saturating_sub(began);
        let watching = if timed.is_watched { Duration::ZERO } else { self.watching * 2 };
        let reserved = spent() + timed.checking + timed.giving_back + watching;
        let rest = Allowance {
            usual: allowed.usual.saturating_sub(reserved),
            most: allowed.most.saturating_sub(reserved),
        };
        timed.series.round(rest, self.elapsed, &mut |times| runnable.run(times))?;
        let left = || allowed.most.saturating_sub(spent() + timed.giving_back);
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
        // Of a kernel that is longer than its share an earlier result has to do, as of one whose check does not end in time.
        if timed.wrong.is_none() && timed.checking <= left() {
            timed.wrong = match fault_in(runnable.as_mut(), &|| self.go_on("checking its result takes")) {
                Err(Trouble::Late(_)) => None,
                checked => checked?,
            };
        }
        let before = spent();
        drop(runnable);
        timed.giving_back = timed.giving_back.max(spent().saturating_sub(before));
        Ok(())
    }

    /// Whether there is time for more of what takes too long otherwise.
    fn go_on(&self, what: &str) -> Result<(), Trouble> {
        if self.left().is_zero() { Err(late(what)) } else { Ok(()) }
    }

    /// Whether what runs so long fits into what is left.
    fn fits(&self, runs: Duration) -> Result<(), Trouble> {
        if runs < self.left() {
            return Ok(());
        }
        // Nothing is foretold of some kernels: then it was filling that took all there was.
        if runs.is_zero() {
            return Err(late("filling its memory takes"));
        }
        Err(late(&format!("running it takes some {},", show(runs.as_secs_f64(), Unit::Seconds))))
    }
}

fn late(what: &str) -> Trouble {
    Trouble::Late(format!("{what} more than was left of the budget"))
}

/// What is wrong with the last result, if anything is.
fn fault_in(runnable: &mut dyn Runnable, go_on: GoOn<'_>) -> Result<Option<String>, Trouble> {
    match runnable.check(go_on) {
        Ok(()) => Ok(None),
        Err(Trouble::Wrong(why)) => Ok(Some(why)),
        Err(trouble) => Err(trouble),
    }
}
