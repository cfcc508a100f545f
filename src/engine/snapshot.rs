//! One evaluation's outcome: plain data for screens and reports.

use crate::reading::{Scan, SlowCommand, Topology};
use crate::report::Report;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Everything that can be shown about one moment; freezing the screen is keeping an old one.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment of the evaluation.
    pub at: Moment,
    /// The triage.
    pub report: Report,
    /// Live state of every rule on every subject that it watches.
    pub rules: Vec<RuleState>,
    /// The Redis deployments.
    pub topologies: Vec<Topology>,
    /// Every source with its age and faults.
    pub sources: Vec<SourceState>,
    /// Scans for big keys, one a shard.
    pub scans: Vec<Scan>,
    /// Newest entries of all slow logs with the node they came from, newest first.
    pub slow_commands: Vec<(Subject, SlowCommand)>,
    /// Shards on which a big-key scan would tell more; the application decides whether to run it.
    pub scans_wanted: Vec<Subject>,
    /// Bytes of history held, and the budget.
    pub history: (usize, usize),
}

/// A rule's state on one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleState {
    /// The rule's id.
    pub rule: &'static str,
    /// The subject.
    pub subject: Subject,
    /// `clear`, `pending`, `firing`, `ended` or `unknown`.
    pub state: &'static str,
    /// What was seen, or what is missing.
    pub detail: String,
}

/// A source's state.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceState {
    /// Which source.
    pub source: Subject,
    /// When it last gave data.
    pub last_data: Option<Moment>,
    /// Since when an answer has been outstanding for too long.
    pub late_since: Option<Moment>,
    /// Its present fault, if any.
    pub fault: Option<(Moment, crate::reading::Fault)>,
    /// Dialects it speaks.
    pub dialects: Vec<RemoteText>,
    /// What it does not offer, with the reason.
    pub unavailable: Vec<(RemoteText, RemoteText)>,
}
