//! Which requests a GPU serves, as far as anybody tells: rules and panels ask the same, each of the numbers that it has.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::gpu_memory::Growth;
use crate::graph::Graph;
use crate::metric::{GPU_PROCESS_MEMORY, REQUESTS};
use crate::snapshot::Snapshot;
use crate::store::{Seen, Trace};
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
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

/// The id and name of a process as a tool tells them, with what it held.
type Process<'a> = (Option<&'a RemoteText>, &'a Trace);

/// A process that comes to a GPU loads for so long at most; one that loads for longer is judged as any other.
const ARRIVING: Duration = Duration::from_secs(300);

/// Processes that were first seen at once were there before anybody looked.
const AT_ONCE: Duration = Duration::from_secs(10);

/// What is known of the memory of one process was told so lately.
const TOLD_LATELY: Duration = Duration::from_secs(30);

/// What is known of the memory of one process, by whichever tools tell of it.
struct Holder {
    since: Moment,
    last: Seen,
}

/// Processes by their ids with what they held, up to a moment. Tools call one process differently, as by its whole path, so
/// that what another tells from now on is of a process that was there before.
fn holders<'a>(each: impl Iterator<Item = Process<'a>>, until: Moment) -> BTreeMap<&'a str, Holder> {
    let mut holders: BTreeMap<&str, Holder> = BTreeMap::new();
    for (part, trace) in each {
        let first = trace.fine_bins().next().map(|bin| bin.start).into_iter();
        let since = first.chain(trace.oldest().map(|seen| seen.at)).min();
        let Some((since, last)) = since.zip(trace.latest_at(until)) else { continue };
        let id = part.and_then(|part| part.as_str().split(' ').next()).unwrap_or_default();
        let known = holders.entry(id).or_insert(Holder { since, last });
        known.since = known.since.min(since);
        if last.at > known.last.at {
            known.last = last;
        }
    }
    holders
}

/// Whether a process that came to the others of a GPU lately holds most of what its memory grew by; `each` is what each process
/// held. Where nobody has told of the others since it came, it is the same ones as another tool counts them.
fn is_arrival<'a>(growth: &Growth, each: impl Iterator<Item = Process<'a>>) -> bool {
    let holders = holders(each, growth.to.at);
    let gained = growth.to.value - growth.from.value;
    holders.values().any(|new| {
        let is_beside_another =
            holders.values().any(|one| one.since + AT_ONCE < new.since && one.last.at >= new.since);
        is_beside_another
            && new.last.at >= growth.to.at - TOLD_LATELY
            && new.since + ARRIVING >= growth.to.at
            && new.last.value >= gained / 2.0
    })
}

/// Whether the growth of the memory of a part of a GPU may be a server that loads: it came to the processes there lately; or
/// memory did not stand still before, and nothing is known to have been served here from its beginning on. `rate` gives requests
/// a second between two moments, `each` is what each process on the part held.
pub(crate) fn may_load<'a>(
    graph: &Graph,
    part: &Subject,
    growth: &Growth,
    parts: impl Fn(&Subject) -> Vec<Subject>,
    rate: impl Fn(&Subject, Moment, Moment) -> Option<f64>,
    each: impl Iterator<Item = Process<'a>>,
) -> bool {
    if is_arrival(growth, each) {
        return true;
    }
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
        let each = self.history.traces(part).filter(|(name, ..)| **name == GPU_PROCESS_MEMORY.into());
        may_load(&self.graph, part, growth, parts, rate, each.map(|(_, part, trace)| (part, trace)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::reading::{Call, Origin, Reading, Value};
    use crate::settings::Settings;
    use crate::store::Store;

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

    /// Whether a process arrives, of those that were each told of from one second to another, in gigabytes at the end.
    fn arrives(processes: &[(&str, (i64, i64), f64)]) -> bool {
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        for second in 0..120 {
            let mut reading = Reading::new("host/host-a".parse().unwrap(), Moment(second * 1_000));
            for (name, (from, to), holds) in processes {
                if (*from..*to).contains(&second) {
                    reading.part(&gpu, GPU_PROCESS_MEMORY, name, Value::Gauge(holds * 1e9));
                }
            }
            store.take(&reading, false, None);
        }
        let seen = |second: i64, value| Seen { value, at: Moment(second * 1_000) };
        let growth = Growth {
            per_second: 1e8,
            slope_from: Moment(0),
            is_no_load: true,
            from: seen(0, 8e9),
            to: seen(119, 10e9),
            full_in_s: None,
            full_since: None,
        };
        let names = store.parts(&gpu, GPU_PROCESS_MEMORY);
        let each = names.iter().filter_map(|name| {
            Some((name.as_ref(), store.points(&gpu, GPU_PROCESS_MEMORY, name.as_ref())?.trace()))
        });
        is_arrival(&growth, each)
    }

    #[test]
    fn another_tool_that_tells_of_the_same_processes_brings_none() {
        let old = ("11 ranker", (0, 120), 8.0);
        assert!(arrives(&[old, ("12 embedder", (100, 120), 2.0)]), "a second one");
        assert!(!arrives(&[old, ("12 embedder", (100, 120), 0.2)]), "it holds little");
        assert!(!arrives(&[old, ("12 embedder", (5, 120), 2.0)]), "seen at once");
        let silent = ("11 ranker", (0, 100), 8.0);
        assert!(!arrives(&[silent, ("11 /usr/bin/ranker", (103, 120), 10.0)]), "in its place");
        assert!(!arrives(&[old, ("11 /usr/bin/ranker", (103, 120), 10.0)]), "beside it");
        assert!(!arrives(&[silent, ("7 ranker", (103, 120), 10.0)]), "by the ids of a container");
        let both = ("11 /usr/bin/ranker", (103, 120), 8.0);
        assert!(arrives(&[silent, both, ("12 embedder", (115, 120), 2.0)]), "one that comes after it");
    }
}
