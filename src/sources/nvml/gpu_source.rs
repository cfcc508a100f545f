//! One GPU as a source of its own.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Fault, FaultKind, Reading};
use headwater_engine::{RemoteText, Subject};

use super::answers::{Lacking, reading_of};
use super::driver::{Driver, Pending, Request};
use super::session::Looked;
use crate::sources::{Source, now};

/// Looks at one GPU again and again.
#[derive(Debug)]
pub(super) struct GpuSource {
    pub(super) subject: Subject,
    pub(super) index: u32,
    pub(super) driver: Arc<Driver>,
    pub(super) pending: Pending<Looked>,
    pub(super) patience: Duration,
    pub(super) lacking: Lacking,
}

impl Source for GpuSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Waiting for an answer that is under way costs nobody anything, and it is to be heard as soon as it comes.
    fn backs_off(&self) -> bool {
        false
    }

    async fn ask(&mut self) -> Reading {
        let index = self.index;
        let request = |answer| Request::Look(index, answer);
        match self.pending.ask(&self.driver, self.patience, request).await {
            Ok(looked) => reading_of(&self.subject, now(), looked, &mut self.lacking),
            Err(silence) => {
                let mut reading = Reading::new(self.subject.clone(), now());
                // One that only waits for another is not silent itself, and nobody is to be accused of that.
                let kind = if silence.is_of_another(index) { FaultKind::Busy } else { FaultKind::Silent };
                let message = RemoteText::new(&silence.words(Some(index)));
                reading.faults.push(Fault { kind, message });
                reading
            }
        }
    }
}
