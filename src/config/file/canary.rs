//! The `[canary]` table, as users write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::value::Span;

/// Our own small kernels, timed every now and then.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct CanaryTable {
    /// How often: from 10s to 1h.
    #[schemars(example = &"60s")]
    pub(in crate::config) every: Option<Span>,

    /// How long measuring may take each time, on each device: from 20ms to 5s.
    #[schemars(example = &"200ms")]
    pub(in crate::config) budget: Option<Span>,

    /// What is measured: cuda, cpu, or auto for a GPU where there is one.
    #[schemars(example = &"auto")]
    pub(in crate::config) backend: Option<BackendWord>,

    /// Which GPUs, as nvidia-smi counts them; the first when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = [0, 1])]
    pub(in crate::config) devices: Vec<u32>,

    /// The kernels, by the names of 'headwater bench'; launches, a matrix product, triad and look-ups when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["launch", "gemm"])]
    pub(in crate::config) kernels: Vec<String>,

    /// Whether it also measures where memory is short or the device is busy, as one that serves often is.
    #[schemars(example = false)]
    pub(in crate::config) force: Option<bool>,
}

/// What a canary measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum BackendWord {
    /// A GPU where there is one, else the CPU.
    #[default]
    Auto,
    /// A GPU.
    Cuda,
    /// The CPU.
    Cpu,
}
