//! The scan for big keys: reads only, within a budget of the server's CPU.
//!
//! SCAN and MEMORY USAGE touch neither the hit counters nor what LFU remembers; TYPE and the length commands do,
//! so only the few keys that matter are asked for these. Replicas are scanned first: a long SCAN on a primary
//! gets in the way of its expiry.

mod pace;

use std::time::Duration;

use headwater_engine::reading::{Event, KeySize, Reading, Scan, ScanState};
use headwater_engine::slot::slot_of;
use headwater_engine::{RemoteText, Subject};
use redis::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::allowed::{Command, Length};
use super::connection::Connection;
use super::discovery::KnownNode;
use super::info::Info;
use super::pulse::Pulse;
use super::reply::{bytes, integer, items, text};
use super::spec::RedisSpec;
use super::trouble::Trouble;
use crate::sources::{Outlet, now};
pub(super) use pace::Pace;

/// What a scan may cost. The budget is the server's CPU: a slow link slows a scan and never cancels it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanBudget {
    /// The share of one core that the scan's commands may use on the scanned node.
    pub core_share: f64,
    /// The most keys that are looked at.
    pub most_keys: u64,
    /// The longest time the scan may take.
    pub longest: Duration,
    /// How many of the biggest keys are kept.
    pub keep: usize,
}

impl Default for ScanBudget {
    fn default() -> Self {
        Self { core_share: 0.01, most_keys: 10_000_000, longest: Duration::from_secs(600), keep: 32 }
    }
}

/// A running scan.
#[derive(Debug)]
pub struct ScanHandle {
    /// Ends the scan early; what it has found so far is still reported.
    pub cancel: CancellationToken,
    /// Holds the scan still while it says `true`; the time that it stands still is not counted. A scan whose handle is
    /// dropped goes on.
    pub pause: watch::Sender<bool>,
    /// Done when the last event was sent.
    pub task: JoinHandle<()>,
}

/// How many keys one SCAN asks for: a call blocks the server for some tens of microseconds.
const BATCH: u32 = 100;

/// How long one answer may take; a full link is no reason to give up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a node may take to let us in while there is another one.
const NEXT_NODE_AFTER: Duration = Duration::from_secs(3);

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// From this size on a key's type and length are asked for at once; of smaller ones only at the end.
const WORTH_A_LOOK: u64 = 128 * 1024;

/// What is said to be missing while a scan waits.
const SCAN: &str = "the scan for big keys";

/// What is said of a scan that somebody ended.
pub(super) const CANCELLED: &str = "cancelled";

/// What a scan works on.
pub(super) struct Job {
    pub(super) shard: Subject,
    pub(super) clustered: bool,
    /// The nodes that hold the shard, best first.
    pub(super) nodes: Vec<(Subject, KnownNode)>,
    pub(super) spec: RedisSpec,
    pub(super) budget: ScanBudget,
    pub(super) outlet: Outlet,
    pub(super) cancel: CancellationToken,
    pub(super) paused: watch::Receiver<bool>,
}

struct Candidate {
    key: Vec<u8>,
    bytes: u64,
    kind: Option<String>,
    elements: Option<u64>,
}

/// Why a scan is over before every key was looked at.
enum End {
    Complete,
    Early(String),
    Lost(Trouble),
}

impl Job {
    /// Scans the first node that lets itself be scanned.
    pub(super) async fn run(self) {
        let mut last = (&self.shard, "no node of this shard can be dialled".to_owned());
        for (index, (node, known)) in self.nodes.iter().enumerate() {
            let is_last = index + 1 == self.nodes.len();
            let patience = if is_last { PATIENCE } else { NEXT_NODE_AFTER };
            let opened = tokio::select! {
                () = self.cancel.cancelled() => {
                    last = (node, CANCELLED.to_owned());
                    break;
                }
                opened = self.open(known, patience) => opened,
            };
            let connection = match opened {
                Ok(connection) => connection,
                Err(trouble) => {
                    last = (node, trouble.message);
                    continue;
                }
            };
            let pulse = &known.pulse;
            let mut run = Run {
                job: &self,
                node,
                pulse,
                connection,
                found: vec![],
                scanned: 0,
                total: 0,
                waits: false,
            };
            let state = match run.scan().await {
                End::Complete => ScanState::Complete,
                End::Early(why) => ScanState::Stopped(RemoteText::new(&why)),
                End::Lost(trouble) if run.scanned == 0 && !is_last => {
                    last = (node, trouble.message);
                    continue;
                }
                End::Lost(trouble) => ScanState::Stopped(RemoteText::new(&trouble.message)),
            };
            run.tell(state).await;
            return;
        }
        // Whoever asked for the scan waits for its end, also for one that never began.
        let (node, why) = last;
        let state = ScanState::Stopped(RemoteText::new(&why));
        let scan = Scan { state, ..Scan::begun(self.shard.clone(), node.clone()) };
        self.send(node, scan).await;
    }

    async fn open(&self, known: &KnownNode, patience: Duration) -> Result<Connection, Trouble> {
        let deadline = Instant::now() + patience;
        let mut connection = Connection::open(&known.dial, &known.access, &known.cost, deadline).await?;
        if self.clustered {
            connection.ask(Command::ReadOnly, deadline).await?;
        }
        Ok(connection)
    }

    async fn send(&self, node: &Subject, scan: Scan) {
        // Without a node it is the target that speaks: a shard is never asked and is no source.
        let source = if *node == self.shard { &self.spec.component } else { node };
        self.tell(source, Event::Scan(scan)).await;
    }

    async fn tell(&self, source: &Subject, event: Event) {
        let mut reading = Reading::new(source.clone(), now());
        reading.events.push(event);
        // With the app loop gone nobody wants to know.
        let _ = self.outlet.readings.send(reading).await;
    }
}

struct Run<'a> {
    job: &'a Job,
    node: &'a Subject,
    pulse: &'a Pulse,
    connection: Connection,
    /// The biggest so far, biggest first.
    found: Vec<Candidate>,
    scanned: u64,
    total: u64,
    /// Whether it was said that the scan waits.
    waits: bool,
}

impl Run<'_> {
    async fn scan(&mut self) -> End {
        let cancel = self.job.cancel.clone();
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => End::Early(CANCELLED.to_owned()),
            end = self.all_keys() => end.unwrap_or_else(End::Lost),
        };
        self.go_on().await;
        if !matches!(end, End::Lost(_)) {
            // What is kept is described also after a cancel; a node that refuses leaves types unknown.
            let _ = self.describe(0).await;
        }
        end
    }

    async fn all_keys(&mut self) -> Result<End, Trouble> {
        let started = Instant::now();
        let deadline = || Instant::now() + PATIENCE;
        self.total =
            self.connection.ask(Command::DbSize, deadline()).await.ok().as_ref().and_then(count).unwrap_or(0);
        let mut pace = Pace::new(self.job.budget.core_share, started);
        let mut told: Option<Instant> = None;
        let mut waited = Duration::ZERO;
        let mut end = started + self.job.budget.longest;
        let mut cursor = 0;
        loop {
            if pace.wants_measure(Instant::now())
                && let Ok(reply) = self.connection.ask(Command::Info(&["commandstats"]), deadline()).await
                && let Some(text) = text(&reply)
            {
                pace.measure(&Info::parse(&text), Instant::now());
            }
            let reply = self.connection.ask(Command::Scan(cursor, BATCH), deadline()).await?;
            let Some((next, keys)) = read_scan(&reply) else {
                return Ok(End::Early("SCAN is answered with something else".to_owned()));
            };
            self.weigh(&keys).await?;
            pace.spent(keys.len());
            cursor = next;
            let is_over = cursor == 0;
            if told.is_none_or(|told| told.elapsed() >= PROGRESS_EVERY) && !is_over {
                told = Some(Instant::now());
                self.describe(WORTH_A_LOOK).await?;
                self.tell(ScanState::Running).await;
            }
            match () {
                () if is_over => return Ok(End::Complete),
                () if self.scanned >= self.job.budget.most_keys => {
                    return Ok(End::Early(format!(
                        "{} keys looked at, the most that was allowed",
                        self.scanned
                    )));
                }
                () if Instant::now() >= end => {
                    let seconds = self.job.budget.longest.as_secs();
                    let waited = match waited.as_secs() {
                        0 => String::new(),
                        waited => format!(", {waited} s of them spent waiting until the node is calm"),
                    };
                    return Ok(End::Early(format!(
                        "{seconds} s are over, the longest that was allowed{waited}"
                    )));
                }
                () => {}
            }
            end += self.while_paused().await;
            waited += self.until_calm(end).await;
            tokio::time::sleep_until(pace.next_at()).await;
        }
    }

    /// Waits while the operator has the scan stand still, and says so; returns for how long.
    async fn while_paused(&mut self) -> Duration {
        let began = Instant::now();
        let mut paused = self.job.paused.clone();
        // Without a handle there is nobody who could let it go on.
        if !*paused.borrow() || paused.has_changed().is_err() {
            return Duration::ZERO;
        }
        self.tell(ScanState::Paused).await;
        let _ = paused.wait_for(|is_paused| !is_paused).await;
        self.tell(ScanState::Running).await;
        began.elapsed()
    }

    /// Waits while the node suffers, at most until the scan has to end, and says so; returns for how long.
    async fn until_calm(&mut self, end: Instant) -> Duration {
        let began = Instant::now();
        let pulse = self.pulse;
        let spared_until = || pulse.spared_until().min(end);
        if spared_until() <= began {
            return Duration::ZERO;
        }
        self.waits = true;
        let why = RemoteText::new("the node is near its limit: the scan goes on when it is calm");
        self.job.tell(self.node, Event::Unavailable { what: RemoteText::new(SCAN), why }).await;
        while spared_until() > Instant::now() {
            tokio::time::sleep_until(spared_until()).await;
        }
        self.go_on().await;
        began.elapsed()
    }

    /// Takes back that the scan waits, also when it ends while it does.
    async fn go_on(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.job.tell(self.node, Event::Available { what: RemoteText::new(SCAN) }).await;
        }
    }

    /// Asks for the size of each key and keeps the biggest.
    async fn weigh(&mut self, keys: &[&[u8]]) -> Result<(), Trouble> {
        let commands: Vec<_> = keys.iter().map(|key| Command::MemoryUsage(key)).collect();
        let answers = self.connection.ask_all(&commands, Instant::now() + PATIENCE).await?;
        for (key, answer) in keys.iter().zip(answers) {
            self.scanned += 1;
            match answer {
                // NULL: the key is gone already.
                Ok(reply) => {
                    if let Some(bytes) = count(&reply) {
                        self.keep(key, bytes);
                    }
                }
                Err(trouble) if trouble.code.as_deref() == Some("MOVED") => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    fn keep(&mut self, key: &[u8], bytes: u64) {
        let keep = self.job.budget.keep;
        let is_small = self.found.len() >= keep && self.found.last().is_some_and(|last| last.bytes >= bytes);
        // SCAN may return a key twice.
        if is_small || self.found.iter().any(|known| known.key == key) {
            return;
        }
        let place = self.found.partition_point(|known| known.bytes >= bytes);
        self.found.insert(place, Candidate { key: key.to_vec(), bytes, kind: None, elements: None });
        self.found.truncate(keep);
    }

    /// Asks for type and length of the kept keys from a size on that have none yet.
    async fn describe(&mut self, from: u64) -> Result<(), Trouble> {
        let deadline = Instant::now() + PATIENCE;
        for candidate in self.found.iter_mut().filter(|known| known.kind.is_none() && known.bytes >= from) {
            let kind = match self.connection.ask(Command::Type(&candidate.key), deadline).await {
                Ok(reply) => text(&reply).map_or_else(String::new, |kind| kind.into_owned()),
                Err(trouble) if trouble.ends_connection => return Err(trouble),
                Err(_) => String::new(),
            };
            if let Some(length) = Length::of_type(&kind) {
                let reply = self.connection.ask(Command::Length(length, &candidate.key), deadline).await;
                candidate.elements = reply.ok().as_ref().and_then(count);
            }
            candidate.kind = Some(kind);
        }
        Ok(())
    }

    async fn tell(&self, state: ScanState) {
        let biggest = self
            .found
            .iter()
            .map(|known| KeySize {
                key: RemoteText::from_bytes(&known.key),
                slot: if self.job.clustered { slot_of(&known.key) } else { 0 },
                kind: RemoteText::new(known.kind.as_deref().unwrap_or_default()),
                bytes: known.bytes,
                elements: known.elements,
            })
            .collect();
        let scan = Scan {
            scanned: self.scanned,
            total: self.total.max(self.scanned),
            state,
            biggest,
            ..Scan::begun(self.job.shard.clone(), self.node.clone())
        };
        self.job.send(self.node, scan).await;
    }
}

fn count(reply: &Value) -> Option<u64> {
    integer(reply).and_then(|number| u64::try_from(number).ok())
}

/// The next cursor and the keys of a SCAN reply.
pub(super) fn read_scan(reply: &Value) -> Option<(u64, Vec<&[u8]>)> {
    let [cursor, keys] = items(reply)? else { return None };
    let cursor = text(cursor)?.parse().ok()?;
    Some((cursor, items(keys)?.iter().filter_map(bytes).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_engine::Kind;
    use headwater_test_support::Server;
    use tokio::sync::mpsc;

    use super::super::connection::{Access, Dial};
    use super::super::reply_fixture;
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_scan_waits_while_its_node_suffers_and_says_so() {
        let server = Server::start(&[]);
        let mut connection = server.connect().unwrap();
        for key in 0..300 {
            redis::cmd("SET").arg(format!("k{key}")).arg("v").exec(&mut connection).unwrap();
        }
        let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![]);
        let dial = Dial { shown: server.address(), host: "127.0.0.1".to_owned(), port: server.port() };
        let stop = CancellationToken::new();
        let access = Arc::new(Access::of(&spec).unwrap());
        let known = KnownNode::new(dial, access, Duration::from_secs(1), stop.clone());
        let pulse = known.pulse.clone();
        let calm_at = Instant::now() + Duration::from_millis(700);
        pulse.answered(Instant::now(), Some(calm_at));
        let (send, mut readings) = mpsc::channel(64);
        let shard = spec.component.shard(0);
        let job = Job {
            nodes: vec![(shard.instance(&server.address()), known)],
            shard,
            clustered: false,
            spec,
            budget: ScanBudget::default(),
            outlet: Outlet { readings: send, stop: stop.clone() },
            cancel: stop,
            paused: watch::channel(false).1,
        };
        job.run().await;
        assert!(Instant::now() >= calm_at, "it did not wait");
        let mut said = vec![];
        while let Some(reading) = readings.recv().await {
            said.extend(reading.events.into_iter().map(|event| match event {
                Event::Scan(Scan { state, scanned, .. }) => format!("{state:?} {scanned}"),
                Event::Unavailable { what, .. } => format!("{what} waits"),
                Event::Available { what } => format!("{what} goes on"),
                other => format!("{other:?}"),
            }));
        }
        assert!(said[0].starts_with("Running 1"), "{said:?}");
        assert_eq!(said[1..3], ["the scan for big keys waits", "the scan for big keys goes on"]);
        assert_eq!(said[said.len() - 1], "Complete 300");
    }

    #[test]
    fn hostile_key_names_are_read_as_bytes() {
        for name in ["r62", "r70", "r82", "v91"] {
            let Some(reply) = reply_fixture(&format!("redis-wire/{name}.scan.resp2")) else { return };
            let (_, keys) = read_scan(&reply).unwrap();
            assert!(keys.iter().any(|key| key.contains(&0x1b)), "{name}");
            assert!(keys.iter().any(|key| std::str::from_utf8(key).is_err()), "{name}");
        }
    }
}
