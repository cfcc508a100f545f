//! The `[local]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine that Headwater runs on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct LocalTable {
    /// Whether its GPUs are looked at, by NVIDIA's management library (NVML); there being none is a fault then.
    #[schemars(example = true)]
    pub(in crate::config) gpu: Option<bool>,

    /// Whether its kernel is asked for processor time, run queue, context switches, memory and what limits hold back.
    #[schemars(example = true)]
    pub(in crate::config) host: Option<bool>,

    /// What it is called, where other sources do not call it by its own name: host/NAME, and gpu/NAME:0 for a GPU of it.
    #[schemars(example = &"gpu-node-3")]
    pub(in crate::config) name: Option<String>,

    /// NVIDIA's library, where it is not among those that the system knows; else the variable HEADWATER_NVML may name it.
    #[schemars(example = &"/usr/local/nvidia/lib64/libnvidia-ml.so.1")]
    pub(in crate::config) nvml_library: Option<String>,
}
