//! Which requests a GPU serves, as far as anybody tells: rules and panels ask the same, each of the numbers that it has.

use crate::gpu_memory::Growth;
use crate::graph::Graph;
use crate::metric::REQUESTS;
use crate::snapshot::Snapshot;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// The services that a GPU works for.
pub(crate) fn served(graph: &Graph, gpu: &Subject) -> impl Iterator<Item = Subject> {
    graph.above(gpu).into_keys().filter(|caller| caller.kind() == Kind::Service)
}

/// How many GPUs work for a service, one for each instance where each has its own; `parts` gives the subjects that are a
/// component or a part of it and have numbers.
pub(crate) fn gpus_below(
    graph: &Graph,
    service: &Subject,
    parts: impl Fn(&Subject) -> Vec<Subject>,
) -> usize {
    let below = graph.below(service).into_keys();
    let gpus = below.filter(|below| below.kind() == Kind::Gpu);
    gpus.map(|gpu| parts(&gpu).iter().filter(|part| part.address().is_some()).count().max(1)).sum()
}

/// Whether requests are known to have come to this very part of a GPU, and not only to a service that has several: to the
/// instance at its address, or to a service that has no other GPU. `rate` gives the requests a second that whoever it is
/// asked for was seen to get.
fn is_served(
    graph: &Graph,
    part: &Subject,
    parts: impl Fn(&Subject) -> Vec<Subject>,
    rate: impl Fn(&Subject) -> Option<f64>,
) -> bool {
    served(graph, &part.component_of()).any(|service| {
        let all = parts(&service);
        let own = all.iter().filter(|by| by.address().is_some() && by.address() == part.address());
        match own.filter_map(&rate).next() {
            Some(rate) => rate > 0.0,
            None => {
                all.iter().filter_map(&rate).any(|rate| rate > 0.0)
                    && gpus_below(graph, &service, &parts) <= 1
            }
        }
    })
}

/// Whether the growth of the memory of a part of a GPU may be a server that loads: it did not stand still before, and nothing
/// is known to have been served here from its beginning on. `rate` gives requests a second between two moments.
pub(crate) fn may_load(
    graph: &Graph,
    part: &Subject,
    growth: &Growth,
    parts: impl Fn(&Subject) -> Vec<Subject>,
    rate: impl Fn(&Subject, Moment, Moment) -> Option<f64>,
) -> bool {
    let (from, to) = (growth.from.at, growth.from.at + growth.to.at.since(growth.from.at) / 3);
    !growth.is_no_load && !is_served(graph, part, parts, |by| rate(by, from, to))
}

impl Snapshot {
    /// Whether the growth of the memory of a part of a GPU may be a server that loads, as the rules about it take it.
    pub fn may_load(&self, part: &Subject, growth: &Growth) -> bool {
        let parts = |of: &Subject| self.history.parts(of).cloned().collect();
        let rate = |by: &Subject, from, to| {
            self.history.trace(by, REQUESTS, None).and_then(|trace| trace.mean_between(from, to))
        };
        may_load(&self.graph, part, growth, parts, rate)
    }
}
