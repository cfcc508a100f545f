//! COMMANDLOG of Valkey 8.1 and later: commands with a large request or reply, which name big keys that are in use.

use std::time::Duration;

use headwater_engine::reading::{Event, LargeCommand, LargeKind};
use headwater_engine::{Moment, RemoteText};

use super::allowed::Command;
use super::look::{Look, Seldom};
use super::slowlog::{Entry, Progress};
use super::trouble::Trouble;

/// What a node may lack, in the words that users see.
const COMMANDLOG: &str = "COMMANDLOG GET";

/// One of the two logs beside the slow one.
struct Log {
    kind: LargeKind,
    /// The server's word for it.
    name: &'static str,
    /// What users are told of entries that were lost, and the setting that keeps more.
    entries: &'static str,
    setting: &'static str,
}

/// Both.
const LOGS: [Log; 2] = [
    Log {
        kind: LargeKind::Reply,
        name: "large-reply",
        entries: "COMMANDLOG entries of large replies",
        setting: "commandlog-large-reply-max-len",
    },
    Log {
        kind: LargeKind::Request,
        name: "large-request",
        entries: "COMMANDLOG entries of large requests",
        setting: "commandlog-large-request-max-len",
    },
];

/// How often both are asked for: two questions more at every look would be as many as all others together. Where more
/// has come in between than is asked for, it is asked for at once.
const EVERY: Duration = Duration::from_secs(5);

/// Where reading one node's logs of large commands has come to: each has ids of its own.
#[derive(Debug, Default)]
pub(super) struct CommandLog {
    logs: [Progress; LOGS.len()],
    turn: Seldom,
}

impl CommandLog {
    /// Asks for what is new in both logs; nothing where the server has none.
    pub(super) async fn look(&mut self, look: &mut Look<'_>) -> Result<(), Trouble> {
        if !look.info.release().knows_command(COMMANDLOG) || !self.turn.is_due(look.now, EVERY) {
            return Ok(());
        }
        let run_id = look.info.text("run_id").unwrap_or_default();
        for (log, progress) in LOGS.iter().zip(&mut self.logs) {
            progress.belongs_to(run_id);
            let command = |depth| Command::CommandlogGet(depth, log.name);
            let Some(fresh) = progress.ask(look, COMMANDLOG, command).await? else { return Ok(()) };
            progress.say_lost(look, &fresh, log.entries, log.setting);
            let large = fresh.entries.iter().map(|entry| Event::LargeCommand(to_event(entry, log.kind)));
            look.reading.events.extend(large);
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
