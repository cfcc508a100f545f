//! The doctor's questions to a Redis target: can it be reached, does it let us in, may we ask what we need.

use headwater_engine::{RemoteText, Subject};

use super::spec::RedisSpec;

/// One thing that was tried, and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeStep {
    /// The target or the node that was asked.
    pub subject: Subject,
    /// What was tried, in a few words.
    pub what: RemoteText,
    /// What came back when it worked, or the sentence with the reason when it did not.
    pub outcome: Result<RemoteText, RemoteText>,
    /// The command, ACL line or flag that would repair it.
    pub fix: Option<RemoteText>,
}

/// Tries everything that watching this target needs, once, and returns within about half a minute.
pub async fn probe(_spec: &RedisSpec) -> Vec<ProbeStep> {
    vec![]
}
