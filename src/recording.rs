//! Recordings: every input of a run, so that a replay says the same.
//!
//! A recording is NDJSON in zstd: a header line, then one line for each [`headwater_engine::Input`] in the order in
//! which the engine took it. Every flush ends a zstd frame, so what was flushed survives a crash; a cut tail is left out
//! and said. Secrets are not in it: no input and no setting holds one.

mod player;
mod read;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_engine::rules::RULES;
use headwater_engine::{Baselines, Settings};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use player::{Player, Tape};
pub use read::Recording;
pub use write::Recorder;
pub(crate) use write::owner_file;

/// The word that tells a recording from other files.
pub const FORMAT: &str = "headwater-recording";

/// The version of the format; a newer one is refused.
pub const VERSION: u32 = 1;

/// The first line of a recording: what the engine was told before the first input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of Headwater that recorded.
    pub headwater: String,
    /// The engine's settings.
    pub settings: Settings,
    /// The healthy values that were loaded.
    pub baselines: Baselines,
    /// The thresholds in force: a replay by a version with other defaults still uses these.
    pub thresholds: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Header {
    /// The header of a run that starts now.
    pub fn new(settings: Settings, baselines: Baselines) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            headwater: env!("CARGO_PKG_VERSION").to_owned(),
            thresholds: thresholds_in_force(&settings),
            settings,
            baselines,
        }
    }

    /// The settings for a replay: the recorded ones, with every threshold at its recorded value.
    pub fn settings_in_force(&self) -> Settings {
        let mut settings = self.settings.clone();
        for (rule, values) in &self.thresholds {
            let known = settings.thresholds.entry(rule.clone()).or_default();
            for (name, value) in values {
                known.entry(name.clone()).or_insert(*value);
            }
        }
        settings
    }
}

/// Every rule's thresholds: the configured ones, else the defaults of this version.
fn thresholds_in_force(settings: &Settings) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut all = settings.thresholds.clone();
    for rule in RULES {
        let known = all.entry(rule.id.to_owned()).or_default();
        for limit in rule.thresholds {
            known.entry(limit.name.to_owned()).or_insert(limit.default);
        }
    }
    all
}

/// Why a recording cannot be written or read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be made, written or opened.
    #[error("recording '{}' cannot be used ({reason}): check the path, its rights and the space left", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Some other file.
    #[error("'{}' is not a recording of headwater: give a file made by 'headwater record' or 'triage --record'", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// From the future.
    #[error("recording '{}' has format version {version} and this headwater reads up to {VERSION}: use headwater {headwater} or newer", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The version of Headwater that made it.
        headwater: String,
    },
    /// A line in the middle that is no input.
    #[error("recording '{}' is damaged at line {line} ({reason}): use another copy of the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}
