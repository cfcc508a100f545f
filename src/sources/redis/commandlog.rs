//! COMMANDLOG of Valkey 8.1 and later: commands with a large request or reply, which name big keys that are in use.

use std::time::Duration;

use headwater_engine::reading::{Event, FaultKind, LargeCommand, LargeKind, Reading};
use headwater_engine::{Moment, RemoteText};
use tokio::time::Instant;

use super::allowed::{ALLOWED, Command};
use super::connection::Connection;
use super::info::Info;
use super::lacks::Lacks;
use super::look::Seldom;
use super::slowlog::{Entry, Progress, read_slowlog};
use super::trouble::Trouble;

/// What a node may lack, in the words that users see.
const COMMANDLOG: &str = "COMMANDLOG GET";

/// The two logs beside the slow one, in the server's words.
const KINDS: [(LargeKind, &str); 2] =
    [(LargeKind::Reply, "large-reply"), (LargeKind::Request, "large-request")];

/// How often both are asked for: they are long enough for what comes in between, and two questions more at every look
/// would be as many as all others together.
const EVERY: Duration = Duration::from_secs(5);

/// Where reading one node's logs of large commands has come to: each has ids of its own.
#[derive(Debug, Default)]
pub(super) struct CommandLog {
    logs: [Progress; KINDS.len()],
    turn: Seldom,
}

impl CommandLog {
    /// Asks for what is new in both logs, in one go; nothing where the server has none.
    pub(super) async fn look(
        &mut self,
        reading: &mut Reading,
        info: &Info<'_>,
        connection: &mut Connection,
        lacks: &mut Lacks,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        let (release, now) = (info.release(), Instant::now());
        let is_known = ALLOWED.iter().any(|row| row.name == COMMANDLOG && release.knows(row));
        if !is_known || !lacks.may_ask(COMMANDLOG, now) || !self.turn.is_due(now, EVERY) {
            return Ok(());
        }
        let run_id = info.text("run_id").unwrap_or_default();
        self.logs.iter_mut().for_each(|log| log.belongs_to(run_id));
        let questions: Vec<_> = KINDS
            .iter()
            .zip(&self.logs)
            .map(|((_, name), log)| Command::CommandlogGet(log.depth(), name))
            .collect();
        let answers = connection.ask_all(&questions, deadline).await?;
        for (((kind, _), log), answer) in KINDS.iter().zip(&mut self.logs).zip(answers) {
            match answer {
                Ok(reply) => {
                    lacks.end(reading, COMMANDLOG);
                    let fresh = log.take(read_slowlog(&reply).unwrap_or_default());
                    let events =
                        fresh.entries.iter().map(|entry| Event::LargeCommand(to_event(entry, *kind)));
                    reading.events.extend(events);
                }
                Err(trouble) if trouble.ends_connection || trouble.kind == FaultKind::Busy => {
                    return Err(trouble);
                }
                Err(trouble) => lacks.begin(reading, COMMANDLOG, &trouble.message, now),
            }
        }
        Ok(())
    }
}

/// An entry as an event. It is shaped as one of the slow log, with bytes in the place of microseconds.
pub(super) fn to_event(entry: &Entry, kind: LargeKind) -> LargeCommand {
    LargeCommand {
        id: entry.id,
        at: Moment(entry.at_seconds.saturating_mul(1_000)),
        kind,
        bytes: entry.took_us,
        command: RemoteText::from_bytes(entry.command().as_bytes()),
        key: entry.key().map(RemoteText::from_bytes),
        client: RemoteText::from_bytes(&entry.client),
        excluded: entry.is_excluded(),
    }
}
