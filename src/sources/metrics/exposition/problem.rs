//! What was wrong with a page, line by line, within bounds.

/// How many problems are kept in detail; all are counted.
const KEPT_IN_DETAIL: usize = 200;

/// One thing that is wrong with one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, as half a sentence without remote text.
    pub reason: &'static str,
    /// Whether the line's value was lost; otherwise a rule of the format is broken but the line was used.
    pub is_lost: bool,
}

/// The problems of a page.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// The first problems, in the order of lines.
    pub first: Vec<Problem>,
    /// How many lines were lost.
    pub lost: usize,
    /// How many times a rule was broken by a line that was used all the same.
    pub breaches: usize,
    last_lost: u32,
}

impl Problems {
    /// Whether the page is flawless.
    pub fn is_empty(&self) -> bool {
        self.lost == 0 && self.breaches == 0
    }

    /// The first line that was lost.
    pub fn first_lost(&self) -> Option<&Problem> {
        self.first.iter().find(|problem| problem.is_lost)
    }

    /// Whether this line, the newest, was lost.
    pub(super) fn is_lost(&self, line: u32) -> bool {
        self.last_lost == line
    }

    pub(super) fn lost(&mut self, line: u32, reason: &'static str) {
        self.lost += 1;
        self.last_lost = line;
        self.push(Problem { line, reason, is_lost: true });
    }

    pub(super) fn breach(&mut self, line: u32, reason: &'static str) {
        self.breaches += 1;
        self.push(Problem { line, reason, is_lost: false });
    }

    pub(super) fn sort(&mut self) {
        self.first.sort_by_key(|problem| problem.line);
    }

    fn push(&mut self, problem: Problem) {
        if self.first.len() < KEPT_IN_DETAIL {
            self.first.push(problem);
        }
    }
}
