//! Past incidents: what was seen, what it was, and what helped.

use serde::{Deserialize, Serialize};

/// A past incident, as its TOML file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its id: the name of its file.
    #[serde(default)]
    pub id: String,
    /// What it is called.
    pub title: String,
}
