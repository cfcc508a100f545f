//! Where the healthy values of a report come from.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::time::Moment;

/// Where a baseline came from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineFrom {
    /// The configuration.
    Declared,
    /// Prometheus, before the incident.
    History,
    /// Earlier runs, same hour.
    Disk,
    /// This run, before the incident.
    Earlier,
    /// The target's whole life at first contact.
    Lifetime,
    /// The other members, this one left out.
    Peers,
    /// An absolute limit.
    Limit,
}

/// What a source remembers of healthy times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySpan {
    /// Who remembers, such as `graph/prometheus-HOST-PORT`.
    pub source: Subject,
    /// The begin of the span that was taken for healthy.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
    /// How many healthy values came of it.
    pub values: usize,
}
