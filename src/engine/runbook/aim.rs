//! Whom actions are for, in the order in which they are taken.

use super::Remedy;
use super::culprit::{Culprit, of, part};
use crate::report::{FeedbackLoop, Suspect};
use crate::snapshot::{RuleState, Snapshot};
use crate::subject::Subject;

/// Everything that an action can be aimed at, the first first: the first suspect, what keeps a loop going, the other
/// suspects, and then those whom they make suffer. What a suspect explains on its own subject is the suspect itself;
/// what it explains elsewhere is a victim, and an action against that is one for the victim.
pub(super) struct Aims {
    aims: Vec<Aim>,
}

struct Aim {
    culprit: Culprit,
    /// The rules of all parts of the loop that this is one of; empty where it is none.
    of_loop: Vec<String>,
}

impl Aims {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let suspects = &snapshot.report.suspects;
        let plain = |culprit| Aim { culprit, of_loop: vec![] };
        let mut suspected = suspects.iter().map(|suspect| plain(itself(suspect, snapshot)));
        let first: Vec<Aim> = suspected.next().into_iter().collect();
        // What began a loop that goes on by itself is no longer the handle.
        let (alone, others): (Vec<_>, Vec<_>) =
            snapshot.report.loops.iter().partition(|known| known.outlives_its_trigger());
        let loops = |known: Vec<&FeedbackLoop>| -> Vec<Aim> {
            known.into_iter().flat_map(|known| parts(known, snapshot)).collect()
        };
        let mut aims = loops(alone);
        aims.extend(first);
        aims.extend(loops(others));
        aims.extend(suspected);
        aims.extend(suspects.iter().flat_map(|suspect| victims(suspect, snapshot)).map(plain));
        Self { aims }
    }

    /// Whom an action is for, and its rank among all that may be taken: first by whom it is for, then by how early it
    /// names the rule. `None` where it helps against nothing that was found.
    pub(super) fn at(&self, remedy: &Remedy) -> Option<((usize, usize), &Culprit)> {
        let mut aims = self.aims.iter().enumerate();
        let (rank, aim) = aims.find_map(|(place, aim)| Some(((place, aim.named_by(remedy)?), aim)))?;
        // Who is a part of a loop is named first for it, and an action may be for another part.
        let is_around = |other: &&Aim| {
            other.culprit.rules.iter().all(|rule| other.of_loop.contains(rule))
                && aim.culprit.rules.iter().any(|rule| other.of_loop.contains(rule))
                && other.named_by(remedy).is_some()
        };
        let aim = self.aims.iter().find(is_around).unwrap_or(aim);
        Some((rank, &aim.culprit))
    }

    pub(super) fn len(&self) -> usize {
        self.aims.len()
    }

    pub(super) fn first(&self) -> Option<&Culprit> {
        self.aims.first().map(|aim| &aim.culprit)
    }
}

impl Aim {
    /// The place of the rule for which an action is aimed here, among those that it is against.
    fn named_by(&self, remedy: &Remedy) -> Option<usize> {
        let named = |rules: &[String]| remedy.against.iter().position(|rule| rules.contains(rule));
        match self.of_loop.split_last() {
            None => named(&self.culprit.rules),
            // What breaks a loop helps against that at which it turns, its last part, and is for the part that it names first.
            Some((turn, _)) if remedy.against.contains(turn) => {
                named(&self.of_loop).filter(|place| self.culprit.rules.contains(&remedy.against[*place]))
            }
            Some(_) => None,
        }
    }
}

/// A suspect with what it explains on its own subject.
fn itself(suspect: &Suspect, snapshot: &Snapshot) -> Culprit {
    let mut culprit = of(suspect, snapshot);
    let elsewhere: Vec<&RuleState> = explained_elsewhere(suspect, snapshot).collect();
    let is_elsewhere = |rule: &String| elsewhere.iter().any(|row| row.rule == rule);
    let is_here = |rule: &String| found(rule, snapshot).any(|row| is_one(&row.subject, &suspect.subject));
    culprit.rules.retain(|rule| *rule == suspect.rule || is_here(rule) || !is_elsewhere(rule));
    culprit
}

/// Those on whom a suspect's doing was found, itself left out.
fn victims(suspect: &Suspect, snapshot: &Snapshot) -> Vec<Culprit> {
    explained_elsewhere(suspect, snapshot).map(|row| part(&row.subject, row.rule, snapshot)).collect()
}

fn explained_elsewhere<'a>(
    suspect: &'a Suspect,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = &'a RuleState> {
    let suspects = &snapshot.report.suspects;
    let is_suspect =
        |row: &RuleState| suspects.iter().any(|other| other.rule == row.rule && other.subject == row.subject);
    let rows = suspect.explains.iter().flat_map(|rule| found(rule, snapshot));
    rows.filter(move |row| !is_one(&row.subject, &suspect.subject) && !is_suspect(row))
}

/// On whom a rule has found something.
fn found<'a>(rule: &'a str, snapshot: &'a Snapshot) -> impl Iterator<Item = &'a RuleState> {
    snapshot.rules.iter().filter(move |row| row.rule == rule && matches!(row.state, "firing" | "ended"))
}

fn is_one(one: &Subject, other: &Subject) -> bool {
    one.contains(other) || other.contains(one)
}

/// The parts of a loop, that at which it is cheapest to break first.
fn parts(known: &FeedbackLoop, snapshot: &Snapshot) -> Vec<Aim> {
    let rules: Vec<String> = known.parts.iter().map(|part| part.rule.clone()).collect();
    let (first, others): (Vec<_>, Vec<_>) =
        known.parts.iter().partition(|part| part.subject == known.break_at);
    let all = first.into_iter().chain(others);
    all.map(|one| Aim { culprit: part(&one.subject, &one.rule, snapshot), of_loop: rules.clone() }).collect()
}
