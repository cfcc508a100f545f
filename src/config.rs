//! The configuration: what to ask, how its parts depend on each other, and which limits differ.
//!
//! It comes from one TOML file or from bare targets on the command line; secrets come from the environment or
//! from files and are never printed.

mod canary;
mod changes;
mod discovery;
mod example;
mod file;
mod headers;
mod health;
mod http_access;
mod imports;
mod inferred;
mod local;
mod location;
mod logs;
mod place;
mod probes;
pub(crate) mod prometheus;
mod reach;
mod redis;
mod resolve;
mod selectors;
mod shown;
mod symptom;
mod target;
mod thresholds;
mod undeclared;
mod value;

use std::path::{Path, PathBuf};

use headwater_engine::{Moment, Settings};

use crate::sources::canary::CanarySpec;
use crate::sources::changes::ChangesSpec;
use crate::sources::discovery::DiscoverySpec;
use crate::sources::logs::LogSpec;
use crate::sources::metrics::MetricsSpec;
use crate::sources::probe::ProbeSpec;
use crate::sources::prometheus::PrometheusSpec;
use crate::sources::redis::RedisSpec;

pub use example::{example, schema};
pub use imports::{Import, Place};
pub use inferred::{TargetOptions, from_targets};
pub use local::{LocalSpec, Locally};
pub(crate) use location::{config_folder, plain_file_name};
pub use location::{default_config_file, state_folder};
pub use place::{ConfigError, Problem};
pub(crate) use place::{Document, bytes_of, nearest, text_of, unknown_name};
pub(crate) use resolve::bare_subject;
pub(crate) use shown::{host_and_path, shown_address, shown_word, without_secrets};
pub(crate) use target::{is_redis_address, metrics_place};
pub(crate) use thresholds::rule_ids;
pub use value::{Bandwidth, Size, Span};

/// A whole configuration: the targets to ask, and the engine's settings.
#[derive(Debug)]
pub struct Config {
    /// The file it came from, or `command line`.
    pub origin: String,
    /// What the engine is told; it holds no address of a target and no secret.
    pub settings: Settings,
    /// Redis targets.
    pub redis: Vec<RedisSpec>,
    /// Metrics targets.
    pub metrics: Vec<MetricsSpec>,
    /// Lists of metrics targets that come and go.
    pub discoveries: Vec<DiscoverySpec>,
    /// Probes.
    pub probes: Vec<ProbeSpec>,
    /// Logs.
    pub logs: Vec<LogSpec>,
    /// Prometheus servers.
    pub prometheus: Vec<PrometheusSpec>,
    /// Our own kernels, timed every now and then; off unless the configuration says so.
    pub canary: Option<CanarySpec>,
    /// Imports of who calls whom. A broken file is one of them: it stops nothing.
    pub imports: Vec<Import>,
    /// Sources of changes.
    pub changes: Vec<ChangesSpec>,
    /// The machine that Headwater runs on.
    pub local: LocalSpec,
    /// When the incident began, where somebody said so: what was before it is healthy.
    pub since: Option<Moment>,
    file: file::ConfigFile,
}

impl Config {
    /// Reads a file. Every problem that is found is in the error, each with its line and its fix.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = text_of(path, "'headwater config init' prints an example")?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a configuration's text; `origin` names it in complaints.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        resolve::resolve(text, origin)
    }

    /// Where this deployment's healthy values are kept between runs, `$XDG_STATE_HOME/headwater/baselines/NAME.json`:
    /// by its name, or by its targets when nobody gave it one. `None` without a home directory.
    pub fn baselines_file(&self) -> Option<PathBuf> {
        let name = &self.settings.name;
        if self.file.name.is_some() {
            return location::baselines_file(name);
        }
        let pages = self.metrics.iter().map(|spec| spec.url.split('?').next().unwrap_or_default());
        let servers = self.prometheus.iter().map(|spec| spec.server.url.as_str());
        let pages = pages.chain(servers);
        let seeds = self.redis.iter().flat_map(|spec| &spec.seeds).map(String::as_str);
        let lists: Vec<String> = self.discoveries.iter().map(discovery::place_words).collect();
        let all = pages.chain(seeds).chain(lists.iter().map(String::as_str)).collect();
        location::baselines_file(&format!("{name}-{}", location::word_for(all)))
    }

    /// The effective configuration as TOML: defaults filled in, inferred components written out, passwords
    /// and queries in addresses shown as `***`.
    pub fn print(&self) -> String {
        example::effective(&self.file, &self.settings)
    }
}
