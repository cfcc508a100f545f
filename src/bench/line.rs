//! What the child tells, one JSON value a line.

use serde::{Deserialize, Serialize};

use super::report::{Conditions, DeviceState, KernelResult, Skipped};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// There is no GPU.
    Absent(String),
    /// There is no such device, or it cannot be opened.
    Unusable(String),
    /// The device is there and is better left alone.
    Refused(String),
    /// An earlier measuring process has been killed and has not ended.
    Held(String),
    /// The device is open.
    Opened(Box<Device>),
    /// So many bytes are worked on instead of so many, for lack of time.
    Fitted(u64, u64),
    /// This kernel is prepared and timed next.
    Begun(String),
    /// A kernel was timed.
    Timed(KernelResult),
    /// A kernel was not.
    Skipped(Skipped),
    /// All is done.
    Done(Done),
    /// The device does no more, or the child does not.
    Failed(String),
}

/// The device that was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Device {
    pub(super) backend: String,
    pub(super) device: String,
    pub(super) index: u32,
    pub(super) slice: Option<u32>,
    pub(super) driver: Option<String>,
    pub(super) conditions: Conditions,
    pub(super) notes: Vec<String>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) spent_s: f64,
    pub(super) during: DeviceState,
}
