//! Where each component stands when the graph is drawn: layers from the entry points on, callers before what they
//! call, and within a layer an order in which few lines cross.
//!
//! The way of Sugiyama, Tagawa and Toda (1981): calls that close a circle are turned round, each component stands one
//! layer after the last of its callers, a call that skips layers takes a place in each, and a few sweeps put everything
//! beside the mean of its neighbours. Nothing depends on anything but the graph, so the same graph looks the same.

use super::Graph;
use crate::subject::{KINDS, Subject};

/// Sweeps down and up again; more change little.
const SWEEPS: usize = 4;

/// A graph in layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The layers, callers first; each from top to bottom.
    pub layers: Vec<Vec<Slot>>,
    /// The calls that are drawn.
    pub wires: Vec<Wire>,
}

/// A place in a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// A component.
    Component(Subject),
    /// The wire of this number passes through here on its way to a later layer.
    Passing(usize),
}

/// A call with the places of its way: (layer, slot), from the earlier layer to the later.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// The component that calls.
    pub caller: Subject,
    /// The component that is called.
    pub callee: Subject,
    /// Whether it was turned round, because it closes a circle: its way begins at the callee.
    pub is_turned: bool,
    /// Its places, at least two.
    pub way: Vec<(usize, usize)>,
}

impl Layout {
    /// The layout of the components that `keep` keeps, with the calls between them.
    pub fn of(graph: &Graph, keep: impl Fn(&Subject) -> bool) -> Self {
        let kept: Vec<usize> =
            graph.components().enumerate().filter(|(_, one)| keep(one)).map(|(place, _)| place).collect();
        let down: Vec<Vec<usize>> = kept
            .iter()
            .map(|place| {
                graph.down()[*place].iter().filter_map(|callee| kept.binary_search(callee).ok()).collect()
            })
            .collect();
        let subjects: Vec<&Subject> = graph.components().collect();
        let subjects: Vec<&Subject> = kept.iter().map(|place| subjects[*place]).collect();
        let arrows = without_circles(&down, &subjects);
        let layer_of = layers(&arrows, subjects.len());
        Sketch::new(&arrows, &layer_of).ordered().finish(&arrows, &subjects)
    }

    /// The place of a component: its layer and its slot.
    pub fn place(&self, subject: &Subject) -> Option<(usize, usize)> {
        self.layers.iter().enumerate().find_map(|(layer, slots)| {
            let is_it = |slot: &Slot| matches!(slot, Slot::Component(one) if one == subject);
            Some((layer, slots.iter().position(is_it)?))
        })
    }

    /// Every component, layer by layer.
    pub fn components(&self) -> impl Iterator<Item = &Subject> {
        self.layers.iter().flatten().filter_map(|slot| match slot {
            Slot::Component(subject) => Some(subject),
            Slot::Passing(_) => None,
        })
    }
}

/// A call between two components by their places, turned round where it would close a circle.
struct Arrow {
    from: usize,
    to: usize,
    is_turned: bool,
}

/// The calls, those that lead back to where a walk from the entry points came from turned round.
fn without_circles(down: &[Vec<usize>], subjects: &[&Subject]) -> Vec<Arrow> {
    let mut has_caller = vec![false; down.len()];
    for callee in down.iter().flatten() {
        has_caller[*callee] = true;
    }
    let kind = |place: usize| KINDS.iter().position(|(kind, _)| *kind == subjects[place].kind());
    let mut roots: Vec<usize> = (0..down.len()).collect();
    roots.sort_by_key(|place| (has_caller[*place], kind(*place), *place));
    // On the way, left behind, or not met yet.
    let mut state = vec![None; down.len()];
    let mut arrows = vec![];
    for root in roots {
        if state[root].is_some() {
            continue;
        }
        state[root] = Some(true);
        let mut steps = vec![(root, 0)];
        while let Some((here, next)) = steps.last_mut() {
            let here = *here;
            let Some(callee) = down[here].get(*next).copied() else {
                state[here] = Some(false);
                steps.pop();
                continue;
            };
            *next += 1;
            let is_turned = state[callee] == Some(true);
            let (from, to) = if is_turned { (callee, here) } else { (here, callee) };
            arrows.push(Arrow { from, to, is_turned });
            if state[callee].is_none() {
                state[callee] = Some(true);
                steps.push((callee, 0));
            }
        }
    }
    arrows.sort_by_key(|arrow| (arrow.from, arrow.to));
    arrows
}

/// The layer of each component: one after the last of its callers.
fn layers(arrows: &[Arrow], count: usize) -> Vec<usize> {
    let mut waits_for = vec![0; count];
    let mut callees = vec![vec![]; count];
    for arrow in arrows {
        waits_for[arrow.to] += 1;
        callees[arrow.from].push(arrow.to);
    }
    let mut layer_of = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|place| waits_for[*place] == 0).collect();
    while let Some(here) = ready.pop() {
        for callee in &callees[here] {
            layer_of[*callee] = layer_of[*callee].max(layer_of[here] + 1);
            waits_for[*callee] -= 1;
            if waits_for[*callee] == 0 {
                ready.push(*callee);
            }
        }
    }
    layer_of
}

/// Components and passing wires as numbers, in layers, with their neighbours on both sides.
struct Sketch {
    layers: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The numbers that each wire goes through.
    ways: Vec<Vec<usize>>,
    components: usize,
}

impl Sketch {
    fn new(arrows: &[Arrow], layer_of: &[usize]) -> Self {
        let depth = layer_of.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layers = vec![vec![]; depth];
        for (place, layer) in layer_of.iter().enumerate() {
            layers[*layer].push(place);
        }
        let mut next = layer_of.len();
        let mut ways = vec![];
        for arrow in arrows {
            let mut way = vec![arrow.from];
            for layer in &mut layers[layer_of[arrow.from] + 1..layer_of[arrow.to]] {
                layer.push(next);
                way.push(next);
                next += 1;
            }
            way.push(arrow.to);
            ways.push(way);
        }
        let (mut before, mut after) = (vec![vec![]; next], vec![vec![]; next]);
        for pair in ways.iter().flat_map(|way| way.windows(2)) {
            after[pair[0]].push(pair[1]);
            before[pair[1]].push(pair[0]);
        }
        Self { layers, before, after, ways, components: layer_of.len() }
    }

    /// The same with each layer in the order of the means of its neighbours.
    fn ordered(mut self) -> Self {
        let mut height = vec![0.0; self.before.len()];
        let number = |layer: &[usize], height: &mut Vec<f64>| {
            // The middle of each layer lies on one line, so that small layers stand beside the middle of large ones.
            let middle = layer.len() as f64 / 2.0;
            for (at, place) in layer.iter().enumerate() {
                height[*place] = at as f64 + 0.5 - middle;
            }
        };
        for layer in &self.layers {
            number(layer, &mut height);
        }
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            let neighbours = if is_down { &self.before } else { &self.after };
            let depth = self.layers.len();
            for step in 0..depth {
                let layer = &mut self.layers[if is_down { step } else { depth - 1 - step }];
                let mean = |place: usize| {
                    let near = &neighbours[place];
                    let sum: f64 = near.iter().map(|one| height[*one]).sum();
                    if near.is_empty() { height[place] } else { sum / near.len() as f64 }
                };
                let mut means: Vec<(f64, usize)> = layer.iter().map(|place| (mean(*place), *place)).collect();
                means.sort_by(|one, other| one.0.total_cmp(&other.0));
                *layer = means.into_iter().map(|(_, place)| place).collect();
                number(layer, &mut height);
            }
        }
        // What nobody calls and what calls nobody says nothing to the others: it stands below them.
        for layer in &mut self.layers {
            layer.sort_by_key(|place| self.before[*place].is_empty() && self.after[*place].is_empty());
        }
        self
    }

    fn finish(self, arrows: &[Arrow], subjects: &[&Subject]) -> Layout {
        let mut places = vec![(0, 0); self.before.len()];
        let mut wire_of = vec![0; self.before.len()];
        for (wire, way) in self.ways.iter().enumerate() {
            for number in &way[1..way.len() - 1] {
                wire_of[*number] = wire;
            }
        }
        for (layer, numbers) in self.layers.iter().enumerate() {
            for (slot, number) in numbers.iter().enumerate() {
                places[*number] = (layer, slot);
            }
        }
        let slot = |number: &usize| match subjects.get(*number).filter(|_| *number < self.components) {
            Some(subject) => Slot::Component((*subject).clone()),
            None => Slot::Passing(wire_of[*number]),
        };
        let wire = |(arrow, way): (&Arrow, &Vec<usize>)| {
            let (caller, callee) =
                if arrow.is_turned { (arrow.to, arrow.from) } else { (arrow.from, arrow.to) };
            Wire {
                caller: subjects[caller].clone(),
                callee: subjects[callee].clone(),
                is_turned: arrow.is_turned,
                way: way.iter().map(|number| places[*number]).collect(),
            }
        };
        Layout {
            wires: arrows.iter().zip(&self.ways).map(wire).collect(),
            layers: self.layers.iter().map(|layer| layer.iter().map(slot).collect()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::reading::{Call, Origin};
    use crate::settings::Settings;

    fn graph(calls: &[(usize, usize)]) -> Graph {
        let one = |place: &usize| format!("service/s{place:03}").parse().unwrap();
        let calls = calls
            .iter()
            .map(|(caller, callee)| Call {
                caller: one(caller),
                callee: one(callee),
                origin: Origin::Observed,
            })
            .collect();
        Graph::new(&Settings { calls, ..Settings::default() }, &BTreeSet::new())
    }

    fn written(layout: &Layout) -> Vec<Vec<String>> {
        let slot = |slot: &Slot| match slot {
            Slot::Component(subject) => subject.name().to_owned(),
            Slot::Passing(wire) => format!("|{wire}"),
        };
        layout.layers.iter().map(|layer| layer.iter().map(slot).collect()).collect()
    }

    #[test]
    fn a_call_that_skips_a_layer_takes_a_place_in_it() {
        let layout = Layout::of(&graph(&[(0, 1), (1, 2), (0, 2)]), |_| true);
        assert_eq!(written(&layout), [vec!["s000"], vec!["s001", "|1"], vec!["s002"]]);
        assert_eq!(layout.wires[1].way, [(0, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn lines_that_need_not_cross_do_not() {
        let layout = Layout::of(&graph(&[(0, 2), (0, 3), (1, 4), (2, 7), (3, 6), (4, 5)]), |_| true);
        assert_eq!(crossings(&layout), 0, "{:?}", written(&layout));
    }

    #[test]
    fn a_circle_is_cut_where_it_leads_back_to_the_entry() {
        let layout = Layout::of(&graph(&[(0, 1), (1, 2), (2, 1)]), |_| true);
        assert_eq!(written(&layout), [["s000"], ["s001"], ["s002"]]);
        let turned: Vec<&Wire> = layout.wires.iter().filter(|wire| wire.is_turned).collect();
        assert_eq!((turned[0].caller.name(), turned[0].callee.name()), ("s002", "s001"));
        assert_eq!(turned.len(), 1);
    }

    #[test]
    fn what_is_left_out_takes_its_calls_along() {
        let layout = Layout::of(&graph(&[(0, 1), (1, 2)]), |one| one.name() != "s001");
        assert_eq!((layout.components().count(), layout.wires.len()), (2, 0));
        assert_eq!(Layout::of(&Graph::default(), |_| true), Layout::default());
    }

    fn crossings(layout: &Layout) -> usize {
        let pieces: Vec<[(usize, usize); 2]> =
            layout.wires.iter().flat_map(|wire| wire.way.windows(2)).map(|pair| [pair[0], pair[1]]).collect();
        let cross = |one: &[(usize, usize); 2], other: &[(usize, usize); 2]| {
            one[0].0 == other[0].0 && one[0].1 < other[0].1 && one[1].1 > other[1].1
        };
        pieces.iter().map(|one| pieces.iter().filter(|other| cross(one, other)).count()).sum()
    }

    proptest! {
        #[test]
        fn whatever_calls_whom_nothing_overlaps_and_callers_stand_before(
            calls in proptest::collection::vec((0_usize..30, 0_usize..30), 0..90)
        ) {
            let graph = graph(&calls);
            let layout = Layout::of(&graph, |_| true);
            prop_assert_eq!(&layout, &Layout::of(&graph, |_| true));
            let stand: Vec<&Subject> = layout.components().collect();
            let each: BTreeSet<&&Subject> = stand.iter().collect();
            prop_assert_eq!((stand.len(), each.len()), (graph.components().count(), stand.len()));
            prop_assert_eq!(layout.wires.len(), graph.edges().count());
            let places: Vec<(usize, usize)> = layout
                .wires
                .iter()
                .flat_map(|wire| &wire.way[1..wire.way.len() - 1])
                .copied()
                .collect();
            prop_assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len(), "two wires in one place");
            for wire in &layout.wires {
                prop_assert!(wire.way.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "one layer a step");
                let ends = [&wire.caller, &wire.callee].map(|end| layout.place(end));
                let (first, last) = (wire.way.first().copied(), wire.way.last().copied());
                prop_assert_eq!(ends, if wire.is_turned { [last, first] } else { [first, last] });
            }
        }
    }
}
