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

/// The GPUs that work for a service by how many each is, one for each instance where each has its own; `parts` gives the
/// subjects that are a component or a part of it and have numbers.
fn counts_below(
    graph: &Graph,
    service: &Subject,
    parts: impl Fn(&Subject) -> Vec<Subject>,
) -> impl Iterator<Item = usize> {
    let below = graph.below(service).into_keys();
    let gpus = below.filter(|below| below.kind() == Kind::Gpu);
    gpus.map(move |gpu| parts(&gpu).iter().filter(|part| part.address().is_some()).count().max(1))
}

/// How many GPUs work for a service, one for each instance where each has its own; `parts` as of [`counts_below`].
pub(crate) fn gpus_below(
    graph: &Graph,
    service: &Subject,
    parts: impl Fn(&Subject) -> Vec<Subject>,
) -> usize {
    counts_below(graph, service, parts).sum()
}

/// Whether at most one GPU works for a service: of a fleet two are looked at.
fn has_one_gpu(graph: &Graph, service: &Subject, parts: impl Fn(&Subject) -> Vec<Subject>) -> bool {
    counts_below(graph, service, parts).take(2).sum::<usize>() <= 1
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
                all.iter().filter_map(&rate).any(|rate| rate > 0.0) && has_one_gpu(graph, &service, &parts)
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::reading::{Call, Origin};
    use crate::settings::Settings;

    #[test]
    fn of_a_fleet_two_gpus_are_looked_at_to_know_that_there_is_more_than_one() {
        let subject = |text: &str| -> Subject { text.parse().unwrap() };
        let service = subject("service/ranker");
        let looks = |count: u32| {
            let calls = (0..count).map(|number| Call {
                caller: service.clone(),
                callee: subject(&format!("gpu/host-{number}:0")),
                origin: Origin::Declared,
            });
            let settings = Settings { calls: calls.collect(), ..Settings::default() };
            let graph = Graph::new(&settings, &BTreeSet::new());
            let looked = Cell::new(0);
            let parts = |of: &Subject| {
                looked.set(looked.get() + 1);
                vec![of.clone()]
            };
            let has_one = has_one_gpu(&graph, &service, parts);
            (has_one, looked.get(), gpus_below(&graph, &service, parts))
        };
        assert_eq!(looks(0), (true, 0, 0));
        assert_eq!(looks(1), (true, 1, 1));
        assert_eq!(looks(1_000), (false, 2, 1_000));
    }
}
