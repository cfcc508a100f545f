//! The child process: opens the device, times kernels and tells each result.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use rustix::process::{Signal, getpid, kill_process};

use super::backend::{Backend, Opened, Trouble};
use super::cpu::Cpu;
use super::cuda;
use super::kernel::{KERNELS, Kernel};
use super::line::{Device, Done, Line};
use super::lock::{self, Taken};
use super::plan::{BackendChoice, LEAST_FREE_BYTES, MOST_UTILIZATION, Plan};
use super::report::{Conditions, KernelResult};
use super::rounds::measure_all;
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
    let measured = if is_cpu { on_cpu(&plan) } else { on_gpu(&plan) };
    if let Err(Trouble::NotHere(why) | Trouble::Late(why) | Trouble::Wrong(why) | Trouble::Failed(why)) =
        measured
    {
        tell(&Line::Failed(why));
    }
    0
}

fn on_cpu(plan: &Plan) -> Result<(), Trouble> {
    let turn = match lock::wait("cpu", plan.deadline) {
        Ok(turn) => turn,
        Err(taken) => {
            tell(&said_of(taken));
            return Ok(());
        }
    };
    let (cpu, mut opened) = Cpu::open(plan.set_bytes)?;
    opened.notes.extend(turn.unseen.clone());
    turn.keep();
    measure_on("cpu", &cpu, opened, plan)
}

fn on_gpu(plan: &Plan) -> Result<(), Trouble> {
    match cuda::open(plan) {
        Ok((gpu, opened)) => measure_on("cuda", &gpu, opened, plan)?,
        Err(cuda::NotOpen::Absent(why)) => tell(&Line::Absent(why)),
        Err(cuda::NotOpen::Unusable(why)) => tell(&Line::Unusable(why)),
        Err(cuda::NotOpen::Refused(why)) => tell(&Line::Refused(why)),
        Err(cuda::NotOpen::Taken(taken)) => tell(&said_of(taken)),
    }
    Ok(())
}

/// What is told where another process measures.
fn said_of(taken: Taken) -> Line {
    match taken {
        Taken::Running(why) => Line::Refused(why),
        Taken::Stuck(why) => Line::Held(why),
    }
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
    if let Some(why) = refusal(&conditions, plan, "the CPU") {
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

/// Why a device is better left alone, if it is; `device` is what it is called.
pub(super) fn refusal(conditions: &Conditions, plan: &Plan, device: &str) -> Option<String> {
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
        "{device} is {} in use: the measurement would disturb that, and be disturbed; '--force' measures all the same",
        show(busy, Unit::Ratio)
    ))
}

/// Times every kernel that a CPU has within a budget, in this process: for benchmarks of the benchmark.
pub fn cpu_times(budget: Duration) -> Result<Vec<KernelResult>, String> {
    let why = |trouble| match trouble {
        Trouble::NotHere(why) | Trouble::Late(why) | Trouble::Wrong(why) | Trouble::Failed(why) => why,
    };
    let (cpu, _) = Cpu::open(None).map_err(why)?;
    let (begun, mut timed) = (Instant::now(), vec![]);
    let mut keep = |line: &Line| {
        if let Line::Timed(result) = line {
            timed.push(result.clone());
        }
    };
    let kernels: Vec<&Kernel> = KERNELS.iter().collect();
    measure_all(&cpu, &kernels, budget, &|| begun.elapsed(), &mut keep).map_err(why)?;
    Ok(timed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::DeviceState;

    #[test]
    fn what_serves_requests_is_left_alone_unless_forced() {
        let plan = Plan::new(BackendChoice::Cpu, Duration::from_secs(2));
        let conditions = |free: u64, utilization: f64| Conditions {
            memory_free_bytes: Some(free),
            before: DeviceState { utilization: Some(utilization), ..DeviceState::default() },
            ..Conditions::default()
        };
        let said = |conditions: &Conditions| refusal(conditions, &plan, "GPU 3").unwrap_or_default();
        assert_eq!(said(&conditions(2 << 30, 0.5)), "");
        assert_eq!(said(&Conditions::default()), "", "what cannot be read forbids nothing");
        assert!(said(&conditions(1 << 29, 0.0)).starts_with("only 537 MB of memory are free"));
        assert!(said(&conditions(2 << 30, 0.96)).starts_with("GPU 3 is 96 % in use"));
        let greedy = Plan { set_bytes: Some(3 << 30), ..plan.clone() };
        let why = refusal(&conditions(4 << 30, 0.0), &greedy, "GPU 3").unwrap_or_default();
        assert!(why.starts_with("'--memory' is more than half of the 4.29 GB"), "{why}");
        let forced = Plan { is_forced: true, ..plan.clone() };
        assert_eq!(refusal(&conditions(0, 1.0), &forced, "GPU 3"), None);
    }
}
