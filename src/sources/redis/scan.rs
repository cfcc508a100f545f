//! The scan of a shard's keys: reads only, within a budget of the server's CPU.
//!
//! SCAN and MEMORY USAGE touch neither the hit counters nor what LFU remembers; TYPE, PTTL and the length commands do,
//! so only keys that matter and a small sample are asked for these, and each is counted. Replicas are scanned first: a
//! long SCAN on a primary gets in the way of its expiry.

mod expiry;
mod found;
mod pace;
mod pattern;
mod run;
mod turn;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::reading::{Event, Reading, Scan, ScanState};
use headwater_engine::{RemoteText, Subject};
use redis::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::allowed::Command;
use super::connection::Connection;
use super::discovery::KnownNode;
use super::hold::Hold;
use super::reply::{bytes, items, text};
use super::spec::RedisSpec;
use super::trouble::Trouble;
use crate::sources::{Outlet, now};
pub(super) use pace::{FIGURES, Pace, figures_of};
use run::{End, Run};
pub(super) use run::{Progress, keys_are_spent, time_is_over};

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

/// How long one answer may take; a full link is no reason to give up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a node may take to let us in while there is another one.
const NEXT_NODE_AFTER: Duration = Duration::from_secs(3);

/// What is said to be missing while a scan waits.
const SCAN: &str = "the scan of keys";

/// What is said of a scan that somebody ended.
pub(super) const CANCELLED: &str = "cancelled";

/// The scans of one target that were ended early, by shard, with the node that each cursor belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    kept: Arc<Mutex<BTreeMap<Subject, Kept>>>,
}

/// A scan that was ended early.
#[derive(Clone, Debug)]
struct Kept {
    since: Instant,
    node: Subject,
    progress: Progress,
}

impl Shelf {
    fn put(&self, shard: &Subject, node: &Subject, progress: Progress) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(shard.clone(), Kept { since: Instant::now(), node: node.clone(), progress });
    }

    /// Takes what is known of a shard's scan, unless it is too old to be gone on with.
    pub(super) fn take(&self, shard: &Subject) -> Option<(Subject, Progress)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(shard)?;
        (kept.since.elapsed() <= Scan::RESUMED_WITHIN).then_some((kept.node, kept.progress))
    }
}

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
    pub(super) hold: Hold,
    /// How far an earlier scan of the one node came, where this one goes on with it.
    pub(super) progress: Option<Progress>,
    /// Where it is put when it ends early.
    pub(super) shelf: Shelf,
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
            let mut run = Run::new(&self, node, &known.pulse, connection, self.progress.clone());
            let (state, can_go_on) = match run.scan().await {
                End::Complete => (ScanState::Complete, false),
                End::Anew(why) => (ScanState::Stopped(RemoteText::new(why)), false),
                End::Early(why) => (ScanState::Stopped(RemoteText::new(&why)), true),
                End::Lost(trouble) if run.scanned() == 0 && !is_last => {
                    last = (node, trouble.message);
                    continue;
                }
                End::Lost(trouble) => (ScanState::Stopped(RemoteText::new(&trouble.message)), true),
            };
            if can_go_on && run.scanned() > 0 {
                self.shelf.put(&self.shard, node, run.progress());
            }
            run.tell(state).await;
            return;
        }
        if let (Some(progress), Some((node, _))) = (&self.progress, self.nodes.first()) {
            // It may be let in at the next try.
            self.shelf.put(&self.shard, node, progress.clone());
        }
        // Whoever asked for the scan waits for its end, also for one that never began.
        let (node, why) = last;
        let state = ScanState::Stopped(RemoteText::new(&why));
        let scan = match &self.progress {
            Some(progress) => progress.to_scan(&self, node, state),
            None => Scan { state, ..Scan::begun(self.shard.clone(), node.clone()) },
        };
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

/// The next cursor and the keys of a SCAN reply.
pub(super) fn read_scan(reply: &Value) -> Option<(u64, Vec<&[u8]>)> {
    let [cursor, keys] = items(reply)? else { return None };
    let cursor = text(cursor)?.parse().ok()?;
    Some((cursor, items(keys)?.iter().filter_map(bytes).collect()))
}

#[cfg(test)]
mod tests {
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
        let mut pipeline = redis::pipe();
        for key in 0..3_000 {
            pipeline.cmd("SET").arg(format!("k{key}")).arg("v").ignore();
        }
        pipeline.exec(&mut connection).unwrap();
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
            hold: Hold::new(watch::channel(false).1),
            progress: None,
            shelf: Shelf::default(),
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
        assert_eq!(said[..2], ["the scan of keys waits", "the scan of keys goes on"], "{said:?}");
        assert!(said[2].starts_with("Running"), "{said:?}");
        assert_eq!(said[said.len() - 1], "Complete 3000");
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
