//! What is known of keys: scans, searches, sizes, and large commands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::World;
use super::slow_log::SAME_ENTRY_MS;
use crate::reading::{HotSearch, KeyMethod, KeySizes, LargeCommand, Scan, ScanState};
use crate::subject::Subject;
use crate::time::Moment;

/// Keys come and go: after this long what was found tells what was, not what is.
const SPEAKS_FOR: Duration = Duration::from_secs(900);

/// Large commands that are kept of one node.
const LARGE_KEPT: usize = 64;

/// What is known of the keys of every shard.
#[derive(Debug, Default)]
pub struct Keyspace {
    /// The newest scan of each shard, with when it last told anything.
    scans: BTreeMap<Subject, (Moment, Scan)>,
    /// The last complete scan of each shard whose newest one is not: a part of the keys does not speak for all of them,
    /// so what was found stays until the next scan is complete too.
    complete: BTreeMap<Subject, (Moment, Scan)>,
    /// The newest search of each shard and way.
    searches: BTreeMap<(Subject, KeyMethod), (Moment, HotSearch)>,
    /// How many keys of which size each node has; shared with snapshots, as are large commands.
    sizes: BTreeMap<Subject, Arc<KeySizes>>,
    /// The newest large commands of each node, oldest first.
    large: BTreeMap<Subject, VecDeque<Arc<LargeCommand>>>,
}

impl World {
    /// What is known of keys.
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }
}

impl Keyspace {
    /// Forgets a node that has left its deployment.
    pub(super) fn remove(&mut self, node: &Subject) {
        self.sizes.remove(node);
        self.large.remove(node);
    }

    /// Forgets what was found on the shards of a deployment that it has no more.
    pub(super) fn keep_shards(&mut self, cluster: &Subject, has: impl Fn(&Subject) -> bool) {
        let stays = |shard: &Subject| !cluster.contains(shard) || has(shard);
        self.scans.retain(|shard, _| stays(shard));
        self.complete.retain(|shard, _| stays(shard));
        self.searches.retain(|(shard, _), _| stays(shard));
    }

    pub(super) fn take_scan(&mut self, at: Moment, scan: &Scan) {
        let before = self.scans.insert(scan.shard.clone(), (at, scan.clone()));
        if scan.state == ScanState::Complete {
            self.complete.remove(&scan.shard);
        } else if let Some(before) = before.filter(|(_, before)| before.state == ScanState::Complete) {
            self.complete.insert(scan.shard.clone(), before);
        }
    }

    pub(super) fn take_search(&mut self, at: Moment, search: &HotSearch) {
        self.searches.insert((search.shard.clone(), search.method), (at, search.clone()));
    }

    pub(super) fn take_sizes(&mut self, node: &Subject, sizes: &KeySizes) {
        self.sizes.insert(node.clone(), Arc::new(sizes.clone()));
    }

    pub(super) fn take_large(&mut self, node: &Subject, command: &LargeCommand, clocks_apart_ms: i64) {
        let kept = self.large.entry(node.clone()).or_default();
        let at = Moment(command.at.0.saturating_add(clocks_apart_ms));
        // A source that began anew reads the whole log again.
        if kept.iter().any(|known| {
            known.id == command.id && known.kind == command.kind && known.at.0.abs_diff(at.0) < SAME_ENTRY_MS
        }) {
            return;
        }
        kept.push_back(Arc::new(LargeCommand { at, ..command.clone() }));
        if kept.len() > LARGE_KEPT {
            kept.pop_front();
        }
    }

    /// What scans have found on a shard, with when that was told, if it is young enough to speak of the present: the last
    /// complete scan, else what the newest one has found so far.
    pub fn scan(&self, shard: &Subject, now: Moment) -> Option<(Moment, &Scan)> {
        let young = |all: &'_ BTreeMap<Subject, (Moment, Scan)>| {
            all.get(shard).is_some_and(|(at, _)| now.since(*at) <= SPEAKS_FOR)
        };
        let all = [&self.complete, &self.scans].into_iter().find(|all| young(all))?;
        all.get(shard).map(|(at, scan)| (*at, scan))
    }

    /// The newest scan of a shard, however it stands.
    pub fn newest_scan(&self, shard: &Subject) -> Option<&Scan> {
        self.scans.get(shard).map(|(_, scan)| scan)
    }

    /// The last complete scan of each shard whose newest one is not, with when it was told.
    pub fn complete_scans(&self) -> impl Iterator<Item = &(Moment, Scan)> {
        self.complete.values()
    }

    /// The newest scan of every scanned shard, with when it last told anything.
    pub fn scans(&self) -> impl Iterator<Item = &(Moment, Scan)> {
        self.scans.values()
    }

    /// The newest search of each way on a shard, those young enough to speak of the present, each with when it last told
    /// anything.
    pub fn searches_of(&self, shard: &Subject, now: Moment) -> impl Iterator<Item = (Moment, &HotSearch)> {
        let from = (shard.clone(), KeyMethod::Scan);
        let of_shard = self.searches.range(from..).take_while(move |((known, _), _)| known == shard);
        of_shard
            .filter(move |(_, (at, _))| now.since(*at) <= SPEAKS_FOR)
            .map(|(_, (at, search))| (*at, search))
    }

    /// The newest search of every shard and way, with when it last told anything.
    pub fn searches(&self) -> impl Iterator<Item = &(Moment, HotSearch)> {
        self.searches.values()
    }

    /// How many keys of which size a node has.
    pub fn sizes(&self, node: &Subject) -> Option<&KeySizes> {
        self.sizes.get(node).map(|sizes| &**sizes)
    }

    /// How many keys of which size every node that says so has.
    pub fn all_sizes(&self) -> impl Iterator<Item = (&Subject, &Arc<KeySizes>)> {
        self.sizes.iter()
    }

    /// The large commands of a subject's nodes, oldest first of each node, by the observer's clock.
    pub fn large(&self, subject: &Subject) -> impl Iterator<Item = (&Subject, &LargeCommand)> {
        subject
            .within(&self.large)
            .flat_map(|(node, commands)| commands.iter().map(move |command| (node, &**command)))
    }

    /// The large commands of every node.
    pub fn all_large(&self) -> impl Iterator<Item = (&Subject, &Arc<LargeCommand>)> {
        self.large.iter().flat_map(|(node, commands)| commands.iter().map(move |command| (node, command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::LargeKind;

    fn large(id: u64, at: i64, kind: LargeKind) -> LargeCommand {
        LargeCommand {
            id,
            at: Moment(at),
            kind,
            bytes: 2_000_000,
            command: "GET".into(),
            key: Some("big".into()),
            client: "".into(),
            excluded: false,
        }
    }

    #[test]
    fn a_large_command_that_is_read_again_counts_once() {
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let mut keyspace = Keyspace::default();
        for id in [1, 2, 1, 2] {
            keyspace.take_large(&node, &large(id, 1_000, LargeKind::Reply), 0);
        }
        keyspace.take_large(&node, &large(1, 1_000, LargeKind::Request), 0);
        keyspace.take_large(&node, &large(1, 600_000, LargeKind::Reply), 0);
        let kept = keyspace.large(&node).map(|(_, one)| (one.id, one.at.0)).collect::<Vec<_>>();
        assert_eq!(kept, [(1, 1_000), (2, 1_000), (1, 1_000), (1, 600_000)]);
    }

    #[test]
    fn a_complete_scan_stays_until_the_next_one_is_complete_or_it_is_too_old() {
        let shard: Subject = "redis/features#1".parse().unwrap();
        let scan = |scanned, state| Scan {
            scanned,
            total: 9,
            state,
            ..Scan::begun(shard.clone(), shard.instance("h:1"))
        };
        let mut keyspace = Keyspace::default();
        let told = |keyspace: &Keyspace, second: i64| {
            keyspace.scan(&shard, Moment(second * 1_000)).map(|(at, scan)| (at.0, scan.scanned))
        };
        keyspace.take_scan(Moment(1_000), &scan(3, ScanState::Running));
        assert_eq!(
            told(&keyspace, 2),
            Some((1_000, 3)),
            "without an older result a part is better than nothing"
        );
        keyspace.take_scan(Moment(2_000), &scan(9, ScanState::Complete));
        let again = [ScanState::Running, ScanState::Paused, ScanState::Stopped("cancelled".into())];
        for (scanned, state) in (1..).zip(again) {
            keyspace.take_scan(Moment(800_000), &scan(scanned, state));
            assert_eq!(told(&keyspace, 801), Some((2_000, 9)));
        }
        assert_eq!(
            keyspace.scans().map(|(_, scan)| scan.scanned).collect::<Vec<_>>(),
            [3],
            "how the newest stands"
        );
        assert_eq!(told(&keyspace, 903), Some((800_000, 3)), "the older one speaks of the present no more");
        keyspace.take_scan(Moment(904_000), &scan(9, ScanState::Complete));
        assert_eq!(told(&keyspace, 905), Some((904_000, 9)));
        assert_eq!(keyspace.complete_scans().count(), 0);
    }

    #[test]
    fn what_left_the_deployment_is_forgotten() {
        let cluster: Subject = "redis/features".parse().unwrap();
        let (stays, goes) = (cluster.shard(0), cluster.shard(1));
        let node = goes.instance("10.0.1.1:6379");
        let mut keyspace = Keyspace::default();
        for shard in [&stays, &goes] {
            keyspace.take_scan(Moment(0), &Scan::begun(shard.clone(), shard.instance("h:1")));
        }
        let other: Subject = "redis/other#1".parse().unwrap();
        keyspace.take_scan(Moment(0), &Scan::begun(other.clone(), other.instance("h:1")));
        keyspace.take_large(&node, &large(1, 0, LargeKind::Reply), 0);
        keyspace.remove(&node);
        keyspace.keep_shards(&cluster, |shard| *shard == stays);
        assert!(keyspace.scans().map(|(_, scan)| &scan.shard).eq([&stays, &other]));
        assert_eq!(keyspace.all_large().count(), 0);
    }
}
