//! What the memory of another tool shows of healthy times.

use serde::{Deserialize, Serialize};

use crate::settings::BaselineRow;
use crate::time::Moment;

/// Healthy values from the memory of a source, such as a Prometheus, of a span before the incident. It replaces what the
/// same source told of the same series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The span's begin.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
    /// What was usual in it; the hour of a row means nothing here.
    pub rows: Vec<BaselineRow>,
}
