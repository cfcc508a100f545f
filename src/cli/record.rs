//! `headwater record` and `headwater replay`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use headwater_engine::reading::Input;
use headwater_engine::{Baselines, Engine, Moment, Snapshot};

use super::output::{Failure, print, say};
use super::target::TargetArgs;
use super::{EXIT_UNAVAILABLE, interrupted, span};
use crate::app::{App, Step};
use crate::recording::{Header, Recorder, Recording};
use crate::report::{Format, render};

/// `headwater record`.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// The recording; an existing file is replaced
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    targets: TargetArgs,

    /// How long to record; without it until ctrl-c
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    length: Option<Duration>,
}

/// `headwater replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// A file made by 'headwater record' or 'triage --record'
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// How much faster than it happened; 0 is as fast as possible
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    speed: f64,
}

pub(super) async fn record(args: RecordArgs) -> Result<u8, Failure> {
    let config = args.targets.resolve()?;
    let header = Header::new(config.settings.clone(), Baselines::default());
    let recorder = Recorder::create(&args.file, &header)?;
    let mut app = App::start(&config, Baselines::default(), Some(recorder))?;
    let over = async {
        match args.length {
            Some(length) => tokio::time::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    let mut ended = std::pin::pin!(async {
        tokio::select! {
            () = interrupted() => {}
            () = over => {}
        }
    });
    say(format_args!(
        "recording to '{}'{}",
        args.file.display(),
        if args.length.is_none() { ", ctrl-c ends it" } else { "" }
    ));
    let (mut readings, mut evaluations) = (0_u64, 0_u64);
    loop {
        let step = tokio::select! {
            biased;
            () = &mut ended => break,
            step = app.step() => step,
        };
        match step {
            Step::Read => readings += 1,
            Step::Evaluated(_) => evaluations += 1,
        }
        if let Some(error) = app.recording_error() {
            app.stop().await;
            return Err(error.into());
        }
    }
    app.stop().await;
    say(format_args!("recorded {readings} readings and {evaluations} evaluations"));
    Ok(0)
}

pub(super) fn replay(args: &ReplayArgs) -> Result<u8, Failure> {
    if !args.speed.is_finite() || args.speed < 0.0 {
        return Err(Failure::usage(format_args!(
            "'--speed {}' is not a speed: write a number from 0",
            args.speed
        )));
    }
    play(Recording::open(&args.file)?, &args.file, args.format, args.speed)
}

/// Replays a bundled recording as fast as possible.
pub(super) fn replay_bytes(name: &str, bytes: &'static [u8], format: Format) -> Result<u8, Failure> {
    let path = Path::new(name);
    play(Recording::from_reader(Box::new(bytes), path)?, path, format, 0.0)
}

fn play(mut recording: Recording, path: &Path, format: Format, speed: f64) -> Result<u8, Failure> {
    let header = recording.header();
    let mut engine = Engine::new(header.settings_in_force(), header.baselines.clone());
    let mut last: Option<Arc<Snapshot>> = None;
    let mut before: Option<Moment> = None;
    for input in &mut recording {
        let input = input?;
        let is_tick = if let Input::Tick(at) = input {
            if let Some(before) = before.filter(|_| speed > 0.0) {
                std::thread::sleep(at.since(before).div_f64(speed));
            }
            before = Some(at);
            true
        } else {
            false
        };
        engine.take(&input);
        if is_tick {
            last = engine.snapshot();
        }
    }
    if recording.is_cut() {
        say(format_args!(
            "'{}' ends in the middle of a line: what came before it was replayed",
            path.display()
        ));
    }
    let Some(snapshot) = last else {
        return Err(Failure::new(
            EXIT_UNAVAILABLE,
            format_args!("'{}' holds no evaluation: record for at least 1s", path.display()),
        ));
    };
    print(&render(&snapshot, format))?;
    Ok(0)
}
