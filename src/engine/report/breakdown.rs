//! Where the requests that suffer spend their time.

use serde::{Deserialize, Serialize};

use crate::report::BaselineFrom;
use crate::subject::Subject;
use crate::text::RemoteText;

/// The stages of a service's requests, and what they say of the slowest ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// Whose requests.
    pub subject: Subject,
    /// The stages, longest first.
    pub stages: Vec<StageTime>,
    /// The slowest routes or models, slowest first; empty where requests are not told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteTime>,
    /// The mean of a whole request in seconds, where it is timed.
    pub request_mean_s: Option<f64>,
    /// Whether stages run beside each other: together they take longer than the request.
    pub overlaps: bool,
    /// The lower end of the estimate of the slowest requests, in seconds: their slowest stage, `max(parallel)`.
    pub p99_at_least_s: f64,
    /// Its upper end, in seconds: all stages at their slowest one after the other.
    pub p99_at_most_s: f64,
}

/// The time of the requests of one route or model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteTime {
    /// The route or the model.
    pub name: RemoteText,
    /// Requests a second.
    pub requests_per_s: f64,
    /// 99th percentile, in seconds.
    pub p99_s: f64,
    /// What that usually is, in seconds.
    pub usual_s: Option<f64>,
    /// Where that is known from.
    pub usual_from: Option<BaselineFrom>,
}

/// The time of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// Its name.
    pub name: RemoteText,
    /// The dependency in which it is spent; none for the service's own.
    pub spent_in: Option<Subject>,
    /// Mean, in seconds.
    pub mean_s: f64,
    /// 99th percentile, in seconds.
    pub p99_s: Option<f64>,
    /// Its share of all stages' means.
    pub share: f64,
    /// What its mean usually is, in seconds.
    pub usual_s: Option<f64>,
    /// Where that is known from.
    pub usual_from: Option<BaselineFrom>,
}
