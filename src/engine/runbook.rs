//! Runbooks: what to ask in which order, what good looks like, and what to do.

use serde::{Deserialize, Serialize};

/// A runbook, as its TOML file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runbook {
    /// Its id: the name of its file.
    #[serde(default)]
    pub id: String,
    /// What it is called.
    pub title: String,
}
