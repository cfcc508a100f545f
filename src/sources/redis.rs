//! Redis and Valkey: one task a node, found from any seed, asked within a fixed list of commands.

pub mod address;
pub mod allowed;
mod board;
pub mod cluster_view;
mod command_times;
mod commandlog;
pub mod connection;
mod cost;
mod discovery;
mod gentle;
mod hold;
mod hot;
mod identity;
pub mod info;
mod keysizes;
mod lacks;
mod layout;
mod look;
mod node;
mod offers;
pub mod placement;
pub mod probe;
mod pulse;
mod reply;
mod samples;
pub mod scan;
mod sentinel;
pub mod shape;
pub mod slowlog;
pub mod spec;
mod stalls;
pub(in crate::sources) mod tls;
pub mod topology;
pub mod trouble;

use std::time::Duration;

use headwater_engine::reading::{KeyMethod, LargeKind, Node, NodeHealth, Reading, Topology};
use headwater_engine::{Kind, Moment, Subject};
use tokio::sync::watch;

pub use hot::{KEEP as MOST_HOT_KEYS, LONGEST_MONITOR, SearchBudget};
pub use placement::{Placement, Relation, place, relation};
pub use probe::{ProbeStep, probe};
pub use scan::{ScanBudget, ScanHandle};
pub use spec::{RedisSpec, SentinelSpec, TlsSpec};

use super::Outlet;
use discovery::{Found, Target};
use hold::Hold;

/// A running Redis target: its discovery and a task for each of its nodes. Everything it learns goes to its
/// outlet; it ends with the outlet's token or with [`RedisTarget::stop`].
#[derive(Debug)]
pub struct RedisTarget {
    found: watch::Receiver<Option<Found>>,
    outlet: Outlet,
    spec: RedisSpec,
    /// Scans that can be gone on with.
    shelf: scan::Shelf,
}

impl RedisTarget {
    /// Starts discovery from the seeds and, once it has succeeded, one task a node. Must be called within a
    /// tokio runtime; returns at once.
    pub fn start(spec: RedisSpec, interval: Duration, outlet: Outlet) -> Self {
        let (tell, found) = watch::channel(None);
        let outlet = Outlet { readings: outlet.readings, stop: outlet.stop.child_token() };
        tokio::spawn(Target::new(spec.clone(), interval, outlet.clone(), tell).run());
        Self { found, outlet, spec, shelf: scan::Shelf::default() }
    }

    /// The shape as last seen, or `None` before discovery has succeeded.
    pub fn topology(&self) -> Option<Topology> {
        self.found.borrow().as_ref().map(|found| found.topology.clone())
    }

    /// Waits for the first topology, at most this long; `None` when discovery has not succeeded by then.
    pub async fn discovered(&self, longest: Duration) -> Option<Topology> {
        let mut found = self.found.clone();
        let found = tokio::time::timeout(longest, found.wait_for(Option::is_some)).await.ok()?.ok()?;
        found.as_ref().map(|found| found.topology.clone())
    }

    /// Starts a scan of a shard's keys as a task of its own, with its own connection; progress arrives as
    /// [`Event::Scan`](headwater_engine::reading::Event::Scan) readings whose source is the scanned node.
    /// `None` when the shard is not known.
    pub fn scan(&self, shard: &Subject, budget: ScanBudget) -> Option<ScanHandle> {
        self.shelf.take(shard);
        self.start_scan(shard, budget, None)
    }

    /// Goes on with a scan of a shard that was cancelled, has used up its time or has lost its connection less than a
    /// quarter of an hour ago: on the same node, from the key where it was, with all that it had found. `None` when there
    /// is none; then [`RedisTarget::scan`] begins one.
    pub fn resume(&self, shard: &Subject, budget: ScanBudget) -> Option<ScanHandle> {
        let stopped = self.shelf.take(shard)?;
        self.start_scan(shard, budget, Some(stopped))
    }

    fn start_scan(
        &self,
        shard: &Subject,
        budget: ScanBudget,
        stopped: Option<(Subject, scan::Progress)>,
    ) -> Option<ScanHandle> {
        let found = self.found.borrow().clone()?;
        let known = found.topology.shards.iter().find(|known| known.subject == *shard)?;
        let mut nodes: Vec<_> = known.nodes.iter().collect();
        if let Some((node, _)) = &stopped {
            // A cursor means nothing to any other node.
            nodes.retain(|known| known.subject == *node);
        }
        // A replica comes first, then the primary, then whoever is down. One that is said to be loading may have
        // done so long ago; if it has not, it refuses and the next is asked.
        let is_down = |node: &Node| matches!(node.health, NodeHealth::Failed | NodeHealth::Suspected);
        nodes.sort_by_key(|node| (is_down(node), node.primary));
        let dialled =
            |node: &Node| found.nodes.get(&node.subject).map(|known| (node.subject.clone(), known.clone()));
        let cancel = self.outlet.stop.child_token();
        let (pause, paused) = watch::channel(false);
        let job = scan::Job {
            shard: shard.clone(),
            clustered: found.topology.clustered,
            nodes: nodes.into_iter().filter_map(dialled).collect(),
            spec: self.spec.clone(),
            budget,
            outlet: self.outlet.clone(),
            cancel: cancel.clone(),
            hold: Hold::new(paused),
            progress: stopped.map(|(_, progress)| progress),
            shelf: self.shelf.clone(),
        };
        Some(ScanHandle { cancel, pause, task: tokio::spawn(job.run()) })
    }

    /// Starts a search of a shard for hot keys as a task of its own, on the shard's primary and with its own connection;
    /// progress arrives as [`Event::HotSearch`](headwater_engine::reading::Event::HotSearch) readings whose source is the
    /// searched node. Whoever calls it for a way that needs consent has it. `None` when the shard is not known, and for
    /// the scan for big keys, which is no search.
    pub fn search(&self, shard: &Subject, method: KeyMethod, budget: SearchBudget) -> Option<ScanHandle> {
        let found = self.found.borrow().clone()?;
        let known = found.topology.shards.iter().find(|known| known.subject == *shard)?;
        let dialled = |node: &Node| Some((node.subject.clone(), found.nodes.get(&node.subject)?.clone()));
        let cancel = self.outlet.stop.child_token();
        let (pause, paused) = watch::channel(false);
        let job = hot::Job {
            shard: shard.clone(),
            clustered: found.topology.clustered,
            primary: known.nodes.iter().filter(|node| node.primary).find_map(dialled),
            method,
            spec: self.spec.clone(),
            budget,
            outlet: self.outlet.clone(),
            cancel: cancel.clone(),
            hold: Hold::new(paused),
        };
        hot::has_search(method).then(|| ScanHandle { cancel, pause, task: tokio::spawn(job.run()) })
    }

    /// Ends discovery, nodes and scans of this target.
    pub fn stop(&self) {
        self.outlet.stop.cancel();
    }
}

/// Gives bytes to every reader of replies, for fuzzing: whatever they are, none may panic.
pub fn read_everything(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (node, info) = (Subject::component(Kind::Redis, "any"), info::Info::parse(&text));
    let mut reading = Reading::new(node.clone(), Moment::default());
    samples::add_samples(&mut reading, &node, &info, &mut samples::Busiest::default());
    let _ = keysizes::read_key_sizes(&text);
    let lines = topology::read_nodes(&text);
    hot::read_monitored(bytes);
    let Ok(reply) = redis::parse_redis_value(bytes) else { return };
    for seen in [None, topology::read_shards(&reply), topology::read_slots(&reply)] {
        let _ = shape::ShardNumbers::default().number(topology::combine(seen, &lines));
    }
    let _ = cluster_view::read_view(&node, "any", &text, &lines);
    for entry in slowlog::read_slowlog(&reply).unwrap_or_default() {
        let _ = entry.to_event(true);
        let _ = commandlog::to_event(&entry, LargeKind::Reply);
    }
    let _ = scan::read_scan(&reply);
    let _ = hot::read_slot_stats(&reply);
    let _ = hot::read_hotkeys(&reply);
    let _ = hot::read_valkey_hotkeys(&reply, 1.0);
    let _ = (command_times::read_histograms(&reply), stalls::read_stalls(&reply));
    let _ = (slowlog::read_threshold(&reply), offers::read_setting(&reply));
    sentinel::read_any(&reply);
}

/// A file of the shared test data, or `None` with a loud notice where that folder is absent.
#[cfg(test)]
fn fixture(path: &str) -> Option<Vec<u8>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(path);
    let bytes = std::fs::read(&path);
    if bytes.is_err() {
        eprintln!("SKIPPED: no test data at {}", path.display());
    }
    bytes.ok()
}

/// A reply of the shared test data.
#[cfg(test)]
fn reply_fixture(path: &str) -> Option<redis::Value> {
    fixture(path).map(|bytes| redis::parse_redis_value(&bytes).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_the_fuzzer_is_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/redis_replies");
        let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(seeds.len() >= 6);
        for seed in seeds {
            let bytes = std::fs::read(&seed).unwrap();
            assert_eq!(
                seed.extension().unwrap() == "resp2",
                redis::parse_redis_value(&bytes).is_ok(),
                "{seed:?}"
            );
            // Cut anywhere, it is still only bytes.
            (0..=bytes.len()).for_each(|length| read_everything(&bytes[..length]));
        }
    }
}
