//! What is known of keys: scans, searches, sizes, and large commands.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::reading::{HotSearch, KeyMethod, KeySizes, LargeCommand, Scan};
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
    /// The newest search of each shard and way.
    searches: BTreeMap<(Subject, KeyMethod), (Moment, HotSearch)>,
    /// How many keys of which size each node has.
    sizes: BTreeMap<Subject, (Moment, KeySizes)>,
    /// The newest large commands of each node, oldest first.
    large: BTreeMap<Subject, VecDeque<LargeCommand>>,
}

impl Keyspace {
    pub(super) fn take_scan(&mut self, at: Moment, scan: &Scan) {
        self.scans.insert(scan.shard.clone(), (at, scan.clone()));
    }

    pub(super) fn take_search(&mut self, at: Moment, search: &HotSearch) {
        self.searches.insert((search.shard.clone(), search.method), (at, search.clone()));
    }

    pub(super) fn take_sizes(&mut self, node: &Subject, at: Moment, sizes: &KeySizes) {
        self.sizes.insert(node.clone(), (at, sizes.clone()));
    }

    pub(super) fn take_large(&mut self, node: &Subject, command: &LargeCommand, clocks_apart_ms: i64) {
        let kept = self.large.entry(node.clone()).or_default();
        let at = Moment(command.at.0.saturating_add(clocks_apart_ms));
        kept.push_back(LargeCommand { at, ..command.clone() });
        if kept.len() > LARGE_KEPT {
            kept.pop_front();
        }
    }

    /// The newest scan of a shard, if it is young enough to speak of the present.
    pub fn scan(&self, shard: &Subject, now: Moment) -> Option<&Scan> {
        self.scans.get(shard).filter(|(at, _)| now.since(*at) <= SPEAKS_FOR).map(|(_, scan)| scan)
    }

    /// The newest scan of every scanned shard.
    pub fn scans(&self) -> impl Iterator<Item = &Scan> {
        self.scans.values().map(|(_, scan)| scan)
    }

    /// When the newest scan of every scanned shard last told anything, in the order of [`Self::scans`].
    pub fn scanned_at(&self) -> impl Iterator<Item = Moment> {
        self.scans.values().map(|(at, _)| *at)
    }

    /// The newest search of each way on a shard, those young enough to speak of the present.
    pub fn searches_of(&self, shard: &Subject, now: Moment) -> impl Iterator<Item = &HotSearch> {
        let of_shard = self.searches.iter().filter(move |((known, _), _)| known == shard);
        of_shard.filter(move |(_, (at, _))| now.since(*at) <= SPEAKS_FOR).map(|(_, (_, search))| search)
    }

    /// The newest search of every shard and way.
    pub fn searches(&self) -> impl Iterator<Item = &HotSearch> {
        self.searches.values().map(|(_, search)| search)
    }

    /// When the newest search of every shard and way last told anything, in the order of [`Self::searches`].
    pub fn searched_at(&self) -> impl Iterator<Item = Moment> {
        self.searches.values().map(|(at, _)| *at)
    }

    /// How many keys of which size a node has.
    pub fn sizes(&self, node: &Subject) -> Option<&KeySizes> {
        self.sizes.get(node).map(|(_, sizes)| sizes)
    }

    /// How many keys of which size every node that says so has.
    pub fn all_sizes(&self) -> impl Iterator<Item = (&Subject, &KeySizes)> {
        self.sizes.iter().map(|(node, (_, sizes))| (node, sizes))
    }

    /// The large commands of a subject's nodes, oldest first of each node, by the observer's clock.
    pub fn large(&self, subject: &Subject) -> impl Iterator<Item = (&Subject, &LargeCommand)> {
        subject
            .within(&self.large)
            .flat_map(|(node, commands)| commands.iter().map(move |command| (node, command)))
    }

    /// The large commands of every node.
    pub fn all_large(&self) -> impl Iterator<Item = (&Subject, &LargeCommand)> {
        self.large.iter().flat_map(|(node, commands)| commands.iter().map(move |command| (node, command)))
    }
}
