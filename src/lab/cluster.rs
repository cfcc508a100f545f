//! A real Redis cluster on loopback: shards of one primary and one replica, each node behind its own link.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::slot::SLOTS;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::LabError;
use super::counters::ServerCounters;
use super::guard::Guard;
use super::link::{Link, Relay};
use super::ports::free_ports;

/// How long the whole cluster may take to form; it takes about two seconds on an idle machine.
const LONGEST_START: Duration = Duration::from_secs(60);

/// How often the cluster is started before the lab gives up, when a server ends at once.
const STARTS: usize = 3;

/// How long a server may take to leave after SIGTERM, before it is killed.
const LONGEST_STOP: Duration = Duration::from_secs(5);

/// How long a server may take to answer the lab itself.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// Redis logs commands that ran longer than this many microseconds: most GETs of 1.8 MB do (66 to 264 were measured),
/// a GET of 2 KB (1 to 16) does only when the processor was taken from it.
const SLOW_COMMAND_MICROSECONDS: u32 = 100;

/// After how long without a word a node is taken for dead.
const NODE_TIMEOUT_MILLISECONDS: &str = "5000";

/// The same while the cluster forms: nodes speak at least every half of it, so they agree the sooner.
const FORMING_TIMEOUT_MILLISECONDS: u32 = 1_000;

/// The running cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    guard: Guard,
    nodes: Vec<Node>,
    shards: usize,
}

/// One server and its link.
#[derive(Debug)]
pub(super) struct Node {
    /// The shard's number, in the order of slots.
    pub(super) shard: usize,
    /// Whether it was started as its shard's primary.
    pub(super) is_primary: bool,
    /// Where the cluster says it is: its link.
    pub(super) announced: SocketAddr,
    /// Its link.
    pub(super) link: Arc<Link>,
    folder: PathBuf,
    port: u16,
    bus_port: u16,
    server: Child,
}

/// The first and last slot of a shard when so many share all slots.
pub(super) fn slots_of_shard(shard: usize, shards: usize) -> (u16, u16) {
    let edge = |i: usize| (i * usize::from(SLOTS) / shards) as u16;
    (edge(shard), edge(shard + 1) - 1)
}

impl Cluster {
    /// Starts the servers, joins them and waits until every node agrees that the cluster is whole.
    pub(super) async fn start(
        shards: usize,
        link_rate: f64,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        require_server().await?;
        for _ in 1..STARTS {
            match Self::try_start(shards, link_rate, stop).await {
                // Another program was faster with one of the ports.
                Err(LabError::ServerEnded { .. }) => {}
                done => return done,
            }
        }
        Self::try_start(shards, link_rate, stop).await
    }

    async fn try_start(shards: usize, link_rate: f64, stop: &CancellationToken) -> Result<Self, LabError> {
        let guard = Guard::start().map_err(|error| LabError::part("the lab's folder", error))?;
        let mut cluster = Self { guard, nodes: vec![], shards };
        // All at once: a port that is free before a server has taken it must not be given to the next one.
        let ports = free_ports(shards * 4).ok_or(LabError::NoFreePorts)?;
        for (node, ports) in ports.chunks(2).enumerate() {
            cluster.start_node(node, (ports[0], ports[1]), link_rate, stop).await?;
        }
        let deadline = Instant::now() + LONGEST_START;
        cluster.join(deadline).await?;
        Ok(cluster)
    }

    /// Every node, primaries first, in the order of slots.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The folder with the servers' configurations and logs.
    pub(super) fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// A connection to the server of a shard's primary itself, past its link.
    pub(super) async fn primary(&self, shard: usize) -> Result<MultiplexedConnection, LabError> {
        self.nodes[shard].connect().await
    }

    /// Empties the slow logs: what was slow while the cluster formed and was filled is no part of its life.
    pub(super) async fn forget_slow_commands(&self) -> Result<(), LabError> {
        for node in &self.nodes {
            admin(&mut node.connect().await?, &["SLOWLOG", "RESET"]).await?;
        }
        Ok(())
    }

    /// Where the server of a shard's primary writes its log.
    pub(super) fn log_of_primary(&self, shard: usize) -> PathBuf {
        self.nodes[shard].folder.join("redis.log")
    }

    /// What every server counted, in the order of nodes, asked past their links.
    pub(super) async fn counters(&self) -> Result<Vec<ServerCounters>, LabError> {
        let mut all = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            all.push(ServerCounters::read(&admin(&mut node.connect().await?, &["INFO", "all"]).await?));
        }
        Ok(all)
    }

    /// Ends every server and removes the folder.
    pub(super) async fn stop(mut self) -> Result<(), LabError> {
        for node in &self.nodes {
            if let Some(pid) = node.server.id().and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
                // It may have ended by itself; then there is nothing to end.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
        }
        let deadline = Instant::now() + LONGEST_STOP;
        for node in &mut self.nodes {
            if tokio::time::timeout_at(deadline, node.server.wait()).await.is_err() {
                let _ = node.server.kill().await;
            }
        }
        let Self { guard, .. } = self;
        guard.all_ended().map_err(|error| LabError::part("the lab's folder", error))
    }

    async fn start_node(
        &mut self,
        node: usize,
        (port, bus_port): (u16, u16),
        link_rate: f64,
        stop: &CancellationToken,
    ) -> Result<(), LabError> {
        let (shard, is_primary) = (node % self.shards, node < self.shards);
        let relay = Relay::listen().await.map_err(|error| LabError::part("a link", error))?;
        let announced = relay.address();
        let folder = self.folder().join(format!("shard-{shard}-{}", if is_primary { "a" } else { "b" }));
        let started = spawn_server(&folder, port, bus_port, announced.port());
        let server = started.map_err(|error| LabError::part("redis-server", error))?;
        if let Some(id) = server.id() {
            self.guard.watch(id).map_err(|error| LabError::part("the guard", error))?;
        }
        let link = relay.forward(port, link_rate, stop.clone());
        self.nodes.push(Node { shard, is_primary, announced, link, folder, port, bus_port, server });
        Ok(())
    }

    async fn join(&mut self, deadline: Instant) -> Result<(), LabError> {
        let mut connections = vec![];
        for node in &mut self.nodes {
            connections.push(node.connect_until(deadline).await?);
        }
        for (shard, connection) in connections.iter_mut().take(self.shards).enumerate() {
            let (first, last) = slots_of_shard(shard, self.shards);
            // An epoch of its own for every primary: they agree on the slots at once.
            admin(connection, &["CLUSTER", "SET-CONFIG-EPOCH", &(shard + 1).to_string()]).await?;
            admin(connection, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]).await?;
        }
        // Every pair at once: by gossip alone it would take seconds until all have heard of all.
        for (position, connection) in connections.iter_mut().enumerate() {
            for node in &self.nodes[position + 1..] {
                let (port, bus_port) = (node.port.to_string(), node.bus_port.to_string());
                admin(connection, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus_port]).await?;
            }
        }
        let all = self.nodes.len();
        for connection in &mut connections {
            wait(deadline, "the nodes did not meet", connection, &["CLUSTER", "NODES"], |text| {
                text.lines().count() == all && !has_flag(text, &["handshake", "fail", "fail?"])
            })
            .await?;
        }
        for (shard, position) in (self.shards..all).enumerate() {
            let primary = admin(&mut connections[shard], &["CLUSTER", "MYID"]).await?;
            admin(&mut connections[position], &["CLUSTER", "REPLICATE", primary.trim()]).await?;
        }
        for connection in &mut connections {
            wait(deadline, "the cluster is not whole", connection, &["CLUSTER", "INFO"], |text| {
                text.contains("cluster_state:ok") && text.contains("cluster_slots_ok:16384")
            })
            .await?;
            let shards = self.shards;
            wait(deadline, "the replicas are not known", connection, &["CLUSTER", "NODES"], |text| {
                text.lines().filter(|line| has_flag(line, &["slave"])).count() == shards
            })
            .await?;
        }
        for connection in &mut connections[self.shards..] {
            wait(deadline, "a replica has no data", connection, &["INFO", "replication"], |text| {
                text.contains("master_link_status:up")
            })
            .await?;
        }
        for connection in &mut connections {
            // In this order: with the short timeout a busy machine could cost a primary its place.
            admin(connection, &["CONFIG", "SET", "cluster-node-timeout", NODE_TIMEOUT_MILLISECONDS]).await?;
            admin(connection, &["CONFIG", "SET", "cluster-replica-no-failover", "no"]).await?;
        }
        Ok(())
    }
}

impl Node {
    async fn connect(&self) -> Result<MultiplexedConnection, LabError> {
        let failed = |error| LabError::redis(&format!("connecting to 127.0.0.1:{}", self.port), error);
        let client = redis::Client::open(("127.0.0.1", self.port)).map_err(failed)?;
        // A server that forks or expires a herd keeps the lab waiting as it keeps everybody.
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(LONGEST_ANSWER))
            .set_response_timeout(Some(LONGEST_ANSWER));
        client.get_multiplexed_async_connection_with_config(&settings).await.map_err(failed)
    }

    async fn connect_until(&mut self, deadline: Instant) -> Result<MultiplexedConnection, LabError> {
        loop {
            let connected = self.connect_to_own().await;
            if let Ok(Some(_)) = self.server.try_wait() {
                let log = std::fs::read_to_string(self.folder.join("redis.log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or("nothing in its log").to_owned();
                return Err(LabError::ServerEnded { port: self.port, last });
            }
            match connected {
                Ok(Some(connection)) => return Ok(connection),
                Err(error) if Instant::now() >= deadline => return Err(error),
                Ok(None) if Instant::now() >= deadline => {
                    let missing = "a server does not listen".to_owned();
                    return Err(LabError::NotFormed { missing, last: format!("port {}", self.port) });
                }
                Ok(None) | Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Connects; `None` when another server answers on this port, which will have kept this one from starting.
    async fn connect_to_own(&self) -> Result<Option<MultiplexedConnection>, LabError> {
        let mut connection = self.connect().await?;
        let info = admin(&mut connection, &["INFO", "server"]).await?;
        let own = self.server.id().map(|id| format!("process_id:{id}"));
        Ok(own.filter(|own| info.lines().any(|line| line == own)).map(|_| connection))
    }
}

/// Says why no server can be started here, if so.
pub async fn require_server() -> Result<(), LabError> {
    let output = match Command::new("redis-server").arg("--version").output().await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LabError::NoRedisServer),
        other => other.map_err(|error| LabError::part("redis-server", error))?,
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("").to_owned();
    let major: Option<u32> = version.split('.').next().and_then(|major| major.parse().ok());
    match major {
        Some(major) if major < 7 => Err(LabError::OldRedisServer(version)),
        _ => Ok(()),
    }
}

fn spawn_server(folder: &Path, port: u16, bus_port: u16, announced: u16) -> io::Result<Child> {
    std::fs::create_dir(folder)?;
    let settings = format!(
        "bind 127.0.0.1\nport {port}\nlogfile redis.log\nsave \"\"\nappendonly no\n\
         cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout {FORMING_TIMEOUT_MILLISECONDS}\n\
         cluster-replica-no-failover yes\n\
         cluster-port {bus_port}\ncluster-announce-ip 127.0.0.1\ncluster-announce-port {announced}\n\
         cluster-announce-bus-port {bus_port}\nrepl-diskless-sync-delay 0\n\
         slowlog-log-slower-than {SLOW_COMMAND_MICROSECONDS}\n"
    );
    std::fs::write(folder.join("redis.conf"), settings)?;
    // A process group of its own: a ctrl-c in the terminal ends the lab, which then ends its servers in order.
    Command::new("redis-server")
        .arg("redis.conf")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Whether any line of CLUSTER NODES has one of these flags; they are the third field.
fn has_flag(lines: &str, flags: &[&str]) -> bool {
    let all = lines.lines().filter_map(|line| line.split(' ').nth(2)).flat_map(|field| field.split(','));
    all.into_iter().any(|flag| flags.contains(&flag))
}

async fn admin(connection: &mut MultiplexedConnection, words: &[&str]) -> Result<String, LabError> {
    ask(connection, words).await.map_err(|error| LabError::redis(&words.join(" "), error))
}

async fn ask(connection: &mut MultiplexedConnection, words: &[&str]) -> redis::RedisResult<String> {
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(word);
    }
    command.query_async(connection).await
}

/// Asks until the answer is good; says what is missing once the deadline is over.
async fn wait(
    deadline: Instant,
    missing: &str,
    connection: &mut MultiplexedConnection,
    words: &[&str],
    good: impl Fn(&str) -> bool,
) -> Result<(), LabError> {
    let mut last = String::new();
    while Instant::now() < deadline {
        match ask(connection, words).await {
            Ok(text) if good(&text) => return Ok(()),
            Ok(text) => last = text,
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(LabError::NotFormed { missing: missing.to_owned(), last })
}
