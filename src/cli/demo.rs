//! `headwater demo`: the lab in this process, diagnosed as if it were a stranger.

use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;

use headwater_panels::Status;

use super::output::{Failure, say};
use super::record::{report, show_tape};
use super::triage::{PassArgs, pass};
use super::tui::{LeadArgs, ScreenArgs, end, live_feed};
use crate::config::Config;
use crate::lab::scenario::{SCENARIOS, Scenario, Shape, Variant};
use crate::lab::{self, LabError, LabOptions};
use crate::recording::Tape;
use crate::tui::terminal::is_terminal;

/// How long a demo looks unless told otherwise: the fault comes after five seconds. One that is felt later is looked at
/// for longer.
const LENGTH: Duration = Duration::from_secs(20);

/// `headwater demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// What happens in the lab
    #[arg(default_value = "hot-shard", value_parser = PossibleValuesParser::new(scenario_names()))]
    scenario: String,

    /// What chance depends on [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    pass: PassArgs,

    #[command(flatten)]
    lead: LeadArgs,

    #[command(flatten)]
    screen: ScreenArgs,
}

impl DemoArgs {
    /// Whether it is shown on the screen: a terminal is there, and no pass or report was asked for.
    pub(super) fn has_screen(&self) -> bool {
        self.pass.format.is_none() && self.pass.length.is_none() && is_terminal()
    }
}

fn scenario_names() -> Vec<&'static str> {
    let mut names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    names.dedup();
    names
}

pub(super) async fn run(mut args: DemoArgs) -> Result<u8, Failure> {
    args.lead.need_screen(args.has_screen())?;
    // A demo starts from nothing and leaves nothing behind, unless a file was named.
    args.pass.healthy.no_baselines |= args.pass.healthy.baselines.is_none();
    let scenario = Scenario::find(&args.scenario, Variant::Plain)
        .ok_or_else(|| Failure::usage(format_args!("no scenario '{}'", args.scenario)))?;
    if let Err(error) = lab::require_server().await {
        return without_lab(error, &args).await;
    }
    say(format_args!("starting the lab: {} ({})", scenario.name, scenario.about));
    let usual = LabOptions::new(scenario);
    let options = LabOptions { seed: args.seed.unwrap_or(usual.seed), ..usual };
    let outlook = scenario.outlook(options.at);
    let lab = lab::start(options).await.map_err(|error| Failure::new(error.exit_code(), error))?;
    let toml = lab.config_toml().to_owned();
    let looked = match Config::parse(&toml, "lab") {
        Ok(config) if args.has_screen() => on_screen(&config, &args, &titled(scenario), &outlook).await,
        Ok(config) => {
            say(format_args!("looking at it; {outlook}"));
            args.pass.length.get_or_insert(LENGTH + scenario.felt_after());
            // A demo that showed its incident went well, whoever was guilty in it.
            pass(&config, &args.pass, Instant::now()).await.map(|_| 0)
        }
        Err(error) => Err(error.into()),
    };
    if let Some(injection) = futures::FutureExt::now_or_never(lab.injected()).flatten() {
        say(format_args!("what the lab did: {}", injection.sentence));
    }
    if let Err(error) = lab.stop().await {
        say(format_args!("the lab did not end cleanly: {error}"));
    }
    looked
}

/// What stands above the screen, with what is not real first: a narrow terminal cuts the rest.
fn titled(scenario: &Scenario) -> String {
    let simulated = match scenario.shape {
        Shape::Single => ", GPU simulated",
        Shape::Fleet => "",
    };
    format!("demo '{}'{simulated}", scenario.name)
}

/// Shows the lab until somebody leaves.
async fn on_screen(config: &Config, args: &DemoArgs, title: &str, outlook: &str) -> Result<u8, Failure> {
    let look = args.screen.look()?;
    let saved = args.pass.healthy.open(config);
    let demo = format!("{title}: a real lab on this machine; {outlook}");
    let feed = live_feed(config, &saved, args.pass.record.clone(), Some(demo))?;
    end(args.screen.show(args.lead.screen_with_hint(&look), feed, look).await?, Some(saved))
}

/// What is left without `redis-server`: the bundled recording of the scenario.
async fn without_lab(error: LabError, args: &DemoArgs) -> Result<u8, Failure> {
    let code = error.exit_code();
    if !matches!(error, LabError::NoRedisServer | LabError::OldRedisServer(_)) {
        return Err(Failure::new(code, error));
    }
    match RECORDINGS.iter().find(|(name, _)| *name == args.scenario) {
        None => Err(Failure::new(code, error)),
        Some(_) if args.pass.record.is_some() => Err(Failure::usage(format_args!(
            "'--record' needs a demo that runs, and this one would only show its bundled recording: {error}"
        ))),
        Some((name, bytes)) => {
            if args.has_screen() {
                let why = match error {
                    LabError::NoRedisServer => "no redis-server here",
                    _ => "the redis-server here is too old",
                };
                let titled =
                    Scenario::find(name, Variant::Plain).map_or_else(|| format!("demo '{name}'"), titled);
                let demo = format!("{titled}: {why}, so this is the recording of a real run of the lab");
                let face = args.lead.screen_with_hint(&args.screen.look()?);
                let status = Status { demo: Some(demo), ..Status::default() };
                return show_tape(Tape::Bundled(name, bytes), 1.0, face, status, &args.screen).await;
            }
            say(format_args!("{error}"));
            say(format_args!("showing the bundled recording of '{name}' instead"));
            let ignored = ignored_by_a_recording(args);
            if !ignored.is_empty() {
                say(format_args!("a recording is as it is: {} changes nothing in it", ignored.join(", ")));
            }
            report(Tape::Bundled(name, bytes), args.pass.format.unwrap_or_default()).map(|_| 0)
        }
    }
}

/// The options that were given and say how to look, which a recording has behind it.
fn ignored_by_a_recording(args: &DemoArgs) -> Vec<&'static str> {
    let given = [
        ("--for", args.pass.length.is_some()),
        ("--seed", args.seed.is_some()),
        ("--baselines", args.pass.healthy.baselines.is_some()),
        ("--no-scan", args.pass.no_scan),
        ("--allow-monitor", args.pass.consent.allow_monitor.is_some()),
        ("--allow-hotkeys", args.pass.consent.allow_hotkeys),
    ];
    given.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
}

/// Bundled recordings by scenario; `scripts/demo-recordings` makes them.
static RECORDINGS: &[(&str, &[u8])] = &[
    ("healthy", include_bytes!("../../assets/recordings/healthy.hwr")),
    ("hot-shard", include_bytes!("../../assets/recordings/hot-shard.hwr")),
    ("slow-ranker", include_bytes!("../../assets/recordings/slow-ranker.hwr")),
    ("expiry-herd", include_bytes!("../../assets/recordings/expiry-herd.hwr")),
    ("cross-slot", include_bytes!("../../assets/recordings/cross-slot.hwr")),
    ("pool-starved", include_bytes!("../../assets/recordings/pool-starved.hwr")),
    ("retry-storm", include_bytes!("../../assets/recordings/retry-storm.hwr")),
    ("failover-storm", include_bytes!("../../assets/recordings/failover-storm.hwr")),
    ("gpu-leak", include_bytes!("../../assets/recordings/gpu-leak.hwr")),
    ("launch-stall", include_bytes!("../../assets/recordings/launch-stall.hwr")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::scenario::{SCENARIOS, Variant};

    #[test]
    fn every_demo_has_a_recording_for_machines_without_a_server() {
        for scenario in SCENARIOS.iter().filter(|scenario| matches!(scenario.variant, Variant::Plain)) {
            // The dump of six gigabytes is what it is about, and nobody waits for that in a recording.
            let is_bundled = RECORDINGS.iter().any(|(name, _)| *name == scenario.name);
            assert_eq!(is_bundled, scenario.name != "fork-stall", "{}", scenario.name);
        }
    }
}
