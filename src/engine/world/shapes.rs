//! The shape of each deployment: its shards, what is gone with a new one, and which nodes share a host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::World;
use crate::reading::{Shard, Topology};
use crate::subject::Subject;

impl World {
    /// The Redis deployments that are known.
    pub fn topologies(&self) -> impl Iterator<Item = &Topology> {
        self.topologies.values()
    }

    /// The shape of every deployment, to be held by snapshots.
    pub fn shapes(&self) -> Arc<[Topology]> {
        Arc::clone(&self.shapes)
    }

    /// The shards of a deployment.
    pub fn shards(&self, cluster: &Subject) -> &[Shard] {
        self.topologies.get(cluster).map_or(&[], |topology| &topology.shards)
    }

    /// One shard.
    pub fn shard(&self, subject: &Subject) -> Option<&Shard> {
        let shards = self.shards(&subject.component_of());
        // A shard mostly stands at the place of its number.
        let guess = subject.shard_index().and_then(|index| shards.get(index));
        guess
            .filter(|shard| shard.subject == *subject)
            .or_else(|| shards.iter().find(|shard| shard.subject == *subject))
    }

    /// The nodes of a deployment that share this node's host, itself included.
    pub fn on_its_host(&self, node: &Subject) -> &[Subject] {
        let hosts = self.hosts.get(&node.component_of());
        hosts.and_then(|hosts| hosts.get(host_of(node))).map_or(&[], Vec::as_slice)
    }

    /// The nodes of a deployment by their host.
    pub fn nodes_by_host(&self, cluster: &Subject) -> &BTreeMap<String, Vec<Subject>> {
        const NONE: &BTreeMap<String, Vec<Subject>> = &BTreeMap::new();
        self.hosts.get(cluster).unwrap_or(NONE)
    }

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
fn host_of(node: &Subject) -> &str {
    let address = node.address().unwrap_or_default();
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}
