//! Rounds on a device whose clock is a script.

mod budget;

use std::cell::Cell;

use super::*;
use crate::bench::backend::{GoOn, Runnable};
use crate::bench::kernel::{KERNELS, KernelId};
use crate::bench::report::{DeviceState, KernelResult};

/// A device on a clock of its own: each check takes so long, each run what it takes at that time of the clock, and filling memory
/// so many tenths of that. It has no way to the host.
struct Scripted<'a> {
    clock: &'a Cell<Duration>,
    run: &'a dyn Fn(Duration) -> Duration,
    check: Duration,
    filling: u32,
    /// Whether a part of a run tells how long one takes.
    foretells: bool,
    result: fn(KernelId, u32) -> Result<(), Trouble>,
}

/// A kernel of it, with how often it was checked.
struct Run<'a>(&'a Scripted<'a>, KernelId, u32);

impl Scripted<'_> {
    fn pass(&self, time: Duration) -> Duration {
        self.clock.set(self.clock.get() + time);
        time
    }

    fn now(&self) -> Duration {
        (self.run)(self.clock.get())
    }
}

impl Backend for Scripted<'_> {
    fn lacks(&self, kernel: KernelId) -> Option<String> {
        (kernel == KernelId::ToHostPageable).then(|| "no such way".to_owned())
    }

    fn fit(&self, within: Duration, _: &dyn Fn() -> Duration) -> Option<(u64, u64)> {
        (within < self.now() * self.filling / 10).then_some((4, 64))
    }

    fn prepare(&self, kernel: KernelId, go_on: GoOn<'_>) -> Result<Box<dyn Runnable + '_>, Trouble> {
        if kernel == KernelId::ToHostPinned {
            return Err(Trouble::NotHere("no memory for it".to_owned()));
        }
        for _ in 0..self.filling {
            go_on()?;
            self.pass(self.now() / 10);
        }
        Ok(Box::new(Run(self, kernel, 0)))
    }

    fn watch_next(&self, _: KernelId) -> bool {
        true
    }

    fn at_work(&self) -> DeviceState {
        DeviceState::default()
    }
}

impl Runnable for Run<'_> {
    fn foretold(&mut self) -> Duration {
        if self.0.foretells { self.0.pass(self.0.now() / 16) * 16 } else { Duration::ZERO }
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        Ok(self.0.pass(self.0.now() * times))
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        for _ in 0..PIECES {
            go_on()?;
            self.0.pass(self.0.check / PIECES);
        }
        self.2 += 1;
        (self.0.result)(self.1, self.2)
    }
}

/// Pieces of a check.
const PIECES: u32 = 8;

type Told = (Vec<Line>, Duration, bool);

/// Times every kernel: what was told, what was spent, and whether the device did it to the end.
fn told(
    run: &dyn Fn(Duration) -> Duration,
    check: Duration,
    budget: Duration,
    result: fn(KernelId, u32) -> Result<(), Trouble>,
) -> Told {
    let clock = Cell::new(Duration::ZERO);
    told_by(&Scripted { clock: &clock, run, check, filling: 1, foretells: true, result }, budget)
}

fn told_by(backend: &Scripted<'_>, budget: Duration) -> Told {
    let kernels: Vec<&Kernel> = KERNELS.iter().collect();
    let mut lines = vec![];
    let ended =
        measure_all(backend, &kernels, budget, &|| backend.clock.get(), &mut |line| lines.push(line.clone()));
    (lines, backend.clock.get(), ended.is_ok())
}

/// What is always the same.
fn always(run: Duration) -> impl Fn(Duration) -> Duration {
    move |_| run
}

fn timed(told: &Told) -> Vec<&KernelResult> {
    let lines = told.0.iter();
    lines.filter_map(|line| if let Line::Timed(result) = line { Some(result) } else { None }).collect()
}

const BUDGET: Duration = Duration::from_secs(2);

#[test]
fn a_budget_is_kept_and_a_spent_one_is_said() {
    for run in [Duration::from_micros(3), Duration::from_millis(5), Duration::from_millis(30)] {
        // What checks take is spent as well, also where that is as long as everything else.
        for check in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(40)] {
            let told = told(&always(run), check, BUDGET, |_, _| Ok(()));
            assert_eq!(timed(&told).len(), KERNELS.len() - 2, "{run:?} {check:?}");
            assert!(told.1 <= BUDGET, "{run:?} {check:?}: {:?}", told.1);
            let has_medians = timed(&told).iter().all(|kernel| kernel.has_median());
            assert!(has_medians || run + check > Duration::from_millis(40), "{run:?} {check:?}");
        }
    }
}

#[test]
fn steady_kernels_end_early_and_a_clock_that_drifts_between_rounds_is_never_called_steady() {
    let run = Duration::from_micros(10);
    let steady = told(&always(run), Duration::ZERO, BUDGET, |_, _| Ok(()));
    assert!(timed(&steady).iter().all(|kernel| kernel.is_steady && kernel.rounds == PLANNED as u32));
    assert!(steady.1 < BUDGET, "{:?}", steady.1);

    // For a round and a bit the whole device is 14 % slower.
    let slow = steady.1 * 2 / 5..steady.1 * 7 / 10;
    let drifting = |now: Duration| if slow.contains(&now) { run * 114 / 100 } else { run };
    let drifting = told(&drifting, Duration::ZERO, BUDGET, |_, _| Ok(()));
    for kernel in timed(&drifting) {
        assert!(!kernel.is_steady && kernel.noise > Some(0.13 * kernel.median), "{kernel:?}");
    }
    // What others would leave is theirs, to the end.
    let rest = BUDGET.saturating_sub(drifting.1);
    assert!(
        rest < BUDGET / 50 && timed(&drifting).iter().any(|kernel| kernel.rounds > PLANNED as u32),
        "{rest:?}"
    );
}

#[test]
fn rounds_of_kernels_are_in_turn_and_what_the_device_lacks_is_asked_for_first() {
    let told = told(&always(Duration::from_micros(10)), Duration::ZERO, BUDGET, |_, _| Ok(()));
    let is_lacking = |line: &Line| matches!(line, Line::Skipped(skipped) if skipped.why == "no such way");
    assert!(is_lacking(&told.0[0]), "{:?}", told.0[0]);
    let begun: Vec<&str> = told
        .0
        .iter()
        .filter_map(|line| if let Line::Begun(name) = line { Some(name.as_str()) } else { None })
        .filter(|name| *name != "d2h_pinned")
        .collect();
    let names: Vec<&str> = timed(&told).iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(begun, names.repeat(PLANNED));
}

#[test]
fn a_wrong_result_is_told_with_its_time_and_a_failed_device_ends_the_run() {
    let wrong = |kernel, checks| match (kernel, checks) {
        (KernelId::Gemm, 1) => Err(Trouble::Wrong("3 instead of 4".to_owned())),
        // One that errs when it has run for a while.
        (KernelId::Copy, 2) => Err(Trouble::Wrong("5 instead of 6".to_owned())),
        _ => Ok(()),
    };
    let (run, budget) = (Duration::from_micros(3), Duration::from_millis(100));
    let ran = told(&always(run), Duration::ZERO, budget, wrong);
    let named: Vec<_> =
        timed(&ran).iter().map(|result| (result.name.as_str(), result.wrong.as_deref())).collect();
    for known in [("gemm", Some("3 instead of 4")), ("copy", Some("5 instead of 6")), ("launch", None)] {
        assert!(named.contains(&known), "{named:?}");
    }
    let failing = |kernel, _| match kernel {
        KernelId::Gather => Err(Trouble::Failed("an illegal address".to_owned())),
        _ => Ok(()),
    };
    let ran = told(&always(run), Duration::ZERO, budget, failing);
    assert!(!ran.2 && ran.0.last() == Some(&Line::Begun("gather".to_owned())));
}
