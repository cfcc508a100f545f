//! One look at a node: what every further question of it needs, and the one way to ask it.

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::reading::{FaultKind, Reading};
use redis::Value as Reply;
use tokio::time::Instant;

use super::allowed::Command;
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
        if self.info.names_release() && !self.info.release().knows_command(command.name()) {
            let why = unknown_to(&self.info.product(), command.name());
            self.lacks.begin(self.reading, what, &why, self.now);
            return Ok(None);
        }
        if !self.lacks.may_ask(what, self.now) {
            return Ok(None);
        }
        match self.try_to_ask(command).await? {
            Ok(reply) => {
                self.lacks.end(self.reading, what);
                Ok(Some(reply))
            }
            Err(refusal) => {
                self.lacks.begin(self.reading, what, &refusal.message, self.now);
                Ok(None)
            }
        }
    }

    /// Asks one thing that nobody misses: `None` where it is refused, and not a word of it.
    ///
    /// # Errors
    /// What ends the whole look.
    pub(super) async fn ask_quietly(&mut self, command: Command<'_>) -> Result<Option<Reply>, Trouble> {
        Ok(self.try_to_ask(command).await?.ok())
    }

    /// The answer or the refusal; the outer error is what ends the whole look.
    async fn try_to_ask(&mut self, command: Command<'_>) -> Result<Result<Reply, Trouble>, Trouble> {
        match self.connection.ask(command, self.deadline).await {
            Err(trouble) if trouble.ends_connection || trouble.kind == FaultKind::Busy => Err(trouble),
            outcome => Ok(outcome),
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
