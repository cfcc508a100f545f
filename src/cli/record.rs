//! `headwater record` and `headwater replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use headwater_engine::{Baselines, Moment};
use headwater_panels::Status;

use super::baselines::begin;
use super::output::{Failure, print_report, say};
use super::target::TargetArgs;
use super::tui::{LeadArgs, ScreenArgs, end};
use super::{EXIT_UNAVAILABLE, interrupted, span};
use crate::app::{App, Step};
use crate::recording::{Header, Player, Recorder, Tape};
use crate::report::Format;
use crate::tui::feed;
use crate::tui::run::Face;
use crate::tui::terminal::is_terminal;

/// The slowest speed that is not 0.
const SLOWEST: f64 = 0.001;

/// `headwater record`.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// The recording; an existing file is replaced
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    targets: TargetArgs,

    /// When the incident began: '20min' ago, 14:06 or 14:06:55 in UTC, or a date as in RFC 3339. What a [[prometheus]]
    /// remembers of before is recorded as healthy; without it, what is older than an hour
    #[arg(long, value_name = "TIME", value_parser = begin)]
    since: Option<Moment>,

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

    /// Print the report of its end in this form instead of showing it on the screen [default without a terminal: text]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// How much faster than it happened, up to 64 on the screen; 0 is as fast as possible, for reports
    /// [default: 1 on the screen, 0 for reports]
    #[arg(long, value_name = "N")]
    speed: Option<f64>,

    #[command(flatten)]
    lead: LeadArgs,

    #[command(flatten)]
    screen: ScreenArgs,
}

impl ReplayArgs {
    /// Whether it is shown on the screen: a terminal is there, and no report was asked for.
    pub(super) fn has_screen(&self) -> bool {
        self.format.is_none() && is_terminal()
    }
}

pub(super) async fn record(args: RecordArgs) -> Result<u8, Failure> {
    let mut config = args.targets.resolve()?;
    config.since = args.since;
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

pub(super) async fn replay(args: ReplayArgs) -> Result<u8, Failure> {
    let speed = args.speed.unwrap_or_default();
    // Slower than this a second would last for hours.
    if !speed.is_finite() || speed < 0.0 || (speed > 0.0 && speed < SLOWEST) {
        return Err(Failure::usage(format_args!(
            "'--speed {speed}' is not a speed: write 0 or a number from {SLOWEST}"
        )));
    }
    args.lead.need_screen(args.has_screen())?;
    let tape = Tape::File(args.file.clone());
    if !args.has_screen() {
        return play(tape, args.format.unwrap_or_default(), speed);
    }
    show_tape(tape, speed, args.lead.screen(), Status::default(), &args.screen).await
}

/// Shows a recording until somebody leaves.
pub(super) async fn show_tape(
    tape: Tape,
    speed: f64,
    face: impl Face,
    status: Status,
    screen: &ScreenArgs,
) -> Result<u8, Failure> {
    let look = screen.look()?;
    let name = tape.name();
    match feed::replay::replay(tape, speed, status)? {
        Some(feed) => end(screen.show(face, feed, look).await?, None),
        None => Err(holds_nothing(&name)),
    }
}

pub(super) fn holds_nothing(name: &str) -> Failure {
    let text = format_args!("'{name}' holds no evaluation: record for at least 1s");
    Failure::new(EXIT_UNAVAILABLE, text)
}

/// Replays a recording as fast as possible, and reports.
pub(super) fn report(tape: Tape, format: Format) -> Result<u8, Failure> {
    play(tape, format, 0.0)
}

fn play(tape: Tape, format: Format, speed: f64) -> Result<u8, Failure> {
    let name = tape.name();
    let mut player = Player::new(tape)?;
    while let Some(next) = player.next_at()? {
        if let Some(before) = player.at().filter(|_| speed > 0.0) {
            std::thread::sleep(next.since(before).div_f64(speed));
        }
        player.advance()?;
    }
    if player.is_cut() {
        say(format_args!("'{name}' ends in the middle of a line: what came before it was replayed"));
    }
    let Some(snapshot) = player.snapshot() else { return Err(holds_nothing(&name)) };
    print_report(&snapshot, format)?;
    Ok(0)
}
