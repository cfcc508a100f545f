//! What the memory of another tool shows of healthy times.

use std::time::Duration;

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

impl History {
    /// What was usual in a span is compared with for this long after its end: at another time of day something else is usual.
    pub const SPEAKS_FOR: Duration = Duration::from_secs(6 * 3_600);

    /// Whether a span that ended then is still compared with.
    pub fn speaks(ended: Moment, now: Moment) -> bool {
        now.since(ended) <= Self::SPEAKS_FOR
    }
}
