//! A cluster of real servers.

use crate::{Server, ServerRelease, wait_until};

/// Primaries in the order of their slots, each with its replicas.
#[derive(Debug)]
pub struct Cluster {
    /// One a shard.
    pub primaries: Vec<Server>,
    /// Replica `i` of shard `s` stands at `s * replicas_each + i`.
    pub replicas: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster, evenly split, and waits until every node finds it well.
    ///
    /// # Panics
    /// When it does not come about.
    pub fn start(shards: u16, replicas_each: u16) -> Self {
        Self::start_with(shards, replicas_each, &[])
    }

    /// Starts a cluster whose servers have more options.
    ///
    /// # Panics
    /// When it does not come about.
    pub fn start_with(shards: u16, replicas_each: u16, more: &[&str]) -> Self {
        Self::start_release(ServerRelease::Installed, shards, replicas_each, more)
    }

    /// Starts a cluster of servers of this release.
    ///
    /// # Panics
    /// When there is no such server or the cluster does not come about.
    pub fn start_release(release: ServerRelease, shards: u16, replicas_each: u16, more: &[&str]) -> Self {
        let own = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        let follow = ["--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"];
        // Without the option the bus takes the port ten thousand above; where that is not free another is tried.
        let bus: &[&str] = if release.is_old() { &[] } else { &["--cluster-port", "%PORT%"] };
        let options = [&own[..], &follow, bus, more].concat();
        let start =
            |count: u16| (0..count).map(|_| Server::start_release(release, &options)).collect::<Vec<_>>();
        let cluster = Self { primaries: start(shards), replicas: start(shards * replicas_each) };
        let bound = |shard: u16| u32::from(shard) * 16_384 / u32::from(shards);
        for (shard, server) in (0..).zip(&cluster.primaries) {
            let slots: Vec<_> = (bound(shard)..bound(shard + 1)).map(|slot| slot.to_string()).collect();
            let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
            server.run::<()>(&words.collect::<Vec<_>>());
        }
        let first = &cluster.primaries[0];
        for server in cluster.servers().skip(1) {
            let (port, usual) = (server.port().to_string(), (u32::from(server.port()) + 10_000).to_string());
            let bus = server.option("--cluster-port").unwrap_or(&usual);
            first.run::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]);
        }
        let size = cluster.servers().count();
        for server in cluster.servers() {
            wait_until("every node knows every other", || {
                let nodes: String = server.run(&["CLUSTER", "NODES"]);
                nodes.lines().filter(|line| !line.contains("handshake")).count() == size
            });
        }
        for (index, replica) in cluster.replicas.iter().enumerate() {
            let primary = &cluster.primaries[index / usize::from(replicas_each)];
            let id: String = primary.run(&["CLUSTER", "MYID"]);
            replica.run::<()>(&["CLUSTER", "REPLICATE", &id]);
        }
        for server in cluster.servers() {
            wait_until("every node finds the cluster well and knows who follows whom", || {
                let info: String = server.run(&["CLUSTER", "INFO"]);
                let nodes: String = server.run(&["CLUSTER", "NODES"]);
                let followers = nodes.lines().filter(|line| line.contains("slave")).count();
                info.contains("cluster_state:ok") && followers == cluster.replicas.len()
            });
        }
        for server in cluster.servers().filter(|_| !release.is_old()) {
            wait_until("no node passes for loading any more", || {
                !format!("{:?}", server.run::<redis::Value>(&["CLUSTER", "SHARDS"])).contains("loading")
            });
        }
        for replica in &cluster.replicas {
            wait_until("every replica follows", || replica.info("master_link_status") == "up");
        }
        cluster
    }

    /// All servers, primaries first.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.primaries.iter().chain(&self.replicas)
    }
}
