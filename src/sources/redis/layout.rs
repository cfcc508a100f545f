//! What reports say, put together over time: numbers that stay, and standalone nodes that are not forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{NodeHealth, Topology};

use tokio::time::Instant;

use super::address::{is_socket, read_address, write_address};
use super::board::Report;
use super::connection::Dial;
use super::shape::{Dials, ShardNumbers, Viewpoint, lay_out};
use super::spec::RedisSpec;
use super::topology::{Host, SeenNode, SeenShard};

/// The memory behind a target's shape.
#[derive(Debug, Default)]
pub(super) struct Layout {
    numbers: ShardNumbers,
    /// Standalone nodes by the address that others give for them: a seed may be known by its name.
    aliases: BTreeMap<String, Dial>,
    /// Standalone nodes seen so far; one that its primary no longer lists is still watched.
    standalone: BTreeMap<String, Standalone>,
}

#[derive(Debug)]
struct Standalone {
    node: SeenNode,
    /// When a primary last listed it, or it was the primary.
    listed: Instant,
}

/// How long a standalone node that nobody lists and that does not answer is still watched.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

impl Layout {
    /// Notes that a node dialled by name is the one that others give this address. A name stands for one address
    /// at a time: one that leads to several servers by turns must not make one node of them.
    pub(super) fn alias(&mut self, address: String, dial: Dial) {
        self.aliases.retain(|_, known| *known != dial);
        self.aliases.insert(address, dial);
    }

    /// Forgets standalone nodes that no primary has listed for a while and that have not answered either, given
    /// when an address answered last: replicas may come back under a new address every time.
    pub(super) fn forget(&mut self, now: Instant, last_answer: impl Fn(&str) -> Option<Instant>) {
        let is_recent = |at: Instant| now.duration_since(at) < FORGOTTEN_AFTER;
        self.standalone.retain(|id, known| is_recent(known.listed) || last_answer(id).is_some_and(is_recent));
    }

    /// The shape by this report and where each node is dialled; `None` when the report is about something else.
    pub(super) fn of(&mut self, spec: &RedisSpec, report: Report) -> Option<(Topology, Dials)> {
        let (clustered, asked_host, shards) = match report {
            Report::Cluster { asked_host, shards } => (true, asked_host, shards),
            Report::Standalone { primary, replicas } => {
                let host = primary.asked_host();
                let online = |(host, port)| (host, port, NodeHealth::Online);
                let replicas = replicas.into_iter().map(online).collect();
                (false, host, vec![self.standalone_shard(primary, replicas)])
            }
            Report::Watched { primary, replicas } => {
                (false, primary.asked_host(), vec![self.standalone_shard(primary, replicas)])
            }
            Report::Refused(_) => return None,
        };
        let view = Viewpoint {
            cluster: &spec.component,
            clustered,
            asked_host: &asked_host,
            address_map: &spec.address_map,
            tls: spec.tls.is_some(),
        };
        Some(lay_out(view, self.numbers.number(shards)))
    }

    fn standalone_shard(&mut self, primary: Dial, replicas: Vec<(String, u16, NodeHealth)>) -> SeenShard {
        for known in self.standalone.values_mut() {
            // Known from before, not listed now: watched on, but nobody vouches for it.
            known.node.primary = false;
            known.node.health = NodeHealth::Unknown;
        }
        for (host, port, health) in replicas {
            let address = write_address(&host, port);
            self.note(&address, host, port, false, health);
        }
        let (host, port) = read_address(&primary.shown).unwrap_or((primary.host, primary.port));
        self.note(&primary.shown, host, port, true, NodeHealth::Online);
        let mut nodes: Vec<_> = self.standalone.values().map(|known| known.node.clone()).collect();
        nodes.sort_by_key(|node| !node.primary);
        SeenShard { slots: vec![], nodes }
    }

    fn note(&mut self, address: &str, host: String, port: u16, primary: bool, health: NodeHealth) {
        let known =
            self.aliases.get(address).and_then(|dial| Some((dial.shown.clone(), read_address(&dial.shown)?)));
        let (id, (host, port)) = known.unwrap_or_else(|| (address.to_owned(), (host, port)));
        // A primary is a socket only where we dialled it as one; replicas are what others say of them.
        let is_own = primary && is_socket(&host);
        let host = if is_own { Host::Socket(host) } else { Host::Known(host) };
        let node = SeenNode { id: id.clone(), host, ip: None, port, tls_port: None, primary, health };
        self.standalone.insert(id, Standalone { node, listed: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::{Kind, Subject};

    use super::*;

    fn dial(host: &str) -> Dial {
        Dial { shown: format!("{host}:6379"), host: host.to_owned(), port: 6_379 }
    }

    #[test]
    fn a_seed_known_by_name_is_one_node_and_a_lost_replica_is_not_forgotten() {
        let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![]);
        let mut layout = Layout::default();
        layout.alias("10.0.0.2:6379".to_owned(), dial("replica.example"));
        let report = |primary: &str, replicas: &[&str]| Report::Standalone {
            primary: dial(primary),
            replicas: replicas.iter().map(|host| ((*host).to_owned(), 6_379)).collect(),
        };
        let mut shape = |report| {
            let (topology, _) = layout.of(&spec, report).unwrap();
            let nodes = topology.shards[0].nodes.iter();
            nodes.map(|node| (node.subject.address().unwrap().to_owned(), node.health)).collect::<Vec<_>>()
        };
        let (primary, replica) = ("10.0.0.1:6379".to_owned(), "replica.example:6379".to_owned());
        let online = NodeHealth::Online;
        assert_eq!(
            shape(report("10.0.0.1", &["10.0.0.2"])),
            [(primary.clone(), online), (replica.clone(), online)]
        );
        assert_eq!(
            shape(report("10.0.0.1", &[])),
            [(primary.clone(), online), (replica.clone(), NodeHealth::Unknown)]
        );
        assert_eq!(shape(report("10.0.0.2", &[])), [(replica, online), (primary, NodeHealth::Unknown)]);
    }

    /// The addresses of a standalone deployment's nodes.
    fn addresses(layout: &mut Layout, primary: &str, replicas: &[&str]) -> Vec<String> {
        let spec = RedisSpec::new(Subject::component(Kind::Redis, "features"), vec![]);
        let replicas = replicas.iter().map(|host| ((*host).to_owned(), 6_379)).collect();
        let (topology, _) =
            layout.of(&spec, Report::Standalone { primary: dial(primary), replicas }).unwrap();
        topology.shards[0].nodes.iter().map(|node| node.subject.address().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_name_that_leads_to_several_servers_does_not_make_one_of_them() {
        let mut layout = Layout::default();
        layout.alias("10.0.0.1:6379".to_owned(), dial("redis.example"));
        layout.alias("10.0.0.2:6379".to_owned(), dial("redis.example"));
        let seen = addresses(&mut layout, "10.0.0.1", &["10.0.0.2"]);
        assert_eq!(seen, ["10.0.0.1:6379", "redis.example:6379"]);
    }

    #[test]
    fn a_replica_that_nobody_lists_and_that_is_silent_is_forgotten() {
        let mut layout = Layout::default();
        assert_eq!(addresses(&mut layout, "10.0.0.1", &["10.0.0.2", "10.0.0.3"]).len(), 3);
        let later = Instant::now() + FORGOTTEN_AFTER;
        layout.forget(later - FORGOTTEN_AFTER / 2, |_| None);
        assert_eq!(addresses(&mut layout, "10.0.0.1", &[]).len(), 3, "not so soon");
        layout.forget(later, |address| (address != "10.0.0.2:6379").then_some(later));
        assert_eq!(addresses(&mut layout, "10.0.0.1", &[]), ["10.0.0.1:6379", "10.0.0.3:6379"]);
    }
}
