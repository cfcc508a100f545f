//! How much goes from each caller to each callee, how much of it fails, how long it takes.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::graph::Graph;
use crate::histogram::Percentile;
use crate::metric::{
    EDGE_CLIENT_DURATION, EDGE_ERRORS, EDGE_REQUESTS, EDGE_SERVER_DURATION, MODEL_DURATION, REQUEST_DURATION,
};
use crate::quantity::share;
use crate::report::Report;
use crate::scene::Scene;
use crate::subject::Subject;

/// What is known of the requests on one call of the graph at present.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The component that calls.
    pub caller: Subject,
    /// The component that is called.
    pub callee: Subject,
    /// Requests a second on this way.
    pub rate: Option<f64>,
    /// The share of them that fails.
    pub failing: Option<f64>,
    /// The 99th percentile of how long one takes, in seconds, and who says so.
    pub latency: Option<(Percentile, SeenBy)>,
}

/// Who measured how long requests on a way take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// The caller, on this way.
    Caller,
    /// The callee, on this way.
    Callee,
    /// The callee, over the requests of all its callers.
    CalleeOfAll,
}

/// The flows of which anything is known, in the order of the graph's calls.
pub(crate) fn of(scene: &Scene<'_>) -> Vec<Flow> {
    let p99 = |subject: &Subject, metric| Some(scene.p99(subject, metric, None)?.ok()?.p99);
    let mut flows = vec![];
    for edge in scene.graph.edges() {
        let sum = |metric| {
            let rates = edge.measured.iter().filter_map(|way| scene.present(way, metric));
            rates.map(|seen| seen.value).reduce(|one, other| one + other)
        };
        // Two names of one way have two histograms; the slower of them is what somebody waits for.
        let slowest = |metric| {
            let all = edge.measured.iter().filter_map(|way| p99(way, metric));
            all.max_by(|one, other| one.number().total_cmp(&other.number()))
        };
        let of_all =
            || [REQUEST_DURATION, MODEL_DURATION].into_iter().find_map(|metric| p99(&edge.callee, metric));
        let latency = slowest(EDGE_CLIENT_DURATION)
            .map(|p99| (p99, SeenBy::Caller))
            .or_else(|| Some((slowest(EDGE_SERVER_DURATION)?, SeenBy::Callee)))
            .or_else(|| Some((of_all()?, SeenBy::CalleeOfAll)));
        let rate = sum(EDGE_REQUESTS);
        let failing = rate.and_then(|rate| share(sum(EDGE_ERRORS)?, rate));
        if rate.is_some() || latency.is_some() {
            flows.push(Flow {
                caller: edge.caller.clone(),
                callee: edge.callee.clone(),
                rate,
                failing,
                latency,
            });
        }
    }
    flows
}

/// The calls of the critical path: along the report's chain, from the symptom to the first suspect, over whatever lies
/// between.
pub fn critical_calls(report: &Report, graph: &Graph) -> BTreeSet<(Subject, Subject)> {
    let mut stops: Vec<Subject> = vec![];
    let suspect = report.suspects.first().map(|suspect| &suspect.subject);
    let chain = report.chain.iter().map(|link| &link.subject);
    for subject in chain.chain(suspect.filter(|_| !report.chain.is_empty())) {
        let component = subject.component_of();
        if stops.last() != Some(&component) {
            stops.push(component);
        }
    }
    let way = |pair: &[Subject]| graph.way(&pair[0], &pair[1]).or_else(|| graph.way(&pair[1], &pair[0]));
    let ways: Vec<Vec<Subject>> = stops.windows(2).filter_map(way).collect();
    ways.iter().flat_map(|way| way.windows(2)).map(|step| (step[0].clone(), step[1].clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::histogram::Histogram;
    use crate::reading::{Input, Reading, Value};
    use crate::settings::{Baselines, Settings};
    use crate::time::Moment;
    use crate::{Engine, Snapshot};

    /// Sixty seconds of an endpoint that tells of ways and of a service.
    fn seen(samples: &[(&str, crate::metric::Metric, f64)]) -> Arc<Snapshot> {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 1..=60_i64 {
            let at = Moment(second * 1_000);
            let mut reading = Reading::new("graph/tempo@h:1".parse().unwrap(), at);
            for (subject, metric, a_second) in samples {
                let total = a_second * second as f64;
                let value = match metric.row().form {
                    crate::metric::Form::Histogram => Value::Histogram(Arc::new(Histogram {
                        bounds: [0.1, 0.2].into(),
                        counts: [0.0, total].into(),
                        count: total,
                        sum: None,
                    })),
                    _ => Value::Counter(total),
                };
                reading.sample(&subject.parse().unwrap(), *metric, value);
            }
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
        }
        engine.snapshot().unwrap()
    }

    #[test]
    fn a_way_tells_its_rate_its_errors_and_who_timed_it() {
        let snapshot = seen(&[
            ("edge/a>service/b", EDGE_REQUESTS, 50.0),
            ("edge/a>service/b", EDGE_ERRORS, 5.0),
            ("edge/a>service/b", EDGE_CLIENT_DURATION, 50.0),
            ("edge/a>service/b", EDGE_SERVER_DURATION, 50.0),
            ("edge/b>service/c", EDGE_REQUESTS, 50.0),
            ("edge/b>service/c", EDGE_SERVER_DURATION, 50.0),
            ("edge/c>service/d", EDGE_REQUESTS, 50.0),
            ("service/d@h:2", REQUEST_DURATION, 50.0),
        ]);
        let told: Vec<_> = snapshot
            .flows
            .iter()
            .map(|flow| {
                (flow.callee.name(), flow.rate.map(f64::round), flow.failing, flow.latency.map(|it| it.1))
            })
            .collect();
        assert_eq!(
            told,
            [
                ("b", Some(50.0), Some(0.1), Some(SeenBy::Caller)),
                ("c", Some(50.0), None, Some(SeenBy::Callee)),
                ("d", Some(50.0), None, Some(SeenBy::CalleeOfAll)),
            ]
        );
        assert!(snapshot.back_to(Moment(30_000)).unwrap().flows.is_empty(), "they are of the present alone");
    }
}
