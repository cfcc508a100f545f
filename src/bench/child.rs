//! The child process: opens the device, times one kernel after the other and tells each result at once.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use rustix::process::{Signal, getpid, kill_process};

use super::backend::{Backend, Opened, Runnable, Trouble};
use super::cpu::Cpu;
use super::cuda;
use super::kernel::{KERNELS, Kernel};
use super::line::{Device, Done, Line};
use super::lock::{self, Turn};
use super::meter::measure;
use super::plan::{BackendChoice, LEAST_FREE_BYTES, MOST_UTILIZATION, Plan};
use super::report::{Conditions, KernelResult, Skipped};
use crate::process::die_with_parent;

/// Measures by a plan that its parent wrote as JSON, and tells every result on standard output. Ends with its parent, and by
/// itself at the deadline even if the device never answers.
pub fn measure_for_parent(plan: &str, parent: u32) -> u8 {
    let Ok(plan) = serde_json::from_str::<Plan>(plan) else { return 64 };
    if !die_with_parent(parent) {
        return 0;
    }
    end_at(plan.deadline + LATER);
    std::panic::set_hook(Box::new(|panic| {
        let said = panic.payload().downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.payload().downcast_ref::<&str>().copied());
        tell(&Line::Failed(why_it_panicked(said.unwrap_or_default())));
    }));
    let is_cpu = plan.backend == BackendChoice::Cpu;
    // Kept until the end of this process, whatever ends it.
    let _turn = match lock::wait(if is_cpu { "cpu" } else { "cuda" }, plan.deadline) {
        Turn::Ours(file) => file,
        Turn::Running(why) => {
            tell(&Line::Refused(why));
            return 0;
        }
        Turn::Stuck(why) => {
            tell(&Line::Held(why));
            return 0;
        }
    };
    let measured = if is_cpu { on_cpu(&plan) } else { on_gpu(&plan) };
    if let Err(Trouble::NotHere(why) | Trouble::Wrong(why) | Trouble::Failed(why)) = measured {
        tell(&Line::Failed(why));
    }
    0
}

fn on_cpu(plan: &Plan) -> Result<(), Trouble> {
    let (cpu, opened) = Cpu::open(plan.set_bytes)?;
    measure_on("cpu", &cpu, opened, plan)
}

fn on_gpu(plan: &Plan) -> Result<(), Trouble> {
    match cuda::open(plan) {
        Ok((gpu, opened)) => measure_on("cuda", &gpu, opened, plan)?,
        Err(cuda::NotOpen::Absent(why)) => tell(&Line::Absent(why)),
        Err(cuda::NotOpen::Unusable(why)) => tell(&Line::Unusable(why)),
        Err(cuda::NotOpen::Refused(why)) => tell(&Line::Refused(why)),
    }
    Ok(())
}

/// The library that loads the driver panics where a function is missing.
fn why_it_panicked(said: &str) -> String {
    match said.strip_prefix("Missing symbol ").and_then(|rest| rest.split(':').next()) {
        Some(missing) => format!(
            "the CUDA driver lacks '{missing}', which is in every release from 12.0 on: update the driver"
        ),
        None if said.is_empty() => "it panicked".to_owned(),
        None => said.to_owned(),
    }
}

/// How long after the deadline of its parent this process ends itself. The parent says what hangs; it is left to the child
/// only where the parent cannot, and never a race between the two.
const LATER: Duration = Duration::from_secs(2);

/// Kills this process some time after its deadline: a call into a driver that hangs cannot be ended in any other way. It is
/// killed and does not abort, which would write all of a driver's memory into a core file.
fn end_at(deadline: Duration) {
    // Nobody could be told that there is no thread for it; the parent has a deadline too.
    let _ = std::thread::Builder::new().name("deadline".to_owned()).spawn(move || {
        std::thread::sleep(deadline);
        let _ = kill_process(getpid(), Signal::KILL);
    });
}

/// A parent that does not listen any more has ended, and so has this process.
fn tell(line: &Line) {
    let Ok(text) = serde_json::to_string(line) else { return };
    let mut out = io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

fn measure_on(name: &str, backend: &dyn Backend, opened: Opened, plan: &Plan) -> Result<(), Trouble> {
    let mut conditions = opened.conditions;
    conditions.budget_s = plan.budget.as_secs_f64();
    if let Some(why) = refusal(&conditions, plan) {
        tell(&Line::Refused(why));
        return Ok(());
    }
    tell(&Line::Opened(Box::new(Device {
        backend: name.to_owned(),
        device: opened.device,
        index: opened.index,
        slice: opened.slice,
        driver: opened.driver,
        conditions,
        notes: opened.notes,
    })));
    let begun = Instant::now();
    measure_all(backend, &chosen(plan), plan.budget, &|| begun.elapsed(), &mut tell)?;
    tell(&Line::Done(Done { spent_s: begun.elapsed().as_secs_f64(), during: backend.at_work() }));
    Ok(())
}

/// The kernels of a plan, in the order of the table.
fn chosen(plan: &Plan) -> Vec<&'static Kernel> {
    let is_chosen =
        |kernel: &&Kernel| plan.kernels.is_empty() || plan.kernels.iter().any(|name| name == kernel.name);
    KERNELS.iter().filter(is_chosen).collect()
}

/// Why a device is better left alone, if it is.
pub(super) fn refusal(conditions: &Conditions, plan: &Plan) -> Option<String> {
    if plan.is_forced {
        return None;
    }
    if let Some(free) = conditions.memory_free_bytes.filter(|free| *free < LEAST_FREE_BYTES) {
        return Some(format!(
            "only {} of memory are free, and what serves requests may need them ({} are asked for): '--force' measures all the same",
            show(free as f64, Unit::Bytes),
            show(LEAST_FREE_BYTES as f64, Unit::Bytes),
        ));
    }
    if let (Some(asked), Some(free)) = (plan.set_bytes, conditions.memory_free_bytes)
        && asked > free / 2
    {
        return Some(format!(
            "'--memory' is more than half of the {} that are free: ask for less, or use '--force'",
            show(free as f64, Unit::Bytes)
        ));
    }
    let busy = conditions.before.utilization.filter(|share| *share > MOST_UTILIZATION)?;
    Some(format!(
        "it is {} in use: the measurement would disturb that, and be disturbed; '--force' measures all the same",
        show(busy, Unit::Ratio)
    ))
}

/// Times kernels one after the other. Each may take its share of what is left of the budget; what one does not need is the
/// others'.
fn measure_all(
    backend: &dyn Backend,
    kernels: &[&Kernel],
    budget: Duration,
    elapsed: &dyn Fn() -> Duration,
    tell: &mut dyn FnMut(&Line),
) -> Result<(), Trouble> {
    for (place, kernel) in kernels.iter().enumerate() {
        let left = budget.saturating_sub(elapsed());
        if left.is_zero() && place > 0 {
            let why = "the budget was spent: give more with '--budget'".to_owned();
            tell(&Line::Skipped(Skipped { name: kernel.name.to_owned(), why }));
            continue;
        }
        tell(&Line::Begun(kernel.name.to_owned()));
        let began = elapsed();
        let share = left / (kernels.len() - place) as u32;
        match timed(backend, kernel, share, began, elapsed) {
            Ok(result) => tell(&Line::Timed(result)),
            Err(Trouble::NotHere(why) | Trouble::Wrong(why)) => {
                tell(&Line::Skipped(Skipped { name: kernel.name.to_owned(), why }));
            }
            Err(Trouble::Failed(why)) => return Err(Trouble::Failed(format!("{}: {why}", kernel.name))),
        }
    }
    Ok(())
}

/// How long a device works while its clocks are read: as long as the reading takes.
const WATCHED: Duration = Duration::from_millis(10);

/// Runs in that time at most.
const MOST_WATCHED: f64 = 1_000.0;

fn timed(
    backend: &dyn Backend,
    kernel: &Kernel,
    share: Duration,
    began: Duration,
    elapsed: &dyn Fn() -> Duration,
) -> Result<KernelResult, Trouble> {
    let mut runnable = backend.prepare(kernel.id)?;
    let cold = runnable.run(1)?;
    // The first result is checked at once: that tells what checking the last one will take, which is the kernel's own time as
    // all else is.
    let before = elapsed();
    let mut wrong = fault_in(runnable.as_mut())?;
    let checking = elapsed().saturating_sub(before);
    let left = || share.saturating_sub(elapsed().saturating_sub(began));
    let watching = WATCHED.min(share / 20);
    let reserved = checking + watching * 2;
    let timing = measure(cold, left().saturating_sub(reserved), elapsed, &mut |times| runnable.run(times))?;
    let runs = (watching.as_secs_f64() / timing.median.max(1e-9)).clamp(1.0, MOST_WATCHED);
    let working = Duration::from_secs_f64(runs * timing.median);
    if left() >= checking + working.max(watching) && backend.watch_next(kernel.id) {
        runnable.run(runs as u32)?;
    }
    // Of a kernel that is longer than its share the first result has to do.
    if wrong.is_none() && checking <= left() {
        wrong = fault_in(runnable.as_mut())?;
    }
    Ok(result(kernel, runnable.as_ref(), timing, wrong))
}

/// What is wrong with the last result, if anything is.
fn fault_in(runnable: &mut dyn Runnable) -> Result<Option<String>, Trouble> {
    match runnable.check() {
        Ok(()) => Ok(None),
        Err(Trouble::Wrong(why)) => Ok(Some(why)),
        Err(trouble) => Err(trouble),
    }
}

fn result(
    kernel: &Kernel,
    runnable: &dyn Runnable,
    timing: super::meter::Timing,
    wrong: Option<String>,
) -> KernelResult {
    let work = runnable.work();
    let rate_unit = kernel.work.rate_unit();
    KernelResult {
        name: kernel.name.to_owned(),
        unit: "s".to_owned(),
        median: timing.median,
        iqr: timing.iqr,
        min: timing.min,
        batches: timing.batches,
        runs: timing.runs,
        baseline: None,
        baseline_at: None,
        ratio: None,
        cold: timing.cold,
        is_steady: timing.is_steady,
        work,
        table_bytes: runnable.table_bytes(),
        rate: rate_unit.filter(|_| timing.median > 0.0).map(|_| work / timing.median),
        rate_unit: rate_unit.map(str::to_owned),
        wrong,
        at: None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::bench::kernel::KernelId;
    use crate::bench::report::DeviceState;

    /// A device on a clock of its own: each run and each check takes so long, and preparing takes a tenth of a run.
    struct Scripted<'a> {
        clock: &'a Cell<Duration>,
        run: Duration,
        check: Duration,
        result: fn(KernelId, u32) -> Result<(), Trouble>,
    }

    /// A kernel of it, with how often it was checked.
    struct Run<'a>(&'a Scripted<'a>, KernelId, u32);

    impl Backend for Scripted<'_> {
        fn prepare(&self, kernel: KernelId) -> Result<Box<dyn Runnable + '_>, Trouble> {
            if kernel == KernelId::ToHostPinned {
                return Err(Trouble::NotHere("no such way".to_owned()));
            }
            self.clock.set(self.clock.get() + self.run / 10);
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
        fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
            self.0.clock.set(self.0.clock.get() + self.0.run * times);
            Ok(self.0.run * times)
        }

        fn check(&mut self) -> Result<(), Trouble> {
            self.0.clock.set(self.0.clock.get() + self.0.check);
            self.2 += 1;
            (self.0.result)(self.1, self.2)
        }
    }

    fn told(
        run: Duration,
        check: Duration,
        budget: Duration,
        result: fn(KernelId, u32) -> Result<(), Trouble>,
    ) -> (Vec<Line>, Duration, bool) {
        let clock = Cell::new(Duration::ZERO);
        let kernels: Vec<&Kernel> = KERNELS.iter().collect();
        let mut lines = vec![];
        let backend = Scripted { clock: &clock, run, check, result };
        let ended =
            measure_all(&backend, &kernels, budget, &|| clock.get(), &mut |line| lines.push(line.clone()));
        (lines, clock.get(), ended.is_ok())
    }

    #[test]
    fn a_budget_is_kept_and_a_spent_one_is_said() {
        let budget = Duration::from_secs(2);
        for run in [Duration::from_micros(3), Duration::from_millis(5), Duration::from_millis(30)] {
            // What checks take is spent as well, also where that is as long as everything else.
            for check in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(40)] {
                let (lines, spent, _) = told(run, check, budget, |_, _| Ok(()));
                let timed = lines.iter().filter(|line| matches!(line, Line::Timed(_))).count();
                assert_eq!(timed, KERNELS.len() - 1, "{run:?} {check:?}");
                assert!(spent <= budget, "{run:?} {check:?}: {spent:?}");
            }
        }
        // Each runs twice at least: two kernels of half a second spend the two seconds.
        let (lines, spent, _) = told(Duration::from_millis(500), Duration::ZERO, budget, |_, _| Ok(()));
        let skipped = lines.iter().filter(|line| matches!(line, Line::Skipped(_))).count();
        assert_eq!((skipped, spent), (KERNELS.len() - 2, Duration::from_millis(2_100)));
    }

    #[test]
    fn a_wrong_result_is_told_with_its_time_and_a_failed_device_ends_the_run() {
        let wrong = |kernel, checks| match (kernel, checks) {
            (KernelId::Gemm, 1) => Err(Trouble::Wrong("3 instead of 4".to_owned())),
            // One that errs when it has run for a while.
            (KernelId::Copy, 2) => Err(Trouble::Wrong("5 instead of 6".to_owned())),
            (KernelId::Gather, _) => Err(Trouble::Failed("an illegal address".to_owned())),
            _ => Ok(()),
        };
        let (run, budget) = (Duration::from_micros(3), Duration::from_millis(100));
        let (lines, _, is_done) = told(run, Duration::ZERO, budget, wrong);
        let timed: Vec<_> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Timed(result) => Some((result.name.as_str(), result.wrong.as_deref())),
                _ => None,
            })
            .collect();
        for known in [("gemm", Some("3 instead of 4")), ("copy", Some("5 instead of 6")), ("launch", None)] {
            assert!(timed.contains(&known), "{timed:?}");
        }
        assert!(!is_done && lines.last() == Some(&Line::Begun("gather".to_owned())));
    }

    #[test]
    fn what_serves_requests_is_left_alone_unless_forced() {
        let plan = Plan::new(BackendChoice::Cpu, Duration::from_secs(2));
        let conditions = |free: u64, utilization: f64| Conditions {
            memory_free_bytes: Some(free),
            before: DeviceState { utilization: Some(utilization), ..DeviceState::default() },
            ..Conditions::default()
        };
        let said = |conditions: &Conditions| refusal(conditions, &plan).unwrap_or_default();
        assert_eq!(said(&conditions(2 << 30, 0.5)), "");
        assert_eq!(said(&Conditions::default()), "", "what cannot be read forbids nothing");
        assert!(said(&conditions(1 << 29, 0.0)).starts_with("only 537 MB of memory are free"));
        assert!(said(&conditions(2 << 30, 0.96)).starts_with("it is 96 % in use"));
        let greedy = Plan { set_bytes: Some(3 << 30), ..plan.clone() };
        let why = refusal(&conditions(4 << 30, 0.0), &greedy).unwrap_or_default();
        assert!(why.starts_with("'--memory' is more than half of the 4.29 GB"), "{why}");
        let forced = Plan { is_forced: true, ..plan.clone() };
        assert_eq!(refusal(&conditions(0, 1.0), &forced), None);
    }
}
