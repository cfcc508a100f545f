//! Healthy values that one run leaves to the next.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use headwater_engine::Baselines;
use headwater_engine::settings::BaselineRow;

use super::output::say;
use crate::config::Config;
use crate::recording::owner_file;

/// Where healthy values are kept.
#[derive(Clone, Debug, Args)]
pub(super) struct BaselineArgs {
    /// Healthy values of earlier runs: read at the start, written after a healthy run [default: a file in
    /// headwater's XDG state folder, one for each configuration's name, or targets when it has none]
    #[arg(long, value_name = "FILE")]
    pub(super) baselines: Option<PathBuf>,

    /// Neither read nor write healthy values
    #[arg(long, conflicts_with = "baselines")]
    pub(super) no_baselines: bool,
}

/// What earlier runs knew, and where this one writes what it learned.
#[derive(Debug)]
pub(super) struct Saved {
    path: Option<PathBuf>,
    pub(super) known: Baselines,
}

impl BaselineArgs {
    /// Reads what earlier runs of this configuration have left.
    pub(super) fn open(&self, config: &Config) -> Saved {
        let path = match (&self.baselines, self.no_baselines) {
            (_, true) => None,
            (Some(path), false) => Some(path.clone()),
            (None, false) => config.baselines_file(),
        };
        let known = path.as_deref().map_or_else(Baselines::default, load);
        Saved { path, known }
    }
}

impl Saved {
    /// Writes what a run learned, if it did and if it may; a file that cannot be written is said and is no failure.
    pub(super) fn save(self, learned: Option<Baselines>) {
        if let (Some(path), Some(learned)) = (self.path, learned)
            && let Err(error) = save(&path, &merged(self.known, learned))
        {
            say(format_args!("healthy values cannot be saved in '{}': {error}", path.display()));
        }
    }
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
