//! Who calls whom, from everything that tells of it, and the order in which dependencies are visited.
//!
//! A call is known from the configuration, from traffic that was seen, from a catalogue, from an order of starting, or
//! only supposed because components of these kinds usually call each other. `known` decides which of them count.

mod known;
pub mod layout;
mod names;
mod order;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::loopback::leads_back;
use crate::reading::{Call, Origin};
use crate::settings::Settings;
use crate::subject::{Kind, Subject};
use crate::world::{World, machine_at};

use known::{Calls, Homes, add_usual, keep_the_best, take};
use names::Names;
pub use names::named;

/// The components and the calls between them. Two graphs that say the same are equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// In order, so that a component is found by halving.
    components: Vec<Subject>,
    /// The calls of each component, in the order of the callees.
    calls: Vec<Vec<Edge>>,
    /// The places of each component's callees and callers.
    down: Vec<Vec<usize>>,
    up: Vec<Vec<usize>>,
    dependencies_first: Vec<Subject>,
    cycles: Vec<Vec<Subject>>,
}

/// One call of a [`Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The component that calls.
    pub caller: Subject,
    /// The component that is called.
    pub callee: Subject,
    /// The best of what is known of it.
    pub origin: Origin,
    /// The subjects `edge/A>B` that have numbers about it; several when a component has several names.
    pub measured: Vec<Subject>,
}

/// On which machines services run, by the addresses of their instances; one that leads back may be the end of a tunnel.
fn homes(world: &World) -> Homes {
    let mut homes = Homes::new();
    let is_service = |place: &&Subject| {
        place.kind() == Kind::Service && !world.tells_only_of_others(&place.component_of())
    };
    for instance in world.places().filter(is_service) {
        let machine = instance.address().and_then(machine_at).filter(|machine| !leads_back(machine.name()));
        if let Some(machine) = machine {
            homes.entry(machine).or_default().insert(instance.name().to_owned());
        }
    }
    homes
}

/// Kinds of subjects that are no component of a graph: ways between components, and what only tells of others.
const OUTSIDE: &[Kind] =
    &[Kind::Edge, Kind::Change, Kind::Graph, Kind::Discovery, Kind::Probe, Kind::Log, Kind::Observer];

impl Graph {
    /// About how many bytes it takes beside the names, which others hold as well.
    pub(crate) fn bytes(&self) -> usize {
        let edges: usize = self.calls.iter().map(Vec::len).sum();
        self.components.len() * 128 + edges * 128
    }

    /// The graph of the declared components, of the configuration's imports and of the components that were seen.
    pub fn new(settings: &Settings, seen: &BTreeSet<Subject>) -> Self {
        Self::build(settings, seen, (&[], &[], &Homes::new()), |_| true, || Names::new(settings, seen, []))
    }

    /// The graph of everything that is known.
    pub(crate) fn of(settings: &Settings, world: &World) -> Self {
        let calls: Vec<&Call> = world.calls().collect();
        let seen: BTreeSet<Subject> =
            world.components().into_iter().filter(|one| !world.tells_only_of_others(one)).collect();
        let is_inside = |one: &Subject| !world.tells_only_of_others(one);
        let names = || Names::new(settings, &seen, world.places());
        Self::build(settings, &seen, (&calls, &world.machines(), &homes(world)), is_inside, names)
    }

    fn build<'a>(
        settings: &'a Settings,
        seen: &'a BTreeSet<Subject>,
        (polled, machines, homes): (&[&'a Call], &[(Subject, Subject)], &Homes),
        is_component: impl Fn(&Subject) -> bool,
        names: impl FnOnce() -> Names<'a>,
    ) -> Self {
        let names = names();
        let mut calls: Calls = BTreeMap::new();
        let inside = |subject: &Subject| !OUTSIDE.contains(&subject.kind()) && is_component(subject);
        for component in seen.iter().chain(settings.components.iter().map(|declared| &declared.subject)) {
            if inside(component) {
                calls.entry(names.canonical(component)).or_default();
            }
        }
        for declared in settings.components.iter().filter(|declared| inside(&declared.subject)) {
            for callee in &declared.depends_on {
                take(
                    &mut calls,
                    names.canonical(&declared.subject),
                    names.canonical(callee),
                    Origin::Declared,
                );
            }
        }
        for call in settings.calls.iter().chain(polled.iter().copied()) {
            let (caller, callee) = (names.resolved(&call.caller), names.resolved(&call.callee));
            take(&mut calls, caller, callee, call.origin);
        }
        for edge in seen.iter().filter(|subject| subject.kind() == Kind::Edge) {
            let Some((caller, callee)) = names.ends(edge) else { continue };
            if caller != callee {
                take(&mut calls, caller.clone(), callee.clone(), Origin::Observed);
                let known = calls.get_mut(&caller).and_then(|callees| callees.get_mut(&callee));
                if let Some((_, measured)) = known {
                    measured.push(edge.clone());
                }
            }
        }
        keep_the_best(&mut calls);
        add_usual(&mut calls, homes);
        // A GPU works by the machine in which it sits, whatever else is declared of it.
        for (gpu, machine) in machines {
            let (gpu, machine) = (names.canonical(gpu), names.canonical(machine));
            if calls.contains_key(&gpu) && calls.contains_key(&machine) {
                take(&mut calls, gpu, machine, Origin::Usual);
            }
        }
        Self::finish(calls)
    }

    fn finish(calls: Calls) -> Self {
        let components: Vec<Subject> = calls.keys().cloned().collect();
        let place = |subject: &Subject| components.binary_search(subject).ok();
        let down: Vec<Vec<usize>> =
            calls.values().map(|callees| callees.keys().filter_map(place).collect()).collect();
        let mut up = vec![vec![]; components.len()];
        for (caller, callees) in down.iter().enumerate() {
            for callee in callees {
                up[*callee].push(caller);
            }
        }
        let groups = order::groups(&down);
        let subjects = |places: &[usize]| places.iter().map(|place| components[*place].clone()).collect();
        let mut cycles: Vec<Vec<Subject>> = groups
            .iter()
            .filter(|group| group.len() > 1)
            .map(|group| subjects(&order::cycle(group, &down)))
            .collect();
        cycles.sort();
        let calls = calls
            .into_iter()
            .map(|(caller, callees)| {
                let edge =
                    |(callee, (origin, measured))| Edge { caller: caller.clone(), callee, origin, measured };
                callees.into_iter().map(edge).collect()
            })
            .collect();
        Self { dependencies_first: subjects(&groups.concat()), cycles, calls, down, up, components }
    }

    /// Every component, in order.
    pub fn components(&self) -> impl Iterator<Item = &Subject> {
        self.components.iter()
    }

    /// What a component calls.
    pub fn callees(&self, caller: &Subject) -> impl Iterator<Item = &Subject> {
        self.calls_of(caller).iter().map(|edge| &edge.callee)
    }

    /// Who calls a component.
    pub fn callers(&self, callee: &Subject) -> impl Iterator<Item = &Subject> {
        self.place(callee)
            .into_iter()
            .flat_map(|place| &self.up[place])
            .map(|caller| &self.components[*caller])
    }

    /// Every call, in the order of callers and then of callees.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.calls.iter().flatten()
    }

    /// One call; `None` when there is none.
    pub fn edge(&self, caller: &Subject, callee: &Subject) -> Option<&Edge> {
        let calls = self.calls_of(caller);
        calls.binary_search_by(|edge| edge.callee.cmp(callee)).ok().map(|place| &calls[place])
    }

    /// Calls that lead back to where they came from, one way round for each group of components that reach each other:
    /// each component once, the last calls the first.
    pub fn cycles(&self) -> &[Vec<Subject>] {
        &self.cycles
    }

    /// Every component that `root` calls, directly or not, with its distance; a cycle is walked once.
    pub fn below(&self, root: &Subject) -> BTreeMap<Subject, usize> {
        self.walk(root, &self.down)
    }

    /// Every component that calls `root`, directly or not, with its distance.
    pub fn above(&self, root: &Subject) -> BTreeMap<Subject, usize> {
        self.walk(root, &self.up)
    }

    /// The shortest way along calls from one component to another, both included; `None` when there is none.
    pub fn way(&self, from: &Subject, to: &Subject) -> Option<Vec<Subject>> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        let way = order::way(from, to, &self.down)?;
        Some(way.into_iter().map(|place| self.components[place].clone()).collect())
    }

    /// The components in the order of the visit: deepest dependency first, callers after what they call. Of those
    /// that call each other in a circle, the first that is met from outside comes last.
    pub fn dependencies_first(&self) -> Vec<Subject> {
        self.dependencies_first.clone()
    }

    /// The places of each component's callees, in the order of [`Graph::components`].
    pub(crate) fn down(&self) -> &[Vec<usize>] {
        &self.down
    }

    fn place(&self, subject: &Subject) -> Option<usize> {
        self.components.binary_search(subject).ok()
    }

    fn calls_of(&self, caller: &Subject) -> &[Edge] {
        self.place(caller).map_or(&[], |place| &self.calls[place])
    }

    fn walk(&self, root: &Subject, next: &[Vec<usize>]) -> BTreeMap<Subject, usize> {
        let Some(start) = self.place(root) else { return BTreeMap::from([(root.clone(), 0)]) };
        let mut distances = vec![None; self.components.len()];
        distances[start] = Some(0);
        let mut queue = VecDeque::from([start]);
        while let Some(component) = queue.pop_front() {
            let distance = distances[component].map(|distance: usize| distance + 1);
            for neighbour in &next[component] {
                if distances[*neighbour].is_none() {
                    distances[*neighbour] = distance;
                    queue.push_back(*neighbour);
                }
            }
        }
        self.components.iter().zip(distances).filter_map(|(one, at)| Some((one.clone(), at?))).collect()
    }
}

#[cfg(test)]
mod tests;
