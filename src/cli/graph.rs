//! `headwater graph`: who calls whom, with the verdict on each component.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use headwater_engine::wording::troubles;
use headwater_engine::{Baselines, Engine, Input, Kind, Snapshot};

use super::output::{Failure, print, say};
use super::record::holds_nothing;
use super::target::TargetArgs;
use super::{EXIT_UNAVAILABLE, interrupted, span};
use crate::app::App;
use crate::app::hot_search::Permit;
use crate::app::triage::{TriageOptions, triage};
use crate::config::Import;
use crate::recording::{Player, Tape};
use crate::report::graph::{Form, render};
use crate::sources::now;

/// How long a pass looks unless told otherwise: long enough for rates and for most verdicts.
const LENGTH: Duration = Duration::from_secs(3);

/// `headwater graph`.
#[derive(Debug, Args)]
pub(super) struct GraphArgs {
    #[command(flatten)]
    targets: TargetArgs,

    /// The form
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    /// How long to look at the targets first [default: 3s]
    #[arg(long = "for", value_name = "TIME", value_parser = span, conflicts_with_all = ["no_poll", "replay"])]
    length: Option<Duration>,

    /// Ask nobody: draw what the configuration and its files say, without a verdict
    #[arg(long, conflicts_with = "replay")]
    no_poll: bool,

    /// Draw what a recording says at its end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "config"])]
    replay: Option<PathBuf>,
}

pub(super) async fn run(args: GraphArgs, started: Instant) -> Result<u8, Failure> {
    if let Some(file) = args.replay {
        return replayed(Tape::File(file), args.format);
    }
    let config = args.targets.resolve()?;
    let snapshot = if args.no_poll {
        for fault in config.imports.iter().filter_map(Import::fault) {
            say(fault);
        }
        let mut engine = Engine::new(config.settings.clone(), Baselines::default());
        engine.take(&Input::Tick(now()));
        engine.snapshot()
    } else {
        let mut app = App::start(&config, Baselines::default(), None)?;
        let options = TriageOptions {
            length: args.length.unwrap_or(LENGTH),
            scan: None,
            search: Permit::default(),
            started,
        };
        // Who is guilty stands in the graph; what is told on the way is not for this command.
        let last = triage(&mut app, &options, &mut std::io::sink(), interrupted()).await;
        app.stop().await;
        last
    };
    let Some(snapshot) = snapshot else {
        let sentence = "ended before the first evaluation: look for at least 1s, or use '--no-poll'";
        return Err(Failure::new(EXIT_UNAVAILABLE, sentence));
    };
    print(&render(&snapshot, args.format))?;
    for trouble in troubles(&snapshot) {
        say(trouble);
    }
    // Without an answer this is only what the configuration says.
    let is_unseen = !args.no_poll && nobody_answered(&snapshot);
    if is_unseen {
        say("no target answered: 'headwater doctor' says what is in the way");
    }
    Ok(if is_unseen { EXIT_UNAVAILABLE } else { 0 })
}

/// Whether no target answered; where there is none, no import either.
fn nobody_answered(snapshot: &Snapshot) -> bool {
    let has_targets = snapshot.targets().next().is_some();
    let mut asked = snapshot
        .sources
        .iter()
        .filter(|state| state.source.kind() != Kind::Observer)
        .filter(|state| !has_targets || !state.source.kind().only_tells());
    asked.all(|state| state.last_data.is_none())
}

fn replayed(tape: Tape, format: Form) -> Result<u8, Failure> {
    let name = tape.name();
    let mut player = Player::new(tape)?;
    while player.next_at()?.is_some() {
        player.advance()?;
    }
    if player.is_cut() {
        say(format_args!("'{name}' ends in the middle of a line: what came before it was read"));
    }
    let Some(snapshot) = player.snapshot() else { return Err(holds_nothing(&name)) };
    print(&render(&snapshot, format))?;
    Ok(0)
}
