//! Searches for hot keys: one way a file, each on the primary of a shard and on a connection of its own.
//!
//! The primary is asked because each node counts for itself: what clients read there no replica has seen. Whatever way a
//! search ends - done, cancelled, or with its task - its connection is dropped and with it what the server does for it;
//! the one thing that a server would go on with, a count of HOTKEYS, has an end of its own.

mod frequencies;
mod hotkeys;
mod monitor;
mod slot_stats;

use std::time::Duration;

use futures::future::BoxFuture;
use headwater_engine::reading::{Event, FaultKind, HotSearch, KeyHeat, KeyMethod, Reading, ScanState};
use headwater_engine::slot::slot_of;
use headwater_engine::{RemoteText, Subject};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::discovery::KnownNode;
use super::hold::Hold;
use super::scan::{CANCELLED, ScanBudget};
use super::spec::RedisSpec;
use super::trouble::Trouble;
use crate::sources::{LONGEST_WAIT, Outlet, now};

use hotkeys::Count;
pub(super) use hotkeys::{read_hotkeys, read_valkey_hotkeys};
pub use monitor::LONGEST as LONGEST_MONITOR;
pub(super) use monitor::read_monitored;
pub(super) use slot_stats::read_slot_stats;

/// What a search for hot keys may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBudget {
    /// For ways that look at keys one by one.
    pub scan: ScanBudget,
    /// How long MONITOR may run, at most [`LONGEST_MONITOR`].
    pub monitor: Duration,
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self { scan: ScanBudget::default(), monitor: Duration::from_secs(1) }
    }
}

/// Keys and slots that are told of.
pub const KEEP: usize = 32;

/// What waits while the node suffers, in the words that users see.
const SEARCH: &str = "the search for hot keys";

/// Runs one way to its end; what it finds goes into the search as it comes.
type Method = for<'a> fn(&'a mut Run) -> BoxFuture<'a, Result<(), End>>;

/// One line a way.
const METHODS: &[(KeyMethod, Method)] = &[
    (KeyMethod::SlotStats, |run| Box::pin(slot_stats::search(run))),
    (KeyMethod::Frequencies, |run| Box::pin(frequencies::search(run))),
    (KeyMethod::Hotkeys, |run| Box::pin(hotkeys::search(run))),
    (KeyMethod::Monitor, |run| Box::pin(monitor::search(run))),
];

/// Whether there is a search of this way; a scan for big keys is none.
pub(super) fn has_search(method: KeyMethod) -> bool {
    METHODS.iter().any(|(known, _)| *known == method)
}

/// What a search works on.
pub(super) struct Job {
    pub(super) shard: Subject,
    pub(super) clustered: bool,
    /// The shard's primary, where one can be dialled.
    pub(super) primary: Option<(Subject, KnownNode)>,
    pub(super) method: KeyMethod,
    pub(super) spec: RedisSpec,
    pub(super) budget: SearchBudget,
    pub(super) outlet: Outlet,
    pub(super) cancel: CancellationToken,
    pub(super) hold: Hold,
}

/// Why a search is over before its time.
enum End {
    /// For a reason of its own.
    Early(String),
    /// The server does not do this, and why.
    Refused(String),
    Lost(Trouble),
}

impl From<Trouble> for End {
    fn from(trouble: Trouble) -> Self {
        Self::Lost(trouble)
    }
}

impl Job {
    pub(super) async fn run(self) {
        let node = self.primary.as_ref().map_or_else(|| self.shard.clone(), |(node, _)| node.clone());
        let search = HotSearch {
            shard: self.shard.clone(),
            node,
            method: self.method,
            state: ScanState::Running,
            seconds: 0.0,
            seconds_in_all: 0.0,
            counted: 0,
            keys: vec![],
            slots: vec![],
        };
        let (cancel, method) = (self.cancel.clone(), self.method);
        let known = self.primary.as_ref().map(|(_, known)| known.clone());
        let mut run = Run { job: self, search, connection: None, count: Count::None, lack: None };
        let way = METHODS.iter().find(|(known, _)| *known == method);
        let end = match (known, way) {
            (Some(_), Some((_, way))) => tokio::select! {
                biased;
                () = cancel.cancelled() => Err(End::Early(CANCELLED.to_owned())),
                end = way(&mut run) => end,
            },
            _ => Err(End::Early("the primary of this shard cannot be dialled".to_owned())),
        };
        run.go_on().await;
        hotkeys::stop(&mut run).await;
        // What the server does for us ends before the end is told.
        run.connection = None;
        let pulse = run.job.primary.as_ref().map(|(_, known)| &known.pulse);
        let remember = |refusal: Option<&str>| {
            if let Some(pulse) = pulse {
                pulse.refused(method, refusal.map(str::to_owned));
            }
        };
        let why = match end {
            Ok(()) => {
                remember(None);
                None
            }
            Err(End::Early(why)) => Some(why),
            Err(End::Refused(why)) => {
                remember(Some(&why));
                Some(why)
            }
            Err(End::Lost(trouble)) => {
                if trouble.kind == FaultKind::Denied || trouble.is_command_error() {
                    remember(Some(&trouble.message));
                }
                Some(trouble.message)
            }
        };
        run.tell(why.map_or(ScanState::Complete, |why| ScanState::Stopped(RemoteText::new(&why)))).await;
    }
}

/// A search that goes on.
struct Run {
    job: Job,
    search: HotSearch,
    connection: Option<Connection>,
    /// What the server counts because we asked it to.
    count: Count,
    /// What it was said to lack.
    lack: Option<&'static str>,
}

impl Run {
    /// The connection for questions, opened when there is none; and until when its answer is waited for.
    async fn open(&mut self) -> Result<(&mut Connection, Instant), End> {
        let deadline = Instant::now() + LONGEST_WAIT;
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let known = self.known()?;
                Connection::open(&known.dial, &known.access, &known.cost, deadline).await?
            }
        };
        Ok((self.connection.insert(connection), deadline))
    }

    fn known(&self) -> Result<&KnownNode, End> {
        let primary = self.job.primary.as_ref();
        primary.map(|(_, known)| known).ok_or_else(|| End::Early("there is no primary".to_owned()))
    }

    /// Waits while the operator has the search stand still, and says so.
    async fn while_paused(&mut self) {
        if self.job.hold.is_on() {
            self.tell(ScanState::Paused).await;
            self.job.hold.ends().await;
            self.tell(ScanState::Running).await;
        }
    }

    /// Waits while the node suffers, at most until the search has to end, and says so; returns for how long.
    async fn until_calm(&mut self, end: Instant) -> Result<Duration, End> {
        let began = Instant::now();
        let pulse = self.known()?.pulse.clone();
        if pulse.spared_until().min(end) > began {
            self.lacks(SEARCH, "the node is near its limit: the search goes on when it is calm").await;
            pulse.spared(end).await;
            self.go_on().await;
        }
        Ok(began.elapsed())
    }

    /// Says what the search has to do without for a while, and why.
    async fn lacks(&mut self, what: &'static str, why: &str) {
        self.lack = Some(what);
        self.say(Event::Unavailable { what: RemoteText::new(what), why: RemoteText::new(why) }).await;
    }

    /// Takes back what it was said to lack, also when it ends meanwhile.
    async fn go_on(&mut self) {
        if let Some(what) = self.lack.take() {
            self.say(Event::Available { what: RemoteText::new(what) }).await;
        }
    }

    fn slot(&self, key: &[u8]) -> Option<u16> {
        self.job.clustered.then(|| slot_of(key))
    }

    async fn tell(&mut self, state: ScanState) {
        self.search.state = state;
        self.say(Event::HotSearch(self.search.clone())).await;
    }

    async fn say(&self, event: Event) {
        // With the app loop gone nobody wants to know.
        let _ = self.job.outlet.readings.send(self.reading(event)).await;
    }

    /// Tells how far it is, unless whoever listens is late: the next word says as much.
    fn tell_if_heard(&self) {
        let _ = self.job.outlet.readings.try_send(self.reading(Event::HotSearch(self.search.clone())));
    }

    fn reading(&self, event: Event) -> Reading {
        // Without a node it is the target that speaks: a shard is never asked and is no source.
        let is_of_node = self.search.node != self.search.shard;
        let source = if is_of_node { &self.search.node } else { &self.job.spec.component };
        let mut reading = Reading::new(source.clone(), now());
        reading.events.push(event);
        reading
    }
}

/// A key of which nothing is known but its name.
fn heat(key: &[u8], slot: Option<u16>) -> KeyHeat {
    KeyHeat {
        key: RemoteText::from_bytes(key),
        slot,
        operations_share: None,
        per_second: None,
        cpu_share: None,
        bytes_share: None,
        frequency: None,
        command: None,
    }
}

/// Part of a whole, 0 to 1; `None` of nothing.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use headwater_engine::reading::KEY_METHODS;

    use super::*;

    #[test]
    fn every_way_but_the_scan_has_a_search() {
        for row in KEY_METHODS {
            assert_eq!(has_search(row.method), row.method != KeyMethod::Scan, "{}", row.name);
        }
    }
}
