//! What a triage says: the stable shape behind `headwater triage --format json` and every screen.

mod baseline;
mod breakdown;
mod conclusion;
mod feedback;
mod note;

use serde::{Deserialize, Serialize};

use crate::metric::Unit;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

pub use baseline::{BaselineFrom, HistorySpan};
pub use breakdown::{Breakdown, RouteTime, StageTime};
pub use conclusion::Conclusion;
pub use feedback::{FeedbackLoop, LoopPart};
pub(crate) use note::answered;
pub use note::{Note, NoteKind};

/// The version of [`Report`]'s shape; it changes only when a field's meaning does.
pub const SCHEMA: u32 = 1;

/// The outcome of one triage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The deployment's name.
    pub name: String,
    /// When it was evaluated.
    pub at: Moment,
    /// What it comes to.
    pub conclusion: Conclusion,
    /// The form of the failure.
    pub shape: Shape,
    /// What callers see, when they see anything.
    pub symptom: Option<Symptom>,
    /// Every component, shard and instance with its verdict; guilty first.
    pub verdicts: Vec<SubjectVerdict>,
    /// Candidate causes; guilty first, best first.
    pub suspects: Vec<Suspect>,
    /// From the symptom down to the cause.
    pub chain: Vec<Link>,
    /// Where the requests that suffer spend their time, when their service tells its stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Breakdown>,
    /// What keeps itself going, with what began it and where it is cheapest to break.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<FeedbackLoop>,
    /// What is innocent, and which rules earned it that.
    pub exonerated: Vec<Exonerated>,
    /// What cannot be judged, and what is missing.
    pub unknown: Vec<Unjudged>,
    /// What to do next.
    pub next_step: String,
    /// Whose memory of healthy times it is held against; empty where nobody's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistorySpan>,
    /// What the observation costs.
    pub cost: Cost,
    /// What the operator marked and noted, in the order of time. Only a report that is written has it, and only when
    /// there is any: a triage says nothing about it, and a snapshot has it as its acts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// The form of the failure, with the numbers that say so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Which form.
    pub kind: ShapeKind,
    /// One sentence with the numbers.
    pub sentence: String,
}

/// The forms of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeKind {
    /// Nothing is wrong that callers could see.
    Calm,
    /// Latency is up and errors are not: something below is slow and the system holds on.
    SlowOnly,
    /// Latency is up and errors follow: timeouts and exhausted pools.
    SlowThenErrors,
    /// Errors without latency: refusals.
    ErrorsOnly,
    /// Originals and successes rose.
    Surge,
    /// Attempts rise over originals while goodput does not.
    Storm,
    /// Neither slow nor failing, and a declared number of the business is past its limit.
    BusinessOnly,
    /// No source shows what callers see.
    Unknown,
}

/// What callers see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symptom {
    /// Where it is seen.
    pub subject: Subject,
    /// The metric, its value, limit and baseline.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// Since when, and whether it may be older.
    pub since: Since,
    /// One sentence.
    pub sentence: String,
}

/// The start of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// The first evaluation that saw it.
    pub at: Moment,
    /// Whether it was already so at the first evaluation: then it began before, and takes no part in the order
    /// of onsets.
    pub before: bool,
}

/// A subject's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectVerdict {
    /// Who.
    pub subject: Subject,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// Age of the newest data about it, in seconds; absent when there never was any.
    pub age_s: Option<f64>,
}

/// The four verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A cause of the symptom, by a mechanism that names how.
    Guilty,
    /// It may be the cause.
    Suspect,
    /// Not seen well enough to say.
    Unknown,
    /// Every rule that could accuse it was evaluated on fresh data and was clear.
    Innocent,
}

/// A candidate cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Who.
    pub subject: Subject,
    /// The rule that accuses it.
    pub rule: String,
    /// Its part in the story.
    pub role: Role,
    /// How sure.
    pub confidence: Confidence,
    /// Whether it is convicted.
    pub verdict: Verdict,
    /// When it began.
    pub since: Since,
    /// When it ended, if it was seen to end.
    pub until: Option<Moment>,
    /// Since when nothing tells whether it goes on, if so: what is out of sight has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_since: Option<Moment>,
    /// What, how much, against which limit, since when.
    pub sentence: String,
    /// Other explanations that are not excluded, with what would tell them apart.
    pub rivals: Vec<Rival>,
    /// Absorbed findings: rule ids of what this explains on the same subject.
    pub explains: Vec<String>,
    /// The numbers.
    pub evidence: Vec<Evidence>,
    /// The keys that make it so, where a scan or a log named them.
    pub keys: Vec<KeyEvidence>,
}

impl Suspect {
    /// Whether it is seen to go on.
    pub fn goes_on(&self) -> bool {
        self.until.is_none() && self.unseen_since.is_none()
    }
}

/// A suspect's part in the story, the one to look at first first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It began here.
    Trigger,
    /// It makes it worse.
    Amplifier,
    /// It suffers.
    Victim,
}

/// How sure a suspicion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A deviation without a mechanism, or rivals that are not excluded.
    Low,
    /// A mechanism with a rival, or without a symptom to explain.
    Medium,
    /// A mechanism, a symptom it explains, and no rival left.
    High,
}

/// An explanation that is not excluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rival {
    /// The rule of the other explanation.
    pub rule: String,
    /// The observation that would separate the two.
    pub told_by: String,
}

/// A number with everything needed to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The metric's name, with `[part]` where it has parts.
    pub metric: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The limit it was held against.
    pub limit: Option<f64>,
    /// The healthy value it was compared with.
    pub baseline: Option<f64>,
    /// Where that came from.
    pub baseline_from: Option<BaselineFrom>,
    /// When the value was seen.
    pub at: Moment,
}

/// A key named by a scan or a slow log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyEvidence {
    /// The key.
    pub key: RemoteText,
    /// Its size in bytes, when known.
    pub bytes: Option<u64>,
    /// Its slot, when the whole name is known: a log may have cut it.
    pub slot: Option<u16>,
    /// The shard that owns the slot.
    pub shard: Subject,
    /// What is special about it.
    pub what: String,
}

/// One link of the chain from symptom to cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Where.
    pub subject: Subject,
    /// What, in a few words with its number.
    pub text: String,
}

/// A subject that is innocent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exonerated {
    /// Who.
    pub subject: Subject,
    /// Ids of the rules that were evaluated on fresh data and were clear.
    pub by: Vec<String>,
}

/// A subject that cannot be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unjudged {
    /// Who.
    pub subject: Subject,
    /// What is missing.
    pub missing: String,
}

/// What the observation costs its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Commands that Headwater sends to the node it asks most, per second, over the last minute or as much as was seen.
    pub redis_commands_per_node_per_s: f64,
    /// Bytes that Headwater exchanges with all its targets, per second.
    pub bytes_per_s: f64,
}
