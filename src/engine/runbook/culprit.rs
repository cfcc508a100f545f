//! Whom actions are aimed at.

use crate::report::Suspect;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::wording;

/// A suspect with what is needed to act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// Who.
    pub subject: Subject,
    /// The rule that accuses it, then those that it explains.
    pub rules: Vec<String>,
    /// The key that makes it so, where one was named.
    pub key: Option<RemoteText>,
    /// The address of the subject, or of a shard's primary.
    pub address: Option<String>,
}

/// The first suspect, guilty ones first; `None` while nobody is suspected.
pub fn culprit(snapshot: &Snapshot) -> Option<Culprit> {
    snapshot.report.suspects.first().map(|suspect| of(suspect, snapshot))
}

/// A suspect as somebody to act on.
pub(super) fn of(suspect: &Suspect, snapshot: &Snapshot) -> Culprit {
    let named = suspect.keys.first().map(|key| key.key.clone());
    let culprit = part(&suspect.subject, &suspect.rule, snapshot);
    Culprit {
        rules: std::iter::once(&suspect.rule).chain(&suspect.explains).cloned().collect(),
        key: named.or(culprit.key),
        ..culprit
    }
}

/// Somebody of whom a rule has found something, as somebody to act on.
pub(super) fn part(subject: &Subject, rule: &str, snapshot: &Snapshot) -> Culprit {
    let suspects = snapshot.report.suspects.iter().filter(|suspect| suspect.subject == *subject);
    Culprit {
        rules: vec![rule.to_owned()],
        key: suspects.flat_map(|suspect| &suspect.keys).next().map(|key| key.key.clone()),
        address: subject.address().map(str::to_owned).or_else(|| wording::address(snapshot, subject)),
        subject: subject.clone(),
    }
}
