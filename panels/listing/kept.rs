//! The rows of a list, kept from one look to the next at the same snapshot.

use std::sync::Arc;

use headwater_engine::report::Report;
use headwater_engine::{Moment, Snapshot};

/// Rows that were made of a snapshot.
pub(super) struct Kept<R> {
    /// The report of the snapshot, which no other evaluation has, and the moment that is shown.
    report: Arc<Report>,
    at: Moment,
    pub(super) rows: Vec<R>,
}

impl<R> Kept<R> {
    pub(super) fn of(snapshot: &Snapshot, rows: Vec<R>) -> Self {
        Self { report: Arc::clone(&snapshot.report), at: snapshot.at, rows }
    }

    pub(super) fn is_of(&self, snapshot: &Snapshot) -> bool {
        Arc::ptr_eq(&self.report, &snapshot.report) && self.at == snapshot.at
    }
}
