//! The METRICS table: every number that rules know by name.
//!
//! Names follow OpenTelemetry's semantic conventions where these have one. Whatever else a target exposes is a
//! *free metric*: it lives in the same store under its own name and only generic rules look at it.

mod table;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use table::*;

/// What a value is counted in, once counters have become rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share or a multiple, 1 = 100 %.
    Ratio,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Events a second.
    PerSecond,
    /// A plain number of things.
    Count,
    /// Seconds since the Unix epoch.
    UnixSeconds,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
    /// Cycles a second.
    Hertz,
}

/// How a metric arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A level that is read as it is.
    Gauge,
    /// A total that only grows; the store keeps its rate per second.
    Counter,
    /// Cumulative buckets; the store keeps them whole and percentiles come from differences.
    Histogram,
}

/// Which way is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bad {
    /// More is worse.
    High,
    /// Less is worse.
    Low,
    /// Neither way is worse by itself.
    Neither,
}

/// One row of [`METRICS`].
#[derive(Debug)]
pub struct MetricRow {
    /// The name users see and write.
    pub name: &'static str,
    /// The unit of the stored value; of a counter, the unit of its rate.
    pub unit: Unit,
    /// How it arrives.
    pub form: Form,
    /// Which way is worse.
    pub bad: Bad,
    /// One sentence for help and docs.
    pub help: &'static str,
}

/// A known metric: a row number of [`METRICS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Metric(u16);

impl Metric {
    /// This metric's row.
    pub fn row(self) -> &'static MetricRow {
        &METRICS[usize::from(self.0)]
    }

    /// The name users see.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The metric with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        (0u16..).zip(METRICS).find(|(_, row)| row.name == name).map(|(row, _)| Self(row))
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The name of a series' metric: a row of [`METRICS`] or a free name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MetricName {
    /// A row of [`METRICS`].
    Known(Metric),
    /// Anything else a target exposes.
    Free(Arc<str>),
}

impl MetricName {
    /// The written name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(metric) => metric.name(),
            Self::Free(name) => name,
        }
    }

    /// Which way is worse; of a free metric nobody knows.
    pub fn bad(&self) -> Bad {
        match self {
            Self::Known(metric) => metric.row().bad,
            Self::Free(_) => Bad::Neither,
        }
    }

    /// The unit: that of the row, or a plain count for a free metric.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Known(metric) => metric.row().unit,
            Self::Free(_) => Unit::Count,
        }
    }
}

impl From<Metric> for MetricName {
    fn from(metric: Metric) -> Self {
        Self::Known(metric)
    }
}

impl From<&MetricName> for MetricName {
    fn from(name: &MetricName) -> Self {
        name.clone()
    }
}

impl From<String> for MetricName {
    fn from(name: String) -> Self {
        Metric::by_name(&name)
            .map_or_else(|| Self::Free(crate::text::RemoteText::new(&name).as_str().into()), Self::Known)
    }
}

impl From<MetricName> for String {
    fn from(name: MetricName) -> Self {
        name.as_str().to_owned()
    }
}

/// What Headwater notes about its own asking: a source that tells only these has told nothing of its target.
pub const OWN_COST: &[Metric] =
    &[REDIS_OUR_COMMANDS, REDIS_OUR_BYTES, REDIS_OUR_HITS, SCRAPE_BYTES, SCRAPE_TIME, PROBE_TOKENS];

/// What a log tells of a whole service, and instances of themselves: both are never added up.
pub const TOLD_OF_THE_WHOLE: &[Metric] = &[REQUESTS, ERRORS, ABORTED, REQUEST_DURATION, ROUTE_DURATION];

/// What a page tells of the process that serves it, whoever that is.
pub const OF_THE_PROCESS: &[Metric] = &[PROCESS_START, PROCESS_CPU, PROCESS_MEMORY, EXPORTER_FAILURES];

/// Metrics that probes tell, and mostly only they.
pub const PROBED: &[Metric] = &[
    PROBE_TIME,
    PROBE_OK,
    PROBE_STATUS,
    PROBE_TTFT,
    KERNEL_TIME,
    KERNEL_BASELINE,
    KERNEL_NOISE,
    KERNEL_WRONG,
    GPU_LAUNCH,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back_to_their_row() {
        for row in METRICS {
            assert_eq!(
                Metric::by_name(row.name).unwrap().row().help,
                row.help,
                "'{}' stands twice",
                row.name
            );
        }
        assert_eq!(REDIS_CPU.name(), "redis.cpu.main_thread");
        assert_eq!(LOOP_LAG.name(), METRICS.last().unwrap().name);
    }

    #[test]
    fn unknown_names_are_free_metrics() {
        let name = MetricName::from("my_gauge".to_owned());
        assert_eq!(name, MetricName::Free("my_gauge".into()));
        assert_eq!(MetricName::from("queue.waiting".to_owned()), MetricName::Known(QUEUE_WAITING));
    }
}
