//! Finding a target's nodes from its seeds, and keeping a task for each while they come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use headwater_engine::Subject;
use headwater_engine::reading::{Event, FaultKind, Reading, Topology};
use rand::Rng;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::address::{dialled, read_address, write_address};
use super::allowed::Command;
use super::board::{Board, Report, SHAPE_EVERY};
use super::connection::{Access, Connection, Cost, Dial};
use super::info::Info;
use super::lacks::Lacks;
use super::layout::Layout;
use super::node::{NodeSource, ask_shape};
use super::pulse::Pulse;
use super::reply::text;
use super::sentinel::ask_sentinel;
use super::shape::Dials;
use super::spec::RedisSpec;
use super::trouble::Trouble;
use crate::sources::{LONGEST_WAIT, Outlet, backoff, now, spawn};

/// The next seed is tried beside the first ones after this long without an answer.
const NEXT_SEED_AFTER: Duration = Duration::from_millis(750);

/// Without news of the shape for this long the seeds are asked again: addresses may have changed.
const SEEDS_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// How often Sentinels are asked: a failover is theirs to tell.
const SENTINELS_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// What is lacking when no Sentinel answers any more.
const SENTINELS: &str = "the Sentinels";

/// With more nodes than this, replicas are polled less often.
const MANY_NODES: usize = 64;

/// How often replicas are polled then.
const REPLICA_INTERVAL: Duration = Duration::from_secs(5);

/// What is known of a target's nodes.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The shape.
    pub topology: Topology,
    /// How each node is reached, and what Headwater has cost it.
    pub nodes: BTreeMap<Subject, KnownNode>,
}

/// One node that can be dialled.
#[derive(Clone, Debug)]
pub(super) struct KnownNode {
    /// Where.
    pub dial: Dial,
    /// What we have cost it so far.
    pub cost: Arc<Cost>,
    /// How to get in, shared by the whole target.
    pub access: Arc<Access>,
    /// How it fares.
    pub pulse: Arc<Pulse>,
    interval: Duration,
    stop: CancellationToken,
}

impl KnownNode {
    /// A node that nobody has asked yet.
    pub(super) fn new(dial: Dial, access: Arc<Access>, interval: Duration, stop: CancellationToken) -> Self {
        let (cost, pulse) = (Arc::new(Cost::default()), Arc::new(Pulse::new()));
        Self { dial, cost, access, pulse, interval, stop }
    }
}

/// The task behind a [`RedisTarget`](super::RedisTarget).
pub(super) struct Target {
    spec: RedisSpec,
    interval: Duration,
    outlet: Outlet,
    tell: watch::Sender<Option<Found>>,
    layout: Layout,
    nodes: BTreeMap<Subject, KnownNode>,
    last_topology: Option<(Topology, Instant)>,
    lacks: Lacks,
}

impl Target {
    pub(super) fn new(
        spec: RedisSpec,
        interval: Duration,
        outlet: Outlet,
        tell: watch::Sender<Option<Found>>,
    ) -> Self {
        Self {
            spec,
            interval,
            outlet,
            tell,
            layout: Layout::default(),
            nodes: BTreeMap::new(),
            last_topology: None,
            lacks: Lacks::default(),
        }
    }

    /// Runs until the outlet says stop or the credentials are refused.
    pub(super) async fn run(mut self) {
        let stop = self.outlet.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            trouble = self.discover_and_watch() => {
                // One refusal is the whole target's: it is not tried again for each node.
                self.say(&trouble).await;
                stop.cancel();
            }
        }
    }

    /// Returns only with what ends the target.
    async fn discover_and_watch(&mut self) -> Trouble {
        let access = match Access::of(&self.spec) {
            Ok(access) => Arc::new(access),
            Err(trouble) => return trouble,
        };
        let (reports, mut news) = mpsc::channel(16);
        let board = Arc::new(Board::new(reports));
        let mut failures = 0;
        // What a node says of itself while Sentinels decide: it counts only where they do not answer.
        let mut untold = None;
        loop {
            match self.ask_seeds(&access).await {
                Ok(report) => {
                    failures = 0;
                    self.say_of_sentinels(None).await;
                    self.take(report, &access, &board).await;
                }
                Err(trouble) if trouble.kind == FaultKind::Auth && self.is_lost_without_seeds() => {
                    return trouble;
                }
                Err(trouble) => {
                    failures += 1;
                    // Once nodes are known each speaks for itself.
                    if self.nodes.is_empty() {
                        self.say(&trouble).await;
                        tokio::time::sleep(backoff(self.interval, failures)).await;
                        continue;
                    }
                    self.say_of_sentinels(Some(&trouble)).await;
                    if let Some(report) = untold.take() {
                        self.take(report, &access, &board).await;
                    }
                }
            }
            let has_sentinels = self.spec.sentinel.is_some();
            let patience = if has_sentinels { SENTINELS_AGAIN_AFTER } else { SEEDS_AGAIN_AFTER };
            while let Ok(Some(report)) = tokio::time::timeout(patience, news.recv()).await {
                match report {
                    Report::Refused(trouble) => return trouble,
                    // An old primary that is back takes itself for one until Sentinels tell it otherwise.
                    Report::Standalone { .. } if has_sentinels => {
                        untold = Some(report);
                        break;
                    }
                    report => self.take(report, &access, &board).await,
                }
            }
        }
    }

    /// Whether seeds that refuse us end all: servers have the password that nodes have, Sentinels one of their own.
    fn is_lost_without_seeds(&self) -> bool {
        self.spec.sentinel.is_none() || self.nodes.is_empty()
    }

    /// Says that no Sentinel answers any more, or that one does again; nodes are watched all the same.
    async fn say_of_sentinels(&mut self, trouble: Option<&Trouble>) {
        if self.spec.sentinel.is_none() {
            return;
        }
        let mut reading = Reading::new(self.spec.component.clone(), now());
        match trouble {
            Some(trouble) => self.lacks.begin(&mut reading, SENTINELS, &trouble.message, Instant::now()),
            None => self.lacks.end(&mut reading, SENTINELS),
        }
        if !reading.events.is_empty() {
            let _ = self.outlet.readings.send(reading).await;
        }
    }

    async fn say(&self, trouble: &Trouble) {
        let mut reading = Reading::new(self.spec.component.clone(), now());
        reading.faults.push(trouble.to_fault());
        // With the app loop gone there is nobody left to tell.
        let _ = self.outlet.readings.send(reading).await;
    }

    /// Asks the seeds for the shape, each a little after the one before; the first answer counts, and so does a server's
    /// first refusal of the credentials. Of Sentinels only the refusal by all is one.
    async fn ask_seeds(&mut self, access: &Access) -> Result<Report, Trouble> {
        let seeds = self.spec.seeds.clone();
        let mut attempts: FuturesUnordered<_> = (0_u32..)
            .zip(&seeds)
            .map(|(index, seed)| {
                let spec = &self.spec;
                async move {
                    tokio::time::sleep(NEXT_SEED_AFTER * index).await;
                    ask_seed(seed, spec, access).await
                }
            })
            .collect();
        let mut failures = vec![];
        while let Some(answer) = attempts.next().await {
            match answer {
                Ok((report, dial, peer)) => {
                    drop(attempts);
                    if let Some(peer) = peer {
                        self.layout.alias(peer, dial);
                    }
                    return Ok(report);
                }
                Err(trouble) if trouble.kind == FaultKind::Auth && self.spec.sentinel.is_none() => {
                    return Err(trouble);
                }
                Err(trouble) => failures.push(trouble),
            }
        }
        // What may pass comes before what stays: one Sentinel that is out of reach may yet let us in.
        failures.sort_by_key(|trouble| trouble.kind == FaultKind::Auth);
        Err(failures.into_iter().next().unwrap_or_else(|| {
            Trouble::broken(
                FaultKind::Unreachable,
                "no address was given: add a url to this target".to_owned(),
            )
        }))
    }

    async fn take(&mut self, report: Report, access: &Arc<Access>, board: &Arc<Board>) {
        let nodes = &self.nodes;
        self.layout.forget(Instant::now(), |address| {
            let known = nodes.values().find(|node| node.dial.shown == address)?;
            Some(known.pulse.last_answer())
        });
        let Some((topology, dials)) = self.layout.of(&self.spec, report) else { return };
        self.keep_tasks(&topology, dials, access, board);
        let is_news = self
            .last_topology
            .as_ref()
            .is_none_or(|(last, at)| *last != topology || at.elapsed() >= SHAPE_EVERY.mul_f64(0.9));
        let found = Found { topology: topology.clone(), nodes: self.nodes.clone() };
        self.tell.send_replace(Some(found));
        if is_news {
            let mut reading = Reading::new(self.spec.component.clone(), now());
            reading.events.push(Event::Topology(topology.clone()));
            self.last_topology = Some((topology, Instant::now()));
            let _ = self.outlet.readings.send(reading).await;
        }
    }

    /// Starts tasks for nodes that are new, and ends those of nodes that are gone or dialled elsewhere now.
    fn keep_tasks(&mut self, topology: &Topology, dials: Dials, access: &Arc<Access>, board: &Arc<Board>) {
        let many = dials.len() > MANY_NODES;
        let nodes = topology.shards.iter().flat_map(|shard| &shard.nodes);
        let primaries: BTreeSet<&Subject> =
            nodes.filter(|node| node.primary).map(|node| &node.subject).collect();
        let mut wanted = BTreeMap::new();
        for (subject, dial) in dials {
            let Some(dial) = dial else { continue };
            let slowly = many && !primaries.contains(&subject);
            let interval = if slowly { self.interval.max(REPLICA_INTERVAL) } else { self.interval };
            wanted.insert(subject, (dial, interval));
        }
        self.nodes.retain(|subject, node| {
            let stays = wanted
                .get(subject)
                .is_some_and(|(dial, interval)| *dial == node.dial && *interval == node.interval);
            if !stays {
                node.stop.cancel();
            }
            stays
        });
        for (subject, (dial, interval)) in wanted {
            if self.nodes.contains_key(&subject) {
                continue;
            }
            let stop = self.outlet.stop.child_token();
            let node = KnownNode::new(dial, access.clone(), interval, stop.clone());
            let source = NodeSource::new(subject.clone(), &node, board.clone(), self.spec.show_arguments);
            let outlet = Outlet { readings: self.outlet.readings.clone(), stop };
            let jitter = rand::rng().random_range(Duration::ZERO..=interval / 10);
            tokio::spawn(async move {
                tokio::time::sleep(jitter).await;
                spawn(source, interval, outlet);
            });
            self.nodes.insert(subject, node);
        }
    }
}

/// Asks one seed for the shape; also says where it was reached and its address as others may name it.
pub(super) async fn ask_seed(
    seed: &str,
    spec: &RedisSpec,
    access: &Access,
) -> Result<(Report, Dial, Option<String>), Trouble> {
    let (address_map, deadline) = (&spec.address_map, Instant::now() + LONGEST_WAIT);
    let dial = dial_of_seed(seed, address_map)?;
    if let Some((sentinel, access)) = spec.sentinel.as_ref().zip(access.sentinel(seed)) {
        return Ok((ask_sentinel(seed, spec, sentinel, access, deadline).await?, dial, None));
    }
    let (mut connection, text) = greet(&dial, access, deadline).await?;
    let info = Info::parse(&text);
    no_sentinel(&info, &dial)?;
    let peer = connection.peer().map(|peer| write_address(&peer.ip().to_string(), peer.port()));
    if info.is_clustered() {
        let shards = ask_shape(&mut connection, &mut false, deadline).await?;
        return Ok((Report::Cluster { asked_host: dial.asked_host(), shards }, dial, peer));
    }
    let replicas = |info: &Info<'_>| {
        info.replicas.iter().map(|replica| (replica.host.to_owned(), replica.port)).collect()
    };
    let primary = info.text("master_host").zip(info.text("master_port").and_then(|port| port.parse().ok()));
    let report = match primary {
        None => Report::Standalone { primary: dial.clone(), replicas: replicas(&info) },
        Some((host, port)) => {
            // A replica as seed: its primary knows the others. Unreachable, it is still the primary.
            let primary = dial_of(host, port, address_map)?;
            let soon = deadline.min(Instant::now() + Duration::from_secs(2));
            let others = match greet(&primary, access, soon).await {
                Ok((_, text)) => replicas(&Info::parse(&text)),
                Err(trouble) if trouble.kind == FaultKind::Auth => return Err(trouble),
                Err(_) => read_address(peer.as_deref().unwrap_or(seed)).into_iter().collect(),
            };
            Report::Standalone { primary, replicas: others }
        }
    };
    Ok((report, dial, peer))
}

async fn greet(dial: &Dial, access: &Access, deadline: Instant) -> Result<(Connection, String), Trouble> {
    let cost = Arc::new(Cost::default());
    let mut connection = Connection::open(dial, access, &cost, deadline).await?;
    let reply = connection.ask(Command::Info(&[]), deadline).await?;
    match text(&reply) {
        Some(text) => Ok((connection, text.into_owned())),
        None => Err(Trouble::broken(
            FaultKind::Malformed,
            format!("'{}' answers INFO with something else: it may be no Redis", dial.shown),
        )),
    }
}

/// A Sentinel answers INFO as a server does and holds no data: watched as one it would look idle and well.
pub(super) fn no_sentinel(info: &Info<'_>, dial: &Dial) -> Result<(), Trouble> {
    if info.mode() != Some("sentinel") {
        return Ok(());
    }
    let message = format!(
        "'{}' is a Sentinel: write redis+sentinel://HOST:26379/NAME, or give a server that it watches",
        dial.shown
    );
    Err(Trouble::broken(FaultKind::Malformed, message))
}

/// Where a seed is dialled: its own line of the map counts, the one for all announced addresses does not.
pub(super) fn dial_of_seed(seed: &str, address_map: &BTreeMap<String, String>) -> Result<Dial, Trouble> {
    let (host, port) = read(seed)?;
    let shown = write_address(&host, port);
    let (host, port) = address_map.get(&shown).map_or(Ok((host, port)), |mapped| read(mapped))?;
    Ok(Dial { shown, host, port })
}

/// Where an address that somebody announces is dialled.
pub(super) fn dial_of(
    host: &str,
    port: u16,
    address_map: &BTreeMap<String, String>,
) -> Result<Dial, Trouble> {
    let shown = write_address(host, port);
    let place = dialled(address_map, Some(host), port, &shown);
    let (host, port) = place.ok_or_else(|| no_address(&shown))?;
    Ok(Dial { shown, host, port })
}

fn read(address: &str) -> Result<(String, u16), Trouble> {
    read_address(address).ok_or_else(|| no_address(address))
}

fn no_address(text: &str) -> Trouble {
    Trouble::broken(FaultKind::Unreachable, format!("'{text}' is no address: write host:port"))
}
