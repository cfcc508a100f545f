//! `headwater lab`: the lab for the command line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};

use super::scenario::{SCENARIOS, Scenario, Variant};
use super::{DEFAULT_RATE, Lab, LabError, LabOptions, start};
use crate::cli::{interrupted, span};

/// `headwater lab`: real parts on loopback with a fault at a set second.
#[derive(Clone, Debug, clap::Args)]
pub struct LabArgs {
    /// What happens
    #[arg(value_parser = PossibleValuesParser::new(scenario_names()))]
    pub scenario: String,
    /// With `healthy`: at the fault's second users come 2.5 times as often, and the parts can serve them
    #[arg(long)]
    pub surge: bool,
    /// With `healthy`: from the fault's second on, one shard saves a small snapshot now and then
    #[arg(long, conflicts_with = "surge")]
    pub saving: bool,
    /// With `healthy`: a gateway before five instances of the service
    #[arg(long, conflicts_with_all = ["surge", "saving"])]
    pub fleet: bool,
    /// With `retry-storm`: users wait before they try again, longer each time
    #[arg(long, conflicts_with_all = ["surge", "saving", "fleet"])]
    pub backoff: bool,
    /// With `expiry-herd`: what expires are the model's answers, so that all who asked for them go to its queue
    #[arg(long, conflicts_with_all = ["surge", "saving", "fleet", "backoff"])]
    pub answers: bool,
    /// Write Headwater's configuration to this file once everything listens
    #[arg(long, value_name = "FILE")]
    pub config_out: Option<PathBuf>,
    /// When the fault begins after everything listens
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span)]
    pub at: Duration,
    /// When the lab ends; without it, at ctrl-c or SIGTERM
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub lasts: Option<Duration>,
    /// What chance depends on: the same number gives the same users and the same fault
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Requests a second
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RATE, value_parser = clap::value_parser!(u32).range(50..=150))]
    pub rate: u32,
    /// Shards of the Redis cluster, each a primary and a replica
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=6))]
    pub shards: u8,
}

/// Runs a lab for the command line: says where things are on `out`, and the truth at its time on `err`.
pub async fn run(args: LabArgs, out: &mut impl Write, err: &mut impl Write) -> Result<(), LabError> {
    let variant = args.variant();
    let scenario = Scenario::find(&args.scenario, variant)
        .ok_or_else(|| LabError::NoVariant { scenario: args.scenario.clone(), variant })?;
    let options = LabOptions { scenario, at: args.at, seed: args.seed, rate: args.rate, shards: args.shards };
    let mut ended = std::pin::pin!(interrupted());
    let lab = tokio::select! {
        biased;
        () = &mut ended => return Ok(()),
        lab = start(options) => lab?,
    };
    if let Some(path) = &args.config_out
        && let Err(error) = write_config(path, lab.config_toml())
    {
        lab.stop().await?;
        return Err(LabError::Config { path: path.clone(), error });
    }
    // Whoever started the lab may not read what it says; it goes on.
    let _ = describe(&lab, &args, out);
    let over = async {
        match args.lasts {
            Some(lasts) => tokio::time::sleep(lasts).await,
            None => std::future::pending().await,
        }
    };
    let mut over = std::pin::pin!(over);
    tokio::select! {
        () = &mut ended => {}
        () = &mut over => {}
        injection = lab.injected() => {
            if let Some(injection) = injection {
                let _ = writeln!(err, "lab: {}", injection.sentence);
            }
            tokio::select! {
                () = &mut ended => {}
                () = &mut over => {}
            }
        }
    }
    lab.stop().await
}

impl LabArgs {
    /// The form that the options ask for.
    fn variant(&self) -> Variant {
        let asked = [
            (self.surge, Variant::Surge),
            (self.saving, Variant::Saving),
            (self.fleet, Variant::Fleet),
            (self.backoff, Variant::Backoff),
            (self.answers, Variant::Answers),
        ];
        asked.iter().find(|(is_asked, _)| *is_asked).map_or(Variant::Plain, |(_, variant)| *variant)
    }
}

fn describe(lab: &Lab, args: &LabArgs, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "lab {} seed {}: everything listens", args.scenario, args.seed)?;
    for link in lab.counters().links {
        let role = if link.is_primary { "primary" } else { "replica" };
        writeln!(
            out,
            "  redis shard {} {role}   {}   through a link of 200 Mbit/s",
            link.shard, link.address
        )?;
    }
    if let Some(gateway) = lab.gateway {
        writeln!(out, "  gateway/edge            http://{gateway}/stats/prometheus")?;
    }
    for service in &lab.services {
        writeln!(out, "  service/ranker          http://{service}/metrics")?;
    }
    if let Some(gpus) = lab.gpus {
        writeln!(out, "  gpu/simulated:0         http://{gpus}/metrics   (simulated: there is no GPU)")?;
    }
    writeln!(out, "  client/load             http://{}/metrics", lab.load)?;
    writeln!(out, "  servers' logs           {}", lab.folder().display())?;
    if let Some(path) = &args.config_out {
        writeln!(out, "  configuration           {}", path.display())?;
    }
    out.flush()
}

/// Written beside and moved into place, so that whoever waits for the file never reads half of it.
fn write_config(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

fn scenario_names() -> Vec<PossibleValue> {
    let plain = SCENARIOS.iter().filter(|scenario| scenario.variant == Variant::Plain);
    plain.map(|scenario| PossibleValue::new(scenario.name).help(scenario.about)).collect()
}
