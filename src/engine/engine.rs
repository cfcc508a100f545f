//! The one owner of all state: inputs go in, a snapshot comes out at every tick.

use std::sync::Arc;

use crate::reading::Input;
use crate::settings::{Baselines, Settings};
use crate::snapshot::Snapshot;

/// The engine.
#[derive(Debug)]
pub struct Engine {
    _settings: Settings,
    snapshot: Option<Arc<Snapshot>>,
}

impl Engine {
    /// An engine that has seen nothing yet.
    pub fn new(settings: Settings, _baselines: Baselines) -> Self {
        Self { _settings: settings, snapshot: None }
    }

    /// Takes one input; a tick evaluates everything and makes a new snapshot.
    pub fn take(&mut self, _input: &Input) {}

    /// The snapshot of the last tick, or `None` before the first.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// Healthy values learned in this run, or `None` when anything was pending or firing in it.
    pub fn learned(&self) -> Option<Baselines> {
        None
    }
}
