//! `headwater config`: make, print and check configurations.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::{Failure, print, say};
use super::target::TargetArgs;
use crate::config::{Config, Import, example, schema};
use crate::keymap;
use crate::sources::changes::ChangesSpec;
use crate::theme::{self, Theme};

/// `headwater config`.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print a commented example
    Init,
    /// Print the configuration as it takes effect, secrets as ***
    Print(Box<TargetArgs>),
    /// Print the JSON schema
    Schema,
    /// Check a file: every problem with its line and its fix
    Check(CheckArgs),
    /// Print which key does what, as a keymap file
    Keymap(KeymapArgs),
    /// Print a colour theme, to begin one's own with; without a name, the names
    Theme(ThemeArgs),
}

/// `headwater config theme`.
#[derive(Debug, Args)]
pub(super) struct ThemeArgs {
    /// A built-in theme; or the file of one's own, which is checked
    #[arg(value_name = "NAME|FILE")]
    theme: Option<String>,
}

/// `headwater config keymap`.
#[derive(Debug, Args)]
pub(super) struct KeymapArgs {
    /// The keymap that changes the default [default: $XDG_CONFIG_HOME/headwater/keymap.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    keymap: Option<PathBuf>,
}

/// `headwater config check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The configuration
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(command: ConfigCommand) -> Result<u8, Failure> {
    match command {
        ConfigCommand::Init => print(&example())?,
        ConfigCommand::Print(targets) => print(&targets.resolve()?.print())?,
        ConfigCommand::Schema => print(&schema())?,
        ConfigCommand::Check(args) => {
            let config = Config::load(&args.file)?;
            let faults: Vec<String> =
                config.imports.iter().filter_map(Import::fault).map(|fault| fault.to_string()).collect();
            if !faults.is_empty() {
                return Err(Failure::usage(faults.join("\n")));
            }
            // A file of changes may come later, so a missing one is worth a word and no error.
            for warning in config.changes.iter().filter_map(ChangesSpec::missing) {
                say(warning);
            }
            print(&format!(
                "{}: right: {} Redis target(s), {} metrics page(s), {} list(s) of pages, {} Prometheus server(s), {} probe(s), {} log(s), \
                 {} component(s), {} import(s), {} source(s) of changes\n",
                config.origin,
                config.redis.len(),
                config.metrics.len(),
                config.discoveries.len(),
                config.prometheus.len(),
                config.probes.len(),
                config.logs.len(),
                config.settings.components.len(),
                config.imports.len(),
                config.changes.len()
            ))?;
        }
        ConfigCommand::Keymap(args) => print(&keymap::print(&keymap::load(args.keymap.as_deref())?))?,
        ConfigCommand::Theme(args) => print(&theme_text(args.theme.as_deref())?)?,
    }
    Ok(0)
}

/// The names of all themes, or one that can be read, as it is written.
fn theme_text(wanted: Option<&str>) -> Result<String, Failure> {
    let Some(wanted) = wanted else { return Ok(theme::names().join("\n") + "\n") };
    let theme = Theme::load(wanted)?;
    Ok(theme::text(wanted)
        .map_or_else(|| format!("{wanted}: right: theme '{}'\n", theme.name), str::to_owned))
}
