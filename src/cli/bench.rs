//! `headwater bench`: how long known kernels take on this device, beside how long they took before.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::output::{Failure, print, say};
use super::{EXIT_IO, EXIT_UNAVAILABLE, span};
use crate::bench::baseline::{self, BaselineError};
use crate::bench::kernel::KERNELS;
use crate::bench::meter::LEAST_FOR_A_MEDIAN;
use crate::bench::{BackendChoice, BenchError, BenchReport, Plan, child, run as measure};
use crate::config::{Size, unknown_name};

/// The forms of the result.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BenchFormat {
    Text,
    Json,
}

/// `headwater bench`.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// What is measured: a GPU, the CPU, or a GPU where there is one
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,

    /// Which of several GPUs, as nvidia-smi counts them [default: the first that CUDA shows]
    #[arg(long, value_name = "INDEX")]
    device: Option<u32>,

    /// How long measuring may take
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    budget: Duration,

    /// How long all of it may take, with the start of the driver, before it is killed [default: three budgets and 15s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Duration>,

    /// Memory that bandwidth is measured over [default: four times the device's cache, 64MiB at least]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// The kernels, by name and separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    kernels: Vec<String>,

    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    format: BenchFormat,

    /// Compare with this result, or with the saved one, and fail when there is none; a saved one is compared with anyhow
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "given without a file means the saved one")]
    compare: Option<Option<PathBuf>>,

    /// Save the result as the baseline of this model and driver
    #[arg(long)]
    save: bool,

    /// Measure also where memory is short or the device is busy
    #[arg(long)]
    force: bool,
}

/// The child process; started by this binary alone.
#[derive(Debug, Args)]
pub(super) struct BenchChildArgs {
    /// What to measure, as JSON
    #[arg(long)]
    plan: String,

    /// The process that listens
    #[arg(long)]
    parent: u32,
}

fn size(text: &str) -> Result<u64, String> {
    text.parse::<Size>().map(|size| size.0)
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        Self::new(EXIT_UNAVAILABLE, error)
    }
}

impl From<BaselineError> for Failure {
    fn from(error: BaselineError) -> Self {
        match &error {
            BaselineError::File { reason, .. } => Self::of_file(reason, &error),
            BaselineError::Broken { .. } => Self::usage(error),
            BaselineError::NoHome | BaselineError::Wrong => Self::new(EXIT_IO, error),
        }
    }
}

/// The child's side.
pub(super) fn child(args: &BenchChildArgs) -> u8 {
    child::measure_for_parent(&args.plan, args.parent)
}

pub(super) async fn run(args: BenchArgs) -> Result<u8, Failure> {
    let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    if let Some(unknown) = args.kernels.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Failure::usage(unknown_name("kernel", unknown, &names)));
    }
    // Read first: a wrong file is said before anything is measured.
    let given = match &args.compare {
        Some(Some(path)) => Some(baseline::read(path)?),
        _ => None,
    };
    let mut plan = Plan::new(args.backend, args.budget);
    plan.device = args.device;
    plan.deadline = args.timeout.unwrap_or(plan.deadline);
    plan.set_bytes = args.memory;
    plan.is_forced = args.force;
    plan.kernels.clone_from(&args.kernels);
    let mut report = match measure(&plan).await {
        Ok(report) => report,
        Err(error) => {
            if matches!(args.format, BenchFormat::Json) {
                print(&error.json(args.backend))?;
            }
            return Err(error.into());
        }
    };
    let earlier = match given {
        Some(given) => Some(given),
        None => saved(&report)?,
    };
    match &earlier {
        Some(earlier) => {
            report.compare_with(earlier);
            report.notes.extend(differences(&report, earlier));
        }
        None if args.compare.is_some() => {
            return Err(Failure::usage(format_args!(
                "there is no saved result of {}: make one with 'headwater bench --save'",
                report.device
            )));
        }
        None if !args.save => {
            report.notes.push("no baseline yet: '--save' keeps this result as one".to_owned())
        }
        None => {}
    }
    match args.format {
        BenchFormat::Text => print(&report.text())?,
        BenchFormat::Json => print(&report.json())?,
    }
    if args.save {
        let path = baseline::save(&report)?;
        say(format_args!("saved as the baseline of {} in '{}'", report.device, path.display()));
        let hurried = report.kernels.iter().filter(|kernel| !kernel.has_median());
        let names: Vec<&str> = hurried.map(|kernel| kernel.name.as_str()).collect();
        if !names.is_empty() {
            say(format_args!(
                "not saved, because a median needs {LEAST_FOR_A_MEDIAN} batches: {}; give more with '--budget'",
                names.join(", ")
            ));
        }
    }
    // Times of a device that computes wrongly are worth nothing.
    Ok(if report.wrong().next().is_some() { EXIT_UNAVAILABLE } else { 0 })
}

/// The saved baseline. A damaged one is said, and is none.
fn saved(report: &BenchReport) -> Result<Option<BenchReport>, Failure> {
    match baseline::saved(report) {
        Err(error @ BaselineError::Broken { .. }) => {
            say(format_args!("headwater: {error}"));
            Ok(None)
        }
        saved => Ok(saved?),
    }
}

/// What makes two results less comparable than they look.
fn differences(now: &BenchReport, earlier: &BenchReport) -> Vec<String> {
    let mut notes: Vec<String> = ages(now).into_iter().collect();
    let mut differs = |what: &str, now: &str, earlier: &str| {
        if now != earlier {
            notes.push(format!("the baseline is of another {what}: '{earlier}', now '{now}'"));
        }
    };
    differs("backend", &now.backend, &earlier.backend);
    differs("device", &now.device, &earlier.device);
    differs("driver", now.driver.as_deref().unwrap_or("none"), earlier.driver.as_deref().unwrap_or("none"));
    let of_other_work = now.kernels.iter().filter(|kernel| {
        kernel.baseline.is_none() && earlier.kernels.iter().any(|known| known.name == kernel.name)
    });
    let names: Vec<&str> = of_other_work.map(|kernel| kernel.name.as_str()).collect();
    if !names.is_empty() {
        let why = "because they did other work then, or read from a table of another size";
        notes.push(format!("not compared, {why}: {}", names.join(", ")));
    }
    notes
}

/// From when the baselines are; `None` where there are none.
fn ages(now: &BenchReport) -> Option<String> {
    let mut ages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kernel in &now.kernels {
        if let Some(at) = &kernel.baseline_at {
            ages.entry(at).or_default().push(&kernel.name);
        }
    }
    // The newest holds for all that are not named.
    let (newest, _) = ages.pop_last()?;
    let older = ages.iter().rev().map(|(at, names)| format!("; of {at} for {}", names.join(", ")));
    Some(format!("baseline of {newest}{}", older.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use crate::bench::plan::USUAL_BUDGET;

    #[test]
    fn help_tells_the_budget_that_is_usual() {
        assert_eq!(super::span("2s"), Ok(USUAL_BUDGET));
    }
}
