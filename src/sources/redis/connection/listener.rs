//! A connection that only listens: what MONITOR sends is read as bytes, because nobody keeps it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_engine::reading::FaultKind;
use redis::Value;
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::{Access, Cost, Dial, OwnEnd, Reached, Stream};
use crate::sources::redis::allowed::{Command, Secret};
use crate::sources::redis::trouble::Trouble;

/// The longest answer to a log-in that is read, in bytes.
const LONGEST_ANSWER: usize = 16 * 1024;

/// A connection that was told to listen. Dropping it closes it, and with it ends what the server sends.
pub(in crate::sources::redis) struct Listener {
    stream: Box<dyn Stream>,
    answered: Arc<AtomicU64>,
    /// What came with the answer to the command.
    rest: Vec<u8>,
    /// Named among our own ends for as long as the connection is open.
    own: OwnEnd,
}

impl Listener {
    /// Dials, secures, logs in and sends a command whose answer has no end, all before the deadline. Unlike other
    /// connections the server may drop this one when memory is short.
    pub(in crate::sources::redis) async fn open(
        dial: &Dial,
        access: &Access,
        cost: &Arc<Cost>,
        command: Command<'_>,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        let Reached { stream, end, answered, .. } = Reached::dial(dial, access, cost, deadline).await?;
        let mut listener = Self { stream, answered, rest: vec![], own: end };
        let password = access.password.as_ref().map(ExposeSecret::expose_secret);
        if password.is_some() {
            access.refused()?;
        }
        let auth = password.map(|word| Command::Auth(access.username.as_deref(), Secret(word)));
        for command in auth.into_iter().chain([Command::SetName, command]) {
            cost.commands.fetch_add(1, Ordering::Relaxed);
            let outcome = match timeout_at(deadline, listener.ask(command)).await {
                Err(_) => return Err(Trouble::silent(command.name(), &dial.shown)),
                Ok(Err(error)) => Err(error.into()),
                Ok(Ok(answer)) => redis::parse_redis_value(&answer).and_then(Value::extract_error),
            };
            if let Err(error) = outcome {
                let trouble = Trouble::from_redis(&error, &command, &dial.shown, access.username.as_deref());
                access.remember(&trouble);
                // A server without names loses nothing but politeness.
                if !matches!(command, Command::SetName) || trouble.ends_connection {
                    return Err(trouble);
                }
            }
        }
        Ok(listener)
    }

    /// Reads what comes next into the buffer and returns how much that is; a server that hung up is an error.
    pub(in crate::sources::redis) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        if !self.rest.is_empty() {
            let length = self.rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.rest[..length]);
            self.rest.drain(..length);
            return Ok(length);
        }
        self.answered.store(0, Ordering::Relaxed);
        match self.stream.read(buffer).await {
            Ok(length) if length > 0 => Ok(length),
            outcome => {
                let why = outcome.err().map_or_else(String::new, |error| format!(" ({error})"));
                let message = format!("the server closed the connection while we listened{why}");
                Err(Trouble::broken(FaultKind::Unreachable, message))
            }
        }
    }

    /// Our own end, as the server may see it.
    pub(in crate::sources::redis) fn end(&self) -> Option<SocketAddr> {
        self.own.address
    }

    /// Sends a command and reads the one line that answers it.
    async fn ask(&mut self, command: Command<'_>) -> io::Result<Vec<u8>> {
        self.stream.write_all(&command.to_cmd().get_packed_command()).await?;
        self.stream.flush().await?;
        let mut buffer = [0; 1024];
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Ok(self.rest.drain(..=end).collect());
            }
            if self.rest.len() > LONGEST_ANSWER {
                return Err(io::Error::other("the answer has no end"));
            }
            match self.stream.read(&mut buffer).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.rest.extend_from_slice(&buffer[..length]),
            }
        }
    }
}
