//! Who calls whom.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;

/// Who calls whom, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// The component that calls.
    pub caller: Subject,
    /// The component that is called.
    pub callee: Subject,
    /// How it is known.
    pub origin: Origin,
}

/// How a call is known, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration says so.
    Declared,
    /// Requests were seen on this way: service-graph metrics, traces.
    Observed,
    /// A catalogue says so.
    Catalogued,
    /// One starts before the other: a hint only.
    StartOrder,
    /// Components of these kinds usually call each other, and nothing else is known.
    Usual,
}

impl Origin {
    /// Whether it is only a hint that somebody calls, and nobody says so.
    pub fn is_hint(self) -> bool {
        matches!(self, Self::StartOrder | Self::Usual)
    }
}
