//! What people changed.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Something that people did: a deploy, a change of configuration, a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its identity within its source: a commit, the number of a deploy.
    pub id: RemoteText,
    /// When it took effect.
    pub at: Moment,
    /// What it touched, when that is known.
    pub component: Option<Subject>,
    /// What sort of change.
    pub kind: ChangeKind,
    /// What it says of itself, in one line.
    pub title: RemoteText,
}

/// The sorts of [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A new version runs.
    Deploy,
    /// Settings changed.
    Config,
    /// A feature flag was turned.
    Flag,
    /// Code changed; whether it runs is not known.
    Commit,
    /// Anything else.
    Other,
}

impl ChangeKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Config => "config",
            Self::Flag => "flag",
            Self::Commit => "commit",
            Self::Other => "change",
        }
    }
}
