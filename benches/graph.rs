//! What a graph of two hundred components costs: to build, to walk, to lay out.

use std::collections::BTreeSet;
use std::hint::black_box;

use criterion::Criterion;
use headwater_engine::graph::Graph;
use headwater_engine::graph::layout::Layout;
use headwater_engine::reading::{Call, Origin};
use headwater_engine::{Kind, Settings, Subject};

const COMPONENTS: usize = 200;

fn main() {
    let settings = Settings { calls: calls(), ..Settings::default() };
    let seen = BTreeSet::new();
    let graph = Graph::new(&settings, &seen);
    let components: Vec<Subject> = graph.components().cloned().collect();
    assert_eq!(components.len(), COMPONENTS);
    let mut criterion = Criterion::default().configure_from_args();
    let name = format!("graph, {COMPONENTS} components, {} calls", graph.edges().count());
    let mut group = criterion.benchmark_group(name);
    group.bench_function("build", |bencher| bencher.iter(|| Graph::new(black_box(&settings), &seen)));
    group.bench_function("walk from every component, down and up", |bencher| {
        bencher.iter(|| {
            let reached = components.iter().map(|one| graph.below(one).len() + graph.above(one).len());
            reached.sum::<usize>()
        });
    });
    group.bench_function("order of the visit", |bencher| bencher.iter(|| graph.dependencies_first()));
    group.bench_function("layout", |bencher| bencher.iter(|| Layout::of(black_box(&graph), |_| true)));
    group.finish();
}

/// Each component calls two or three of those after it, most of them near, and every twentieth calls one before it: the
/// shape of a large shop, with circles. No chance is in it, so that each run is the same.
fn calls() -> Vec<Call> {
    let named = |place: usize| Subject::component(Kind::Service, &format!("s{place:03}"));
    let mut calls = vec![];
    for caller in 0..COMPONENTS {
        let mut far = caller * 7 + 3;
        for step in 1..=2 + caller % 2 {
            far = (far * 31 + step * 17) % 97;
            let callee = caller + 1 + far % 40;
            if callee < COMPONENTS {
                calls.push((caller, callee));
            }
        }
        if caller % 20 == 19 {
            calls.push((caller, caller - 10));
        }
    }
    let call =
        |(caller, callee)| Call { caller: named(caller), callee: named(callee), origin: Origin::Observed };
    calls.push((COMPONENTS - 2, COMPONENTS - 1));
    calls.into_iter().map(call).collect()
}
