//! Who calls whom: declared edges first, inferred ones where nothing was declared.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::settings::Settings;
use crate::subject::{Kind, Subject};

/// The components and the edges between them, caller to callee.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    calls: BTreeMap<Subject, BTreeSet<Subject>>,
}

/// Which kinds a component calls when nothing was declared for it.
const USUAL_CALLS: &[(Kind, &[Kind])] = &[
    (Kind::Client, &[Kind::Gateway]),
    (Kind::Gateway, &[Kind::Service]),
    (Kind::Service, &[Kind::Queue, Kind::Redis, Kind::Dependency, Kind::Kafka]),
    (Kind::Queue, &[Kind::Gpu]),
];

impl Graph {
    /// The graph of the declared components and of those that were seen.
    pub fn new(settings: &Settings, seen: &BTreeSet<Subject>) -> Self {
        let mut calls: BTreeMap<Subject, BTreeSet<Subject>> =
            seen.iter().map(|component| (component.clone(), BTreeSet::new())).collect();
        for declared in &settings.components {
            calls.entry(declared.subject.clone()).or_default().extend(declared.depends_on.iter().cloned());
            for callee in &declared.depends_on {
                calls.entry(callee.clone()).or_default();
            }
        }
        let components: Vec<Subject> = calls.keys().cloned().collect();
        for (caller, callees) in &mut calls {
            if callees.is_empty() {
                callees.extend(usual_callees(caller, &components));
            }
        }
        Self { calls }
    }

    /// Every component, in order.
    pub fn components(&self) -> impl Iterator<Item = &Subject> {
        self.calls.keys()
    }

    /// What a component calls.
    pub fn callees(&self, caller: &Subject) -> impl Iterator<Item = &Subject> {
        self.calls.get(caller).into_iter().flatten()
    }

    /// Every component that `root` calls, directly or not, with its distance; a cycle is walked once.
    pub fn below(&self, root: &Subject) -> BTreeMap<Subject, usize> {
        self.walk(root, |component| self.callees(component).cloned().collect())
    }

    /// Every component that calls `root`, directly or not, with its distance.
    pub fn above(&self, root: &Subject) -> BTreeMap<Subject, usize> {
        self.walk(root, |component| {
            self.calls
                .iter()
                .filter(|(_, callees)| callees.contains(component))
                .map(|(c, _)| c.clone())
                .collect()
        })
    }

    fn walk(&self, root: &Subject, next: impl Fn(&Subject) -> Vec<Subject>) -> BTreeMap<Subject, usize> {
        let mut found = BTreeMap::from([(root.clone(), 0)]);
        let mut queue = VecDeque::from([root.clone()]);
        while let Some(component) = queue.pop_front() {
            let distance = found[&component] + 1;
            for neighbour in next(&component) {
                if !found.contains_key(&neighbour) {
                    found.insert(neighbour.clone(), distance);
                    queue.push_back(neighbour);
                }
            }
        }
        found
    }

    /// The components in the order of the visit: deepest dependency first, callers after what they call.
    pub fn dependencies_first(&self) -> Vec<Subject> {
        let mut order = vec![];
        let mut visited = BTreeSet::new();
        for component in self.calls.keys() {
            self.visit(component, &mut visited, &mut order);
        }
        order
    }

    fn visit(&self, component: &Subject, visited: &mut BTreeSet<Subject>, order: &mut Vec<Subject>) {
        if visited.insert(component.clone()) {
            for callee in self.callees(component) {
                self.visit(callee, visited, order);
            }
            order.push(component.clone());
        }
    }
}

/// The components of the usual kinds below `caller`; a client with no gateway calls the services themselves.
/// A queue or a GPU pool belongs to the service of its own name where there is one.
fn usual_callees(caller: &Subject, components: &[Subject]) -> Vec<Subject> {
    let of_kind = |kind: Kind| components.iter().filter(move |c| c.kind() == kind).cloned();
    let kinds =
        USUAL_CALLS.iter().find(|(kind, _)| *kind == caller.kind()).map_or(&[][..], |(_, kinds)| kinds);
    let mut callees: Vec<Subject> = kinds.iter().flat_map(|kind| of_kind(*kind)).collect();
    if caller.kind() == Kind::Client && callees.is_empty() {
        callees.extend(of_kind(Kind::Service));
    }
    let namesake = callees.iter().any(|callee| callee.name() == caller.name());
    callees.retain(|callee| {
        !matches!(callee.kind(), Kind::Queue | Kind::Gpu) || !namesake || callee.name() == caller.name()
    });
    callees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Component;

    fn subjects(names: &[&str]) -> BTreeSet<Subject> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn bare_targets_get_the_usual_edges() {
        let graph = Graph::new(
            &Settings::default(),
            &subjects(&["client/load", "service/a", "service/b", "queue/a", "queue/b", "redis/r"]),
        );
        let below: Vec<_> = graph.callees(&"service/a".parse().unwrap()).map(Subject::as_str).collect();
        assert_eq!(below, ["queue/a", "redis/r"]);
        assert_eq!(graph.callees(&"client/load".parse().unwrap()).count(), 2);
    }

    #[test]
    fn declared_edges_win_and_cycles_are_survived() {
        let mut a = Component::new("service/a".parse().unwrap());
        a.depends_on = vec!["service/b".parse().unwrap()];
        let mut b = Component::new("service/b".parse().unwrap());
        b.depends_on = vec!["service/a".parse().unwrap()];
        let settings = Settings { components: vec![a, b], ..Settings::default() };
        let graph = Graph::new(&settings, &subjects(&["redis/r"]));
        let below = graph.below(&"service/a".parse().unwrap());
        assert_eq!(below.len(), 2, "redis is not reached: the declared edge replaces the inferred ones");
        assert_eq!(graph.dependencies_first().len(), 3);
    }

    #[test]
    fn the_deepest_dependency_is_visited_first() {
        let graph = Graph::new(&Settings::default(), &subjects(&["service/a", "queue/a", "gpu/a"]));
        let order: Vec<_> = graph.dependencies_first().iter().map(|c| c.as_str().to_owned()).collect();
        assert_eq!(order, ["gpu/a", "queue/a", "service/a"]);
    }
}
