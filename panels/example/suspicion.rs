//! An incident of which nobody is sure.

use std::sync::Arc;

use headwater_engine::Snapshot;
use headwater_engine::report::{Conclusion, Verdict};

use super::{Trouble, World};

impl World {
    /// An incident as it would be said with this conclusion: everybody accused is suspected, and nobody guilty.
    pub(crate) fn suspected(conclusion: Conclusion) -> Snapshot {
        let mut snapshot = Snapshot::clone(&Self::after(Trouble::FullLink, 60));
        let report = Arc::make_mut(&mut snapshot.report);
        report.conclusion = conclusion;
        for suspect in &mut report.suspects {
            suspect.verdict = Verdict::Suspect;
        }
        snapshot
    }
}
