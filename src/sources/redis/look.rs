//! One look at a node: what every further question of it needs, and the one way to ask it.

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::reading::{FaultKind, Reading};
use redis::Value as Reply;
use tokio::time::Instant;

use super::allowed::{ALLOWED, Command};
use super::connection::Connection;
use super::info::Info;
use super::lacks::Lacks;
use super::trouble::{Trouble, unknown_to};

/// What is at hand while a node is looked at.
pub(super) struct Look<'a> {
    /// The node.
    pub subject: &'a Subject,
    /// What it said of itself in this look.
    pub info: &'a Info<'a>,
    /// Where what it says goes.
    pub reading: &'a mut Reading,
    /// The open connection to it.
    pub connection: &'a mut Connection,
    /// What it does not offer.
    pub lacks: &'a mut Lacks,
    /// When it was taken.
    pub now: Instant,
    /// Until when an answer is waited for.
    pub deadline: Instant,
}

impl Look<'_> {
    /// Asks one thing that the node may lack. `None` when it does not offer it: that costs only what needs it, is said
    /// once, and is not asked for again for a while; a command that its release does not know is not even tried.
    ///
    /// # Errors
    /// What ends the whole look: a connection that is gone, or a server that answers nothing.
    pub(super) async fn ask(
        &mut self,
        what: &'static str,
        command: Command<'_>,
    ) -> Result<Option<Reply>, Trouble> {
        let release = self.info.release();
        let row = ALLOWED.iter().find(|row| row.name == command.name());
        if self.info.names_release() && row.is_some_and(|row| !release.knows(row)) {
            let why = unknown_to(&self.info.product(), command.name());
            self.lacks.begin(self.reading, what, &why, self.now);
            return Ok(None);
        }
        if !self.lacks.may_ask(what, self.now) {
            return Ok(None);
        }
        match self.connection.ask(command, self.deadline).await {
            Ok(reply) => {
                self.lacks.end(self.reading, what);
                Ok(Some(reply))
            }
            Err(trouble) if trouble.ends_connection || trouble.kind == FaultKind::Busy => Err(trouble),
            Err(trouble) => {
                self.lacks.begin(self.reading, what, &trouble.message, self.now);
                Ok(None)
            }
        }
    }
}

/// When a thing that is asked for seldom was asked for last.
#[derive(Debug, Default)]
pub(super) struct Seldom(Option<Instant>);

impl Seldom {
    /// Whether it is due, and then that it is asked for now.
    pub(super) fn is_due(&mut self, now: Instant, every: Duration) -> bool {
        let is_due = self.0.is_none_or(|last| now >= last + every);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}
