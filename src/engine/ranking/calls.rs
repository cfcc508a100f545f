//! Who can be the cause: what the symptom's subject calls, directly or not, and itself.

use std::collections::{BTreeMap, VecDeque};

/// The candidates, nearest to the symptom first, and the calls between them.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    /// Their names, as they were written.
    pub(super) names: Vec<&'a str>,
    /// How many calls away from the symptom each is.
    pub(super) distance: Vec<usize>,
    /// What each calls; a candidate that calls itself does not depend on itself.
    pub(super) callees: Vec<Vec<usize>>,
    /// Who calls each.
    pub(super) callers: Vec<Vec<usize>>,
    places: BTreeMap<&'a str, usize>,
}

/// Whose number it is that a subject names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A candidate's own.
    Whole(usize),
    /// That of an instance, shard or node of a candidate.
    Part(usize),
    /// That of the calls from one candidate to another.
    Edge(usize, usize),
}

impl<'a> Calls<'a> {
    /// The part of the graph that is reachable from `symptom`.
    pub(super) fn below(symptom: &'a str, calls: &[(&'a str, &'a str)]) -> Self {
        let mut called: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
        let mut written = BTreeMap::new();
        for (caller, callee) in calls {
            called.entry(bare(caller)).or_default().push(callee);
            written.entry(bare(caller)).or_insert(*caller);
        }
        let first = written.get(bare(symptom)).copied().unwrap_or(symptom);
        let mut found = Self {
            names: vec![first],
            distance: vec![0],
            callees: vec![],
            callers: vec![],
            places: BTreeMap::from([(bare(symptom), 0)]),
        };
        let mut queue = VecDeque::from([0]);
        let mut edges = vec![];
        while let Some(caller) = queue.pop_front() {
            for callee in called.get(bare(found.names[caller])).into_iter().flatten() {
                let place = *found.places.entry(bare(callee)).or_insert_with(|| {
                    found.names.push(callee);
                    found.distance.push(found.distance[caller] + 1);
                    queue.push_back(found.names.len() - 1);
                    found.names.len() - 1
                });
                if place != caller {
                    edges.push((caller, place));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        found.callees = vec![vec![]; found.names.len()];
        found.callers = vec![vec![]; found.names.len()];
        for (caller, callee) in edges {
            found.callees[caller].push(callee);
            found.callers[callee].push(caller);
        }
        found
    }

    /// How many candidates there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Every call between candidates.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let callees = self.callees.iter().enumerate();
        callees.flat_map(|(caller, callees)| callees.iter().map(move |callee| (caller, *callee)))
    }

    /// Whose number `subject` is; `None` where it is out of the symptom's reach.
    pub(super) fn owner(&self, subject: &str) -> Option<Owner> {
        if let Some(place) = self.places.get(bare(subject)) {
            return Some(Owner::Whole(*place));
        }
        if let Some(ends) = subject.strip_prefix("edge/") {
            // A name may hold the sign itself: every place where it could divide is tried.
            return ends.match_indices('>').find_map(|(at, _)| {
                let end = |name: &str| match self.owner(name)? {
                    Owner::Whole(place) | Owner::Part(place) => Some(place),
                    Owner::Edge(..) => None,
                };
                Some(Owner::Edge(end(&ends[..at])?, end(&ends[at + 1..])?))
            });
        }
        let whole = [subject.split_once('@'), subject.split_once('#')].into_iter().flatten();
        whole.filter_map(|(whole, _)| self.owner(whole)).find_map(|owner| match owner {
            Owner::Whole(place) | Owner::Part(place) => Some(Owner::Part(place)),
            Owner::Edge(..) => None,
        })
    }
}

/// A name without the kind that may stand before it: `service/cart` and `cart` are the same.
fn bare(name: &str) -> &str {
    name.strip_prefix("service/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_what_the_symptom_can_reach() {
        let calls = [
            ("web", "cart"),
            ("cart", "db"),
            ("web", "web"),
            ("web", "cart"),
            ("batch", "db"),
            ("db", "cart"),
        ];
        let below = Calls::below("service/web", &calls);
        assert_eq!(below.names, ["web", "cart", "db"]);
        assert_eq!(below.distance, [0, 1, 2]);
        assert_eq!(below.edges().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 1)]);
        assert_eq!(below.callers[1], [0, 2]);
        assert_eq!(below.len(), 3);
        let alone = Calls::below("elsewhere", &calls);
        assert_eq!((alone.names, alone.callees), (vec!["elsewhere"], vec![vec![]]));
    }

    #[test]
    fn a_number_belongs_to_a_candidate_its_part_or_a_call() {
        let below = Calls::below("web", &[("web", "redis/cart"), ("web", "a>b")]);
        for (subject, owner) in [
            ("web", Some(Owner::Whole(0))),
            ("service/web", Some(Owner::Whole(0))),
            ("service/web@10.0.0.1:80", Some(Owner::Part(0))),
            ("redis/cart#2@10.0.0.2:6379", Some(Owner::Part(1))),
            ("edge/web>redis/cart", Some(Owner::Edge(0, 1))),
            ("edge/web>a>b", Some(Owner::Edge(0, 2))),
            ("edge/web>elsewhere", None),
            ("edge/", None),
            ("elsewhere", None),
            ("", None),
        ] {
            assert_eq!(below.owner(subject), owner, "{subject}");
        }
    }
}
