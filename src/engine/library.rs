//! What is known before an incident: runbooks, actions and past cases, as plain values.

use crate::case::Case;
use crate::runbook::{Remedy, Runbook};

/// Runbooks and past cases; the application reads them, built-in ones first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// The runbooks, in the order of their ids.
    pub runbooks: Vec<Runbook>,
    /// The cases, in the order of their ids.
    pub cases: Vec<Case>,
    /// The actions that runbooks name, in the order of their ids.
    pub remedies: Vec<Remedy>,
}

/// A library with nothing in it.
pub static EMPTY: Library = Library { runbooks: Vec::new(), cases: Vec::new(), remedies: Vec::new() };
