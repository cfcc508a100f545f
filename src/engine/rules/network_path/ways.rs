//! The calls of a component that both ends time, and what is lost on each of them.

use std::rc::Rc;
use std::time::Duration;

use super::RULE;
use crate::baseline::Baseline;
use crate::graph::Edge;
use crate::metric::{EDGE_CLIENT_DURATION, EDGE_SERVER_DURATION, Metric};
use crate::report::BaselineFrom;
use crate::rules::Limits;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::time::Moment;

/// Requests that a mean needs.
const LEAST_REQUESTS: f64 = 20.0;

/// Seconds over which a present mean is taken.
const PRESENT_S: u64 = 10;

/// Without a past a gap must be this many floors, and this share of the caller's time.
const FLOORS_WITHOUT_PAST: f64 = 10.0;
const SHARE_WITHOUT_PAST: f64 = 0.5;

/// The calls of one component, in either direction, that both ends time.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Those of which enough requests were seen to tell.
    pub(super) gaps: Vec<Gap>,
    /// How many of them lose time: as a share, then as a count.
    pub(super) standing: (f64, usize),
}

impl Ways {
    /// The ways of a component, worked out once an evaluation: both ends of each way ask for those of the other. `None`
    /// where no call of it is timed by both ends.
    pub(super) fn of(scene: &Scene<'_>, component: &Subject) -> Option<Rc<Self>> {
        if let Some(known) = scene.looked.ways.borrow().get(component) {
            return known.clone();
        }
        let ways = Self::look(scene, component).map(Rc::new);
        scene.looked.ways.borrow_mut().insert(component.clone(), ways.clone());
        ways
    }

    fn look(scene: &Scene<'_>, component: &Subject) -> Option<Self> {
        let limits = Limits { rule: &RULE, settings: scene.settings, subject: component };
        let mut calls = calls(scene, component).peekable();
        calls.peek()?;
        let gaps: Vec<Gap> = calls.filter_map(|(edge, way)| Gap::of(scene, edge, way, &limits)).collect();
        let wide = gaps.iter().filter(|gap| gap.is_wide()).count();
        let standing = (wide as f64 / gaps.len().max(1) as f64, wide);
        Some(Self { gaps, standing })
    }
}

/// Whether any call of a component is timed by both ends.
pub(super) fn are_timed(scene: &Scene<'_>, component: &Subject) -> bool {
    calls(scene, component).next().is_some()
}

/// The calls of a component, in either direction, each with the first of its ways that both ends time.
fn calls<'a>(scene: &'a Scene<'_>, component: &'a Subject) -> impl Iterator<Item = (&'a Edge, &'a Subject)> {
    let out = scene.graph.callees(component).map(move |callee| (component, callee));
    let into = scene.graph.callers(component).map(move |caller| (caller, component));
    out.chain(into).filter_map(|(caller, callee)| {
        let edge = scene.graph.edge(caller, callee)?;
        let is_timed = |way: &&Subject| {
            [EDGE_CLIENT_DURATION, EDGE_SERVER_DURATION]
                .into_iter()
                .all(|metric| scene.store.last_scrape(way, metric, None).is_some())
        };
        Some((edge, edge.measured.iter().find(is_timed)?))
    })
}

/// What is lost between a caller's mean and its callee's.
#[derive(Debug)]
pub(super) struct Gap {
    pub(super) caller: Subject,
    pub(super) callee: Subject,
    pub(super) gap: f64,
    /// From which gap on it is wide.
    pub(super) limit: f64,
    pub(super) usual: Option<Baseline>,
    pub(super) at: Moment,
}

impl Gap {
    fn of(scene: &Scene<'_>, edge: &Edge, way: &Subject, limits: &Limits<'_>) -> Option<Self> {
        let at = scene.last_scrape(way, EDGE_CLIENT_DURATION, None)?;
        let from = at - Duration::from_secs(PRESENT_S);
        let (client, server) = means(scene, way, from, at)?;
        let calm = scene.calm.and_then(|(from, to)| means(scene, way, from, to));
        let lifetime = |metric: Metric| {
            let whole = scene.lifetime_distribution(way, metric, None)?;
            whole.mean().filter(|_| whole.count >= LEAST_REQUESTS)
        };
        let remembered = scene
            .remembered_mean(way, EDGE_CLIENT_DURATION, None)
            .zip(scene.remembered_mean(way, EDGE_SERVER_DURATION, None))
            .map(|(client, server)| Baseline::new(client - server, BaselineFrom::History));
        let usual = remembered
            .or_else(|| calm.map(|(client, server)| Baseline::new(client - server, BaselineFrom::Earlier)))
            .or_else(|| {
                let gap = lifetime(EDGE_CLIENT_DURATION)? - lifetime(EDGE_SERVER_DURATION)?;
                Some(Baseline::new(gap, BaselineFrom::Lifetime))
            })
            // Two clocks may differ by a little: a gap is never less than none.
            .map(|usual| Baseline { typical: usual.typical.max(0.0), ..usual });
        let floor = limits.of("floor");
        let limit = match usual {
            Some(usual) => (usual.typical * limits.of("rise")).max(usual.typical + floor),
            None => (floor * FLOORS_WITHOUT_PAST).max(client * SHARE_WITHOUT_PAST),
        };
        let (caller, callee) = (edge.caller.clone(), edge.callee.clone());
        Some(Self { caller, callee, gap: client - server, limit, usual, at })
    }

    pub(super) fn is_wide(&self) -> bool {
        self.gap >= self.limit
    }
}

fn means(scene: &Scene<'_>, way: &Subject, from: Moment, to: Moment) -> Option<(f64, f64)> {
    let mean = |metric| {
        let gained = scene.distribution_between(way, metric, None, from, to)?;
        gained.mean().filter(|_| gained.count >= LEAST_REQUESTS)
    };
    Some((mean(EDGE_CLIENT_DURATION)?, mean(EDGE_SERVER_DURATION)?))
}
