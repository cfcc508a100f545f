//! The golden five minutes: which of their five pieces are done, and how much time is left.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Runbook;
use super::progress::{Answer, Progress};
use crate::reading::{Found, StepAnswer};
use crate::time::Moment;

/// The time in which an incident should be scoped, found and stopped.
pub const GOLDEN: Duration = Duration::from_secs(300);

/// A piece of the golden five minutes, a minute each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Whom it reaches.
    Scope,
    /// Which number says so.
    Metric,
    /// Which component it is.
    Component,
    /// What proves it.
    Test,
    /// What stops the bleeding.
    Stop,
}

impl Piece {
    /// All pieces, in the order of their minutes.
    pub const ALL: [Self; 5] = [Self::Scope, Self::Metric, Self::Component, Self::Test, Self::Stop];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Metric => "metric",
            Self::Component => "component",
            Self::Test => "test",
            Self::Stop => "stop",
        }
    }
}

/// The clock of a runbook that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// When it began.
    pub began: Moment,
    /// What is left; `None` once the five minutes are over.
    pub left: Option<Duration>,
    /// The pieces that the runbook has, with the time after the beginning at which each was done.
    pub pieces: Vec<(Piece, Option<Duration>)>,
}

impl Clock {
    /// Whether every piece is done.
    pub fn is_done(&self) -> bool {
        self.pieces.iter().all(|(_, done)| done.is_some())
    }
}

/// How the clock of a runbook stands; `None` before it was begun.
pub fn clock(runbook: &Runbook, progress: &Progress, now: Moment) -> Option<Clock> {
    let began = progress.began?;
    let left = GOLDEN.checked_sub(now.since(began)).filter(|left| !left.is_zero());
    let pieces = Piece::ALL.into_iter().filter_map(|piece| {
        let answers: Vec<Option<&Answer>> = runbook
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.golden == Some(piece))
            .map(|(place, _)| progress.answers[place].as_ref().filter(|_| !progress.is_open(place)))
            .collect();
        (!answers.is_empty()).then(|| (piece, done(&answers).map(|at| at.since(began))))
    });
    Some(Clock { began, left, pieces: pieces.collect() })
}

/// When a piece was done: at the first of its steps that found what is wrong, else when all of them were answered,
/// and not all by skipping them.
fn done(answers: &[Option<&Answer>]) -> Option<Moment> {
    let finds = |answer: &&Answer| match answer.answer {
        StepAnswer::Confirmed => answer.found == Found::Bad,
        StepAnswer::Overridden(_) => true,
        StepAnswer::Skipped(_) | StepAnswer::Reopened => false,
    };
    let first = answers.iter().flatten().copied().filter(finds).map(|answer| answer.at).min();
    let all: Option<Vec<Moment>> = answers.iter().map(|answer| answer.map(|answer| answer.at)).collect();
    // Nothing was done where all were skipped, or left unknown.
    let is_left = |answer: &Answer| match answer.answer {
        StepAnswer::Confirmed => answer.found == Found::Unknown,
        _ => matches!(answer.answer, StepAnswer::Skipped(_)),
    };
    if answers.iter().flatten().copied().all(is_left) {
        return None;
    }
    first.or_else(|| all?.into_iter().max())
}
