//! What reports say, put together over time: numbers that stay, and standalone nodes that are not forgotten.

use std::collections::BTreeMap;

use headwater_engine::reading::{NodeHealth, Topology};

use super::board::Report;
use super::connection::Dial;
use super::shape::{Dials, ShardNumbers, Viewpoint, lay_out, read_address, write_address};
use super::spec::RedisSpec;
use super::topology::{Host, SeenNode, SeenShard};

/// The memory behind a target's shape.
#[derive(Debug, Default)]
pub(super) struct Layout {
    numbers: ShardNumbers,
    /// Standalone nodes by the address that others give for them: a seed may be known by its name.
    aliases: BTreeMap<String, Dial>,
    /// Standalone nodes seen so far; one that its primary no longer lists is still watched.
    standalone: BTreeMap<String, SeenNode>,
}

impl Layout {
    /// Notes that a node dialled by name is the one that others give this address.
    pub(super) fn alias(&mut self, address: String, dial: Dial) {
        self.aliases.insert(address, dial);
    }

    /// The shape by this report and where each node is dialled; `None` when the report is about something else.
    pub(super) fn of(&mut self, spec: &RedisSpec, report: Report) -> Option<(Topology, Dials)> {
        let (clustered, asked_host, shards) = match report {
            Report::Cluster { asked_host, shards } => (true, asked_host, shards),
            Report::Standalone { primary, replicas } => {
                let host = primary.host.clone();
                (false, host, vec![self.standalone_shard(primary, replicas)])
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

    fn standalone_shard(&mut self, primary: Dial, replicas: Vec<(String, u16)>) -> SeenShard {
        for node in self.standalone.values_mut() {
            // Known from before, not listed now: watched on, but nobody vouches for it.
            node.primary = false;
            node.health = NodeHealth::Unknown;
        }
        for (host, port) in replicas {
            let address = write_address(&host, port);
            self.note(&address, host, port, false);
        }
        let (host, port) = read_address(&primary.shown).unwrap_or((primary.host, primary.port));
        self.note(&primary.shown, host, port, true);
        let mut nodes: Vec<_> = self.standalone.values().cloned().collect();
        nodes.sort_by_key(|node| !node.primary);
        SeenShard { slots: vec![], nodes }
    }

    fn note(&mut self, address: &str, host: String, port: u16, primary: bool) {
        let known =
            self.aliases.get(address).and_then(|dial| Some((dial.shown.clone(), read_address(&dial.shown)?)));
        let (id, (host, port)) = known.unwrap_or_else(|| (address.to_owned(), (host, port)));
        let (host, health) = (Host::Known(host), NodeHealth::Online);
        self.standalone
            .insert(id.clone(), SeenNode { id, host, ip: None, port, tls_port: None, primary, health });
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
}
