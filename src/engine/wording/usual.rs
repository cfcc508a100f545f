//! Words for what is usual, and for who says so.

use crate::quantity::counted;
use crate::report::{BaselineFrom, Report};

/// The words before a baseline that say where it came from.
pub fn baseline_words(from: BaselineFrom) -> &'static str {
    match from {
        BaselineFrom::Declared => "declared",
        BaselineFrom::History => "in its history",
        BaselineFrom::Disk => "in earlier runs",
        BaselineFrom::Earlier => "earlier in this run",
        BaselineFrom::Lifetime => "over its lifetime",
        BaselineFrom::Peers => "its peers",
        BaselineFrom::Limit => "at most",
    }
}

/// Whose memory of healthy times everything is held against, a line each.
pub fn histories(report: &Report) -> impl Iterator<Item = String> {
    report.history.iter().map(|span| {
        let values = counted(span.values as u64, "value");
        format!(
            "{values} of {} to {} UTC, as {} remembers; if the trouble is older, give its begin with --since",
            span.from.clock(),
            span.to.clock(),
            span.source
        )
    })
}
