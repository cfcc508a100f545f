//! Following a node's logs of commands: what is new, deeper where a look leaves a gap, and what was lost.

use std::time::Duration;

use headwater_engine::metric;
use headwater_engine::reading::{Event, Value};

use super::{
    FULL_DEPTH, Fresh, Progress, SLOWER_THAN, mark_repeated, primary_port, read_slowlog, read_threshold,
};
use crate::sources::redis::allowed::Command;
use crate::sources::redis::look::{Look, Seldom};
use crate::sources::redis::trouble::Trouble;

/// What a node may lack, in the words that users see; each keeps its words so that it can be taken back.
const SLOWLOG: &str = "SLOWLOG GET";
const LOST_ENTRIES: &str = "slow-log entries";
const THRESHOLD: &str = "slow-log threshold";

/// How often the threshold is asked for: it seldom changes, and a refusal is logged at the server each time.
const THRESHOLD_EVERY: Duration = Duration::from_secs(300);

impl Progress {
    /// Asks for what is new; `None` where the node does not offer it, which is said as `what`.
    pub(in crate::sources::redis) async fn ask(
        &mut self,
        look: &mut Look<'_>,
        what: &'static str,
        command: impl Fn(u32) -> Command<'static>,
    ) -> Result<Option<Fresh>, Trouble> {
        let mut depth = self.depth();
        loop {
            let Some(reply) = look.ask(what, command(depth)).await? else { return Ok(None) };
            let mut entries = read_slowlog(&reply).unwrap_or_default();
            // Of a calm node not every look tells whom it follows.
            if look.info.text("role").is_some() {
                self.primary_port = primary_port(look.info).map(str::to_owned);
            }
            if let Some(port) = &self.primary_port {
                mark_repeated(&mut entries, port);
            }
            if !self.leaves_gap(&entries, depth) {
                return Ok(Some(self.take(entries)));
            }
            depth = FULL_DEPTH;
        }
    }

    /// Says that entries were lost, and what setting keeps more of them; takes it back when for a while none was.
    pub(in crate::sources::redis) fn say_lost(
        &self,
        look: &mut Look<'_>,
        fresh: &Fresh,
        entries: &'static str,
        setting: &str,
    ) {
        if fresh.missed > 0 || fresh.may_have_missed {
            let count = match self.lost() {
                0 => "some may have been".to_owned(),
                lost => format!("{lost} were"),
            };
            let why = format!("{count} overwritten before they were read: raise {setting}");
            look.lacks.begin(look.reading, entries, &why, look.now);
        } else if look.lacks.may_ask(entries, look.now) {
            look.lacks.end(look.reading, entries);
        }
    }
}

/// Where following one node's slow log has come to.
#[derive(Debug)]
pub(in crate::sources::redis) struct SlowLog {
    show_arguments: bool,
    progress: Progress,
    threshold_turn: Seldom,
}

impl SlowLog {
    /// A log that nobody has read yet.
    pub(in crate::sources::redis) fn new(show_arguments: bool) -> Self {
        Self { show_arguments, progress: Progress::default(), threshold_turn: Seldom::default() }
    }

    /// Asks for what is new, and seldom for the time of execution from which on commands are logged.
    pub(in crate::sources::redis) async fn look(&mut self, look: &mut Look<'_>) -> Result<(), Trouble> {
        self.progress.belongs_to(look.info.text("run_id").unwrap_or_default());
        let Some(fresh) = self.progress.ask(look, SLOWLOG, Command::SlowlogGet).await? else { return Ok(()) };
        self.progress.say_lost(look, &fresh, LOST_ENTRIES, "slowlog-max-len");
        let events =
            fresh.entries.iter().map(|entry| Event::SlowCommand(entry.to_event(self.show_arguments)));
        look.reading.events.extend(events);
        let total = Value::Counter(self.progress.total() as f64);
        look.reading.sample(look.subject, metric::REDIS_SLOW, total);
        if !self.threshold_turn.is_due(look.now, THRESHOLD_EVERY) {
            return Ok(());
        }
        match look.ask(THRESHOLD, Command::ConfigGet(SLOWER_THAN)).await {
            Ok(reply) => {
                if let Some(seconds) = reply.as_ref().and_then(read_threshold) {
                    look.reading.sample(look.subject, metric::REDIS_SLOW_THRESHOLD, Value::Gauge(seconds));
                }
                Ok(())
            }
            Err(trouble) => {
                // Nobody has said anything of it.
                self.threshold_turn = Seldom::default();
                Err(trouble)
            }
        }
    }
}
