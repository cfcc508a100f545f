//! `headwater kiosk`: the screen of a wall without a keyboard.

use std::time::Duration;

use clap::Args;
use headwater_panels::PANELS;
use headwater_panels::kiosk::{Kiosk, TURN};

use super::baselines::BaselineArgs;
use super::output::Failure;
use super::span;
use super::target::TargetArgs;
use super::tui::{ScreenArgs, end, live_feed, require_terminal};
use crate::config::unknown_name;

/// `headwater kiosk`.
#[derive(Debug, Args)]
pub(super) struct KioskArgs {
    #[command(flatten)]
    targets: TargetArgs,

    /// The panels that are shown in turn, by their names [default: those that a wall is for]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    panels: Vec<String>,

    /// How long each is shown [default: 15s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    every: Option<Duration>,

    #[command(flatten)]
    healthy: BaselineArgs,

    #[command(flatten)]
    screen: ScreenArgs,
}

pub(super) async fn run(args: KioskArgs) -> Result<u8, Failure> {
    let names: Vec<&str> = PANELS.iter().map(|row| row.name).collect();
    if let Some(unknown) = args.panels.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Failure::usage(unknown_name("panel", unknown, &names)));
    }
    let every = args.every.unwrap_or(TURN);
    if every < Duration::from_secs(1) {
        return Err(Failure::usage("'--every' below 1s cannot be read from a wall: write 1s or more"));
    }
    let mut config = args.targets.resolve()?;
    config.since = args.healthy.since;
    require_terminal("a kiosk needs one; 'headwater triage' reports without")?;
    let look = args.screen.look()?;
    let saved = args.healthy.open(&config);
    let feed = live_feed(&config, &saved, None, None)?;
    let kiosk = Kiosk::new(args.panels.iter().map(String::as_str), every);
    let ended = args.screen.show(kiosk, feed, look).await?;
    end(ended, Some(saved))
}
