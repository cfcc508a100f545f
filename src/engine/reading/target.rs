//! Which targets a discovery lists.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;

/// The targets of one discovery at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetList {
    /// Where they stand or what was resolved to find them, in words.
    pub found: RemoteText,
    /// The targets, in order.
    pub targets: Vec<Target>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// What its readings are about.
    pub subject: Subject,
    /// Where it is asked: `host:port`.
    pub place: RemoteText,
}
