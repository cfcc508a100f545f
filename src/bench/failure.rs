//! Why there is no result, as a sentence and as JSON.

use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use serde_json::json;

use super::plan::BackendChoice;
use super::report::SCHEMA;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no GPU: nothing that could be measured, and nothing that fails.
    #[error("{0}")]
    Absent(String),
    /// The device is there, or was asked for by its number, and cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The device is in use, or short of memory.
    #[error("refused: {0}")]
    Refused(String),
    /// The device, or the child, failed on the way.
    #[error("the benchmark failed{}: {why}", at(.during))]
    Failed {
        /// The kernel that was under way.
        during: Option<String>,
        /// What was said of it.
        why: String,
    },
    /// The child ended without a result.
    #[error("the benchmark's process {how}{}{}", at(.during), quoted(.said))]
    Died {
        /// How it ended.
        how: String,
        /// The kernel that was under way.
        during: Option<String>,
        /// The end of its standard error.
        said: String,
    },
    /// The child did not end in time and was killed.
    #[error("the driver did not answer within {}{}: the benchmark's process {}", show(.deadline.as_secs_f64(), Unit::Seconds), at(.during), killed(.left))]
    Hung {
        /// The time that it had.
        deadline: Duration,
        /// The kernel that was under way.
        during: Option<String>,
        /// The process, where it has not ended although it was killed.
        left: Option<u32>,
    },
    /// An earlier child was killed and has not ended; none is begun beside it.
    #[error("{0}")]
    Held(String),
    /// The child could not be started.
    #[error("the benchmark's process cannot be started: {0}")]
    NoChild(std::io::Error),
}

fn at(kernel: &Option<String>) -> String {
    kernel.as_ref().map(|kernel| format!(" during '{kernel}'")).unwrap_or_default()
}

fn quoted(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn killed(left: &Option<u32>) -> String {
    match left {
        None => "was killed".to_owned(),
        Some(process) => format!(
            "({process}) was killed and has not ended, because the driver holds it in the kernel; none is begun beside it"
        ),
    }
}

impl BenchError {
    /// What sort of failure it is, as JSON names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Absent(_) => "absent",
            Self::Unusable(_) => "unusable",
            Self::Refused(_) => "refused",
            Self::Failed { .. } => "failed",
            Self::Died { .. } => "died",
            Self::Hung { .. } => "hung",
            Self::Held(_) => "held",
            Self::NoChild(_) => "not_started",
        }
    }

    /// The kernel that was under way, where one was.
    pub fn during(&self) -> Option<&str> {
        match self {
            Self::Failed { during, .. } | Self::Died { during, .. } | Self::Hung { during, .. } => {
                during.as_deref()
            }
            _ => None,
        }
    }

    /// What stands where a result would, so that whoever reads JSON is told as well: `{"schema", "asked", "failure": {"kind",
    /// "during", "why"}}`, in one piece with a line end.
    pub fn json(&self, asked: BackendChoice) -> String {
        let failure = json!({ "kind": self.kind(), "during": self.during(), "why": self.to_string() });
        format!("{:#}\n", json!({ "schema": SCHEMA, "asked": asked, "failure": failure }))
    }
}
