//! `headwater triage`: one headless pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use headwater_engine::Baselines;
use headwater_engine::settings::BaselineRow;

use super::output::{Failure, print, say};
use super::target::TargetArgs;
use super::{EXIT_UNAVAILABLE, interrupted, span};
use crate::app::App;
use crate::app::triage::{TriageOptions, triage};
use crate::config::Config;
use crate::recording::{Header, Recorder, owner_file};
use crate::report::{Format, render};
use crate::sources::redis::ScanBudget;

/// How long a pass looks unless told otherwise.
const LENGTH: Duration = Duration::from_secs(10);

/// `headwater triage`.
#[derive(Debug, Args)]
pub(super) struct TriageArgs {
    #[command(flatten)]
    targets: TargetArgs,

    #[command(flatten)]
    pass: PassArgs,
}

/// How a pass runs and what becomes of it.
#[derive(Debug, Args)]
pub(super) struct PassArgs {
    /// How long to look [default: 10s; 20s in a demo]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub(super) length: Option<Duration>,

    /// The form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,

    /// Record what the engine is told, for 'headwater replay'
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,

    /// Do not scan a convicted or suspected shard for big keys
    #[arg(long)]
    pub(super) no_scan: bool,

    /// Healthy values of earlier runs: read at the start, written after a healthy run [default: a file in
    /// headwater's XDG state folder, one for each configuration's name, or targets when it has none]
    #[arg(long, value_name = "FILE")]
    pub(super) baselines: Option<PathBuf>,

    /// Neither read nor write healthy values
    #[arg(long, conflicts_with = "baselines")]
    pub(super) no_baselines: bool,
}

pub(super) async fn run(args: TriageArgs, started: Instant) -> Result<u8, Failure> {
    let config = args.targets.resolve()?;
    pass(&config, &args.pass, started).await
}

/// Runs one pass over a configuration and prints its report; the exit code is the report's.
pub(super) async fn pass(config: &Config, args: &PassArgs, started: Instant) -> Result<u8, Failure> {
    let saved = match (&args.baselines, args.no_baselines) {
        (_, true) => None,
        (Some(path), false) => Some(path.clone()),
        (None, false) => config.baselines_file(),
    };
    let baselines = saved.as_deref().map_or_else(Baselines::default, load);
    let recorder = match &args.record {
        Some(path) => Some(Recorder::create(path, &Header::new(config.settings.clone(), baselines.clone()))?),
        None => None,
    };
    let mut app = App::start(config, baselines.clone(), recorder)?;
    let options = TriageOptions {
        length: args.length.unwrap_or(LENGTH),
        scan: (!args.no_scan).then(ScanBudget::default),
        started,
    };
    let last = triage(&mut app, &options, &mut std::io::stderr(), interrupted()).await;
    let learned = app.learned();
    app.stop().await;
    let Some(snapshot) = last else {
        return Err(Failure::new(
            EXIT_UNAVAILABLE,
            "ended before the first evaluation: look for at least 1s",
        ));
    };
    print(&render(&snapshot, args.format))?;
    if let (Some(path), Some(learned)) = (saved, learned)
        && let Err(error) = save(&path, &merged(baselines, learned))
    {
        say(format_args!("healthy values cannot be saved in '{}': {error}", path.display()));
    }
    Ok(snapshot.report.conclusion.exit_code())
}

/// Reads saved healthy values; none is normal, a damaged file is said and not used.
fn load(path: &Path) -> Baselines {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                say(format_args!("healthy values in '{}' cannot be read: {error}", path.display()));
            }
            return Baselines::default();
        }
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        say(format_args!(
            "healthy values in '{}' are damaged and not used ({error}): delete the file",
            path.display()
        ));
        Baselines::default()
    })
}

/// What was learned now replaces what was known of the same series at the same hour; the rest stays.
fn merged(known: Baselines, learned: Baselines) -> Baselines {
    let series = |row: &BaselineRow| (row.subject.clone(), row.metric.clone(), row.part.clone(), row.hour);
    let new: BTreeSet<_> = learned.rows.iter().map(series).collect();
    let kept = known.rows.into_iter().filter(|row| !new.contains(&series(row)));
    let rows = learned.rows.into_iter().chain(kept).collect();
    Baselines { rows }
}

/// Written beside and moved into place, so that a reader never sees half a file.
fn save(path: &Path, baselines: &Baselines) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    serde_json::to_writer(owner_file(&beside)?, baselines)?;
    std::fs::rename(&beside, path)
}
