//! Keys: how big they are, how many there are of a size, and when they expire.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The state of a scan for big keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// The shard that is scanned.
    pub shard: Subject,
    /// The node that answers.
    pub node: Subject,
    /// Keys looked at.
    pub scanned: u64,
    /// Keys there were when the scan began.
    pub total: u64,
    /// How it stands.
    pub state: ScanState,
    /// The biggest keys so far, biggest first, at most a few dozen.
    pub biggest: Vec<KeySize>,
    /// The collections with most elements so far, most first: of keys of 8 KiB and more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest: Vec<KeySize>,
    /// Keys by the pattern of their names, most bytes first, at most a few dozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<KeyPattern>,
    /// When the keys of a sample expire; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiries: Option<Expiries>,
    /// Commands that this scan has sent to the node.
    #[serde(default)]
    pub commands: u64,
    /// Seconds of the node's CPU that they took, by its own count.
    #[serde(default)]
    pub cpu_s: f64,
    /// Look-ups that they added to the node's hits.
    #[serde(default)]
    pub hits: u64,
    /// Keys that the node holds although their slots belong to another: nobody reaches them.
    #[serde(default)]
    pub orphans: u64,
}

impl Scan {
    /// How long a scan that was ended early can be gone on with: keys come and go.
    pub const RESUMED_WITHIN: Duration = Duration::from_secs(900);
    /// A scan that has looked at nothing yet.
    pub fn begun(shard: Subject, node: Subject) -> Self {
        Self {
            shard,
            node,
            scanned: 0,
            total: 0,
            state: ScanState::Running,
            biggest: vec![],
            longest: vec![],
            patterns: vec![],
            expiries: None,
            commands: 0,
            cpu_s: 0.0,
            hits: 0,
            orphans: 0,
        }
    }
}

/// How a scan stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanState {
    /// Going on.
    Running,
    /// Paused by the operator.
    Paused,
    /// Every key was looked at.
    Complete,
    /// Ended early, for this reason.
    Stopped(RemoteText),
}

impl ScanState {
    /// Whether no more is to come.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Complete | Self::Stopped(_))
    }
}

/// One key with its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeySize {
    /// The key's name.
    pub key: RemoteText,
    /// Its slot; `None` in a server alone, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// `string`, `hash`, ...
    pub kind: RemoteText,
    /// Bytes by MEMORY USAGE.
    pub bytes: u64,
    /// Elements of a collection; bytes of a string's value.
    pub elements: Option<u64>,
}

/// Keys whose names differ in numbers and ids alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyPattern {
    /// The names with `*` for what differs: `user:profile:*`.
    pub pattern: RemoteText,
    /// Keys.
    pub keys: u64,
    /// Bytes of all of them by MEMORY USAGE.
    pub bytes: u64,
    /// Bytes of the biggest.
    pub biggest: u64,
}

impl KeyPattern {
    /// The pattern under which all those stand that are too many to be told one by one; the last row.
    pub const REST: &str = "(all others)";
}

/// When keys expire, by a random sample of a shard's keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expiries {
    /// When the newest of the sample was asked for.
    pub at: Moment,
    /// Keys in the sample that still existed.
    pub sampled: u64,
    /// Of these, keys that never expire.
    pub without: u64,
    /// The seconds in which most of the sample expire, in the order of time, at most a few dozen.
    pub seconds: Vec<ExpirySecond>,
    /// How long the sample's keys still have to live, the soonest first; every key that expires is in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<ExpirySpan>,
}

impl Expiries {
    /// Keys of the sample that expire at some time.
    pub fn volatile(&self) -> u64 {
        self.sampled.saturating_sub(self.without)
    }

    /// The second in which most keys of the sample expire, with its share of those that expire at all.
    pub fn herd(&self) -> Option<(ExpirySecond, f64)> {
        let most =
            self.seconds.iter().copied().max_by_key(|second| (second.keys, std::cmp::Reverse(second.at)))?;
        let volatile = self.volatile();
        (volatile > 0).then(|| (most, most.keys as f64 / volatile as f64))
    }

    /// What the sample says of herds that are still to come.
    pub fn to_come(&self, now: Moment) -> ToCome {
        let seconds = self.seconds.iter().map(|second| (second.at, second.keys as f64));
        ToCome::of(seconds, self.volatile(), self.volatile() as f64, self.at, now)
    }

    /// The second still to come in which a herd of keys expires, with its share of the keys that expire at all.
    pub fn herd_to_come(&self, now: Moment) -> Option<(ExpirySecond, f64)> {
        let ToCome::Herd { at, share } = self.to_come(now) else { return None };
        self.seconds.iter().find(|second| second.at == at).map(|second| (*second, share))
    }
}

/// What samples of expiries say of the herds that are still to come: the one judgement of rules, screens and the
/// command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToCome {
    /// Fewer sampled keys expire than [`Self::SAMPLE`]: a share of them is chance.
    TooFew,
    /// Every second that was sampled has passed.
    Passed,
    /// No second stands out; the fullest, with its share of the keys that expire.
    Even {
        /// The second's beginning.
        at: Moment,
        /// Its share.
        share: f64,
    },
    /// A herd, with its share of the keys that expire.
    Herd {
        /// The second's beginning.
        at: Moment,
        /// Its share.
        share: f64,
    },
}

impl ToCome {
    /// The share of expiring keys above which those of one second may be a herd; spread over an hour they have 0.1 %.
    pub const SHARE: f64 = 0.05;

    /// The sampled keys that expire below which a share is chance.
    pub const SAMPLE: u64 = 200;

    /// The multiple of the median second that a herd is: keys that live for ten seconds and are written evenly have
    /// full seconds and no herd.
    pub const STANDS_OUT: f64 = 5.0;

    /// Judges seconds, each with its weight in `of_all`, by a sample of `volatile` keys that was taken at `from`.
    pub fn of(
        seconds: impl Iterator<Item = (Moment, f64)>,
        volatile: u64,
        of_all: f64,
        from: Moment,
        now: Moment,
    ) -> Self {
        if volatile < Self::SAMPLE || of_all <= 0.0 {
            return Self::TooFew;
        }
        let seconds: Vec<(Moment, f64)> = seconds.collect();
        let to_come = seconds.iter().filter(|(at, _)| *at > now);
        let most = to_come.max_by(|(at, one), (of_other, other)| one.total_cmp(other).then(of_other.cmp(at)));
        let Some((at, most)) = most.copied() else { return Self::Passed };
        let share = most / of_all;
        // Seconds in which none expires count as well, from the sample to the last: a herd far ahead stands alone.
        let last = seconds.iter().map(|(at, _)| *at).max().unwrap_or(at);
        let in_all = (last.seconds_after(from).ceil().max(1.0) as usize).max(seconds.len());
        let mut weights: Vec<f64> = seconds.iter().map(|(_, weight)| *weight).collect();
        weights.sort_by(|one, other| other.total_cmp(one));
        let median = weights.get(in_all / 2).copied().unwrap_or(0.0);
        if share > Self::SHARE && most >= median * Self::STANDS_OUT {
            Self::Herd { at, share }
        } else {
            Self::Even { at, share }
        }
    }
}

/// One second in which keys expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpirySecond {
    /// The second's beginning.
    pub at: Moment,
    /// Keys of the sample.
    pub keys: u64,
}

/// Keys that expire within a time, counted from [`Expiries::at`], and not within the span before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpirySpan {
    /// The span's end, in seconds from then on; `None` for all that live longer.
    pub within_s: Option<u64>,
    /// Keys of the sample.
    pub keys: u64,
}

/// How many keys of which size a node has: INFO keysizes, Redis 8.0 and later. It says that there are big keys and not
/// which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeySizes {
    /// One row a type and measure, as the server names it: `strings_sizes`, `hashes_items`.
    pub rows: Vec<(RemoteText, Vec<SizeBin>)>,
}

/// One bin of [`KeySizes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeBin {
    /// The smallest size in the bin: a power of two, or 0; bytes for `_sizes`, elements for `_items`.
    pub from: u64,
    /// Keys.
    pub keys: u64,
}

/// An entry of COMMANDLOG (Valkey 8.1 and later): a command with a large request or reply. It names big keys that are
/// read or written, without a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LargeCommand {
    /// The entry's id, unique within one run of the node and one kind.
    pub id: u64,
    /// When it ran, by the node's clock.
    pub at: Moment,
    /// Which of the two was large.
    pub kind: LargeKind,
    /// Bytes of it.
    pub bytes: u64,
    /// The command's name, upper case, subcommand included.
    pub command: RemoteText,
    /// Its first key, where the command has one.
    pub key: Option<RemoteText>,
    /// The name of the client that sent it.
    pub client: RemoteText,
    /// Whether it is Headwater's own or an administrator's command.
    pub excluded: bool,
}

/// What of a command was large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LargeKind {
    /// What the client sent.
    Request,
    /// What it was answered.
    Reply,
}
