//! `headwater triage`: one headless pass.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::baselines::BaselineArgs;
use super::consent::ConsentArgs;
use super::output::{Failure, print_report};
use super::target::TargetArgs;
use super::{EXIT_UNAVAILABLE, interrupted, span};
use crate::app::App;
use crate::app::triage::{TriageOptions, triage};
use crate::config::Config;
use crate::recording::{Header, Recorder};
use crate::report::Format;
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

    /// The form of the report [default: text]
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,

    /// Record what the engine is told, for 'headwater replay'
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,

    /// Do not scan a convicted or suspected shard for big keys, nor search it for hot ones by what only reads
    #[arg(long)]
    pub(super) no_scan: bool,

    #[command(flatten)]
    pub(super) consent: ConsentArgs,

    #[command(flatten)]
    pub(super) healthy: BaselineArgs,
}

pub(super) async fn run(args: TriageArgs, started: Instant) -> Result<u8, Failure> {
    let mut config = args.targets.resolve()?;
    config.since = args.pass.healthy.since;
    pass(&config, &args.pass, started).await
}

/// Runs one pass over a configuration and prints its report; the exit code is the report's.
pub(super) async fn pass(config: &Config, args: &PassArgs, started: Instant) -> Result<u8, Failure> {
    let saved = args.healthy.open(config);
    let recorder = match &args.record {
        Some(path) => {
            Some(Recorder::create(path, &Header::new(config.settings.clone(), saved.known.clone()))?)
        }
        None => None,
    };
    let mut app = App::start(config, saved.known.clone(), recorder)?;
    let options = TriageOptions {
        length: args.length.unwrap_or(LENGTH),
        scan: (!args.no_scan).then(ScanBudget::default),
        search: args.consent.permit(!args.no_scan),
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
    print_report(&snapshot, args.format.unwrap_or_default())?;
    saved.save(learned);
    Ok(snapshot.report.conclusion.exit_code())
}
