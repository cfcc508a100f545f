//! What a reading means for the store.

use std::time::Duration;

use crate::metric::{MetricName, PROCESS_START, REDIS_UPTIME};
use crate::reading::{Reading, Value};
use crate::subject::Subject;

/// What a reading means beyond its numbers.
#[derive(Debug, Default)]
pub struct Consequences {
    /// Whether the target's process is a new one, so that totals began anew.
    pub restarted: bool,
    /// How long the target's process had been running.
    pub uptime: Option<Duration>,
    /// Subjects that have left their deployment for good.
    pub gone: Vec<Subject>,
}

impl Consequences {
    /// What a reading's numbers alone say.
    pub(super) fn of(reading: &Reading) -> Self {
        Self { uptime: uptime(reading), ..Self::default() }
    }
}

/// How long the target had been running, where the reading says so.
fn uptime(reading: &Reading) -> Option<Duration> {
    reading.samples.iter().find_map(|sample| {
        let Value::Gauge(value) = sample.value else { return None };
        let seconds = match sample.metric {
            MetricName::Known(REDIS_UPTIME) => value,
            MetricName::Known(PROCESS_START) => reading.at.0 as f64 / 1_000.0 - value,
            _ => return None,
        };
        Duration::try_from_secs_f64(seconds).ok()
    })
}
