//! A component with those who call it and those whom it calls, for graphs that do not fit.

use headwater_engine::Subject;
use headwater_engine::graph::Graph;
use headwater_engine::graph::layout::{Layout, Slot, Wire};

/// A neighbourhood in three layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Near {
    pub(super) layout: Layout,
    /// Callers and callees that had no room.
    pub(super) left_out: [usize; 2],
}

/// The neighbourhood of a component, of `keep` alone, with `most` on each side; those first whose `rank` is least.
pub(super) fn near<R: Ord>(
    graph: &Graph,
    middle: &Subject,
    most: usize,
    keep: impl Fn(&Subject) -> bool,
    rank: impl Fn(&Subject) -> R,
) -> Near {
    let side = |all: Vec<&Subject>| -> (Vec<Subject>, usize) {
        let mut kept: Vec<Subject> = all.into_iter().filter(|one| keep(one)).cloned().collect();
        kept.sort_by_key(&rank);
        let left_out = kept.len().saturating_sub(most);
        kept.truncate(most);
        (kept, left_out)
    };
    let (callers, more_callers) = side(graph.callers(middle).collect());
    let (callees, more_callees) = side(graph.callees(middle).collect());
    let slots = |subjects: &[Subject]| subjects.iter().cloned().map(Slot::Component).collect::<Vec<_>>();
    let mut layout = Layout::default();
    if !callers.is_empty() {
        layout.layers.push(slots(&callers));
    }
    let at = layout.layers.len();
    layout.layers.push(slots(std::slice::from_ref(middle)));
    for (slot, caller) in callers.into_iter().enumerate() {
        layout.wires.push(wire(caller, middle.clone(), [(0, slot), (at, 0)]));
    }
    if !callees.is_empty() {
        layout.layers.push(slots(&callees));
    }
    for (slot, callee) in callees.into_iter().enumerate() {
        layout.wires.push(wire(middle.clone(), callee, [(at, 0), (at + 1, slot)]));
    }
    Near { layout, left_out: [more_callers, more_callees] }
}

fn wire(caller: Subject, callee: Subject, way: [(usize, usize); 2]) -> Wire {
    Wire { caller, callee, is_turned: false, way: way.into() }
}
