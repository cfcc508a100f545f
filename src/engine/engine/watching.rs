//! Whom each rule looks at.

use super::Engine;
use crate::rules::{Watches, has_sample};
use crate::scene::Scene;
use crate::subject::{Kind, Subject};

impl Engine {
    /// The subjects that a rule is evaluated on, in order.
    pub(super) fn watched(&self, watches: Watches, scene: &Scene<'_>) -> Vec<Subject> {
        let graph = scene.graph;
        let shards = || self.world.topologies().flat_map(|topology| &topology.shards);
        let mut watched: Vec<Subject> = match watches {
            Watches::Shards => shards().map(|shard| shard.subject.clone()).collect(),
            Watches::SampledShards => {
                let sampled = shards().filter(|shard| has_sample(scene, &shard.subject));
                sampled.map(|shard| shard.subject.clone()).collect()
            }
            Watches::ShardsOrShut => {
                let is_shut = |component: &&Subject| {
                    component.kind() == Kind::Redis
                        && self.world.shards(component).is_empty()
                        && self.world.source(component).is_some_and(|state| state.fault.is_some())
                };
                let shut = graph.components().filter(is_shut).cloned();
                shards().map(|shard| shard.subject.clone()).chain(shut).collect()
            }
            Watches::Nodes => {
                shards().flat_map(|shard| &shard.nodes).map(|node| node.subject.clone()).collect()
            }
            Watches::Components(kinds) => {
                graph.components().filter(|component| kinds.contains(&component.kind())).cloned().collect()
            }
            Watches::Those { kinds, are, .. } => graph
                .components()
                .filter(|component| kinds.contains(&component.kind()) && are(scene, component))
                .cloned()
                .collect(),
            Watches::Instances(kind) => graph
                .components()
                .filter(|component| component.kind() == kind)
                .flat_map(|component| {
                    let instances: Vec<Subject> = self
                        .world
                        .parts(component)
                        .filter(|(part, _)| part.address().is_some())
                        .map(|(part, _)| part.clone())
                        .collect();
                    if instances.len() > 1 { instances } else { vec![] }
                })
                .collect(),
            Watches::InstancesThat { kinds, are, .. } => graph
                .components()
                .filter(|component| kinds.contains(&component.kind()))
                .flat_map(|component| self.world.parts(component))
                .filter(|(part, _)| part.address().is_some() && are(scene, part))
                .map(|(part, _)| part.clone())
                .collect(),
        };
        watched.sort();
        watched
    }
}
