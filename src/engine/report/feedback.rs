//! What keeps itself going after its cause is gone.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::time::Moment;

/// A loop in which each part makes the next one worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedbackLoop {
    /// What people call it: `retry storm`.
    pub name: String,
    /// How it goes round, in one sentence.
    pub how: String,
    /// What began it, where that was seen.
    pub trigger: Option<LoopPart>,
    /// What keeps it going.
    pub parts: Vec<LoopPart>,
    /// Where it is cheapest to break.
    pub break_at: Subject,
    /// How to break it there.
    pub break_by: String,
}

/// A finding that is a part of a [`FeedbackLoop`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopPart {
    /// Where.
    pub subject: Subject,
    /// The rule that saw it.
    pub rule: String,
    /// When it ended, if it did.
    pub until: Option<Moment>,
}

impl FeedbackLoop {
    /// Whether it goes on by itself: what began it is over, and what keeps it going is not.
    pub fn outlives_its_trigger(&self) -> bool {
        let is_over = |part: &LoopPart| part.until.is_some();
        self.trigger.as_ref().is_some_and(is_over) && !self.parts.iter().any(is_over)
    }
}
