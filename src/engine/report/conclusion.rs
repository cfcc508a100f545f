//! What a whole triage comes to.

use serde::{Deserialize, Serialize};

/// What a triage comes to; the exit code of `headwater triage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// A subject is guilty: 1.
    Guilty,
    /// Nothing is guilty and every configured source gave fresh data: 0.
    Clear,
    /// Nothing is guilty, but the symptom or a component with a configured source gave no data: 2.
    Blind,
    /// No target answered: 69.
    NoTarget,
}

impl Conclusion {
    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Clear => 0,
            Self::Guilty => 1,
            Self::Blind => 2,
            Self::NoTarget => 69,
        }
    }
}
