//! The shape of each deployment: what is gone with a new one, and which nodes share a host.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use crate::reading::Topology;
use crate::subject::Subject;

impl World {
    /// Takes a deployment's new shape; returns the nodes that are in it no more.
    pub(super) fn replace_topology(&mut self, topology: &Topology) -> Vec<Subject> {
        let nodes = |topology: &Topology| -> BTreeSet<Subject> {
            topology.shards.iter().flat_map(|shard| &shard.nodes).map(|node| node.subject.clone()).collect()
        };
        let now = nodes(topology);
        let gone: Vec<_> = self
            .topologies
            .get(&topology.cluster)
            .map(|before| nodes(before).difference(&now).cloned().collect())
            .unwrap_or_default();
        for node in &gone {
            self.sources.remove(node);
            self.slow.remove(node);
            self.data.remove(node);
            self.views.remove(node);
            self.keyspace.remove(node);
            self.starts.remove(node);
            self.rhythms.note(node, None);
        }
        let shards: BTreeSet<&Subject> = topology.shards.iter().map(|shard| &shard.subject).collect();
        self.keyspace.keep_shards(&topology.cluster, |shard| shards.contains(shard));
        let mut hosts: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
        for node in topology.shards.iter().flat_map(|shard| &shard.nodes) {
            hosts.entry(host_of(&node.subject).to_owned()).or_default().push(node.subject.clone());
        }
        self.hosts.insert(topology.cluster.clone(), hosts);
        self.topologies.insert(topology.cluster.clone(), topology.clone());
        self.shapes = self.topologies.values().cloned().collect();
        gone
    }

    /// Forgets a deployment that has no node any more.
    pub(super) fn forget_topology(&mut self, cluster: &Subject) {
        self.topologies.remove(cluster);
        self.hosts.remove(cluster);
        self.shapes = self.topologies.values().cloned().collect();
    }
}

/// The host in a node's address.
pub(super) fn host_of(node: &Subject) -> &str {
    let address = node.address().unwrap_or_default();
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}
