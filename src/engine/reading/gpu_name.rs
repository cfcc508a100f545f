//! The names of a GPU.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;

/// A GPU by both of its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuName {
    /// The name that is the same everywhere.
    pub uuid: RemoteText,
    /// `gpu/HOST:NUMBER`, as its machine calls it.
    pub gpu: Subject,
}
