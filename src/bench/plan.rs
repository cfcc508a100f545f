//! What is to be measured, and within which limits.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time that measuring may take, unless told otherwise.
pub const USUAL_BUDGET: Duration = Duration::from_secs(2);

/// Free memory below which nothing is measured unless forced, in bytes: what serves requests may be about to need it.
pub const LEAST_FREE_BYTES: u64 = 1 << 30;

/// The use above which nothing is measured unless forced.
pub const MOST_UTILIZATION: f64 = 0.95;

/// What starting may take beside the budget: a driver that wakes up a machine full of GPUs takes seconds.
const STARTING: Duration = Duration::from_secs(15);

/// Which device is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// A GPU where there is one that can be used, else the CPU.
    #[default]
    Auto,
    /// A GPU, by CUDA.
    Cuda,
    /// The CPU: the same kernels on a pool of threads.
    Cpu,
}

/// One run of the benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Which device.
    pub backend: BackendChoice,
    /// Which of several GPUs, by its number on this host as NVML and nvidia-smi have it; without one the first that CUDA shows to
    /// this process.
    pub device: Option<u32>,
    /// The time that measuring may take, from the open device to the last result.
    pub budget: Duration,
    /// The longest that the whole run may take, with starting; then it is killed.
    pub deadline: Duration,
    /// The names of the kernels; all of them when it is empty.
    pub kernels: Vec<String>,
    /// The memory that bandwidth is measured over, in bytes; when absent the device's cache decides.
    pub set_bytes: Option<u64>,
    /// Whether it also runs where memory is short or the device is busy.
    pub is_forced: bool,
    /// The binary of which the child is started; this one when absent. Tests are not the binary.
    #[serde(skip)]
    pub program: Option<PathBuf>,
    /// NVIDIA's management library, where one is configured; the child is told by its environment.
    #[serde(skip)]
    pub nvml_library: Option<PathBuf>,
}

impl Plan {
    /// A run of every kernel within this budget.
    pub fn new(backend: BackendChoice, budget: Duration) -> Self {
        Self {
            backend,
            device: None,
            budget,
            deadline: budget * 3 + STARTING,
            kernels: vec![],
            set_bytes: None,
            is_forced: false,
            program: None,
            nvml_library: None,
        }
    }
}
