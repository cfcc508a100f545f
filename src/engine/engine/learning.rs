//! What a healthy run leaves to later ones.

use super::Engine;
use crate::baseline::{LEAST_POINTS, hour_of_day};
use crate::graph::Graph;
use crate::metric::{
    CLIENT_ORIGINALS, MetricName, REDIS_ANSWER_TIME, REDIS_COMMANDS, REDIS_NET_OUT, REQUEST_DURATION,
    REQUESTS,
};
use crate::peers::typical;
use crate::settings::{BaselineRow, Baselines};
use crate::subject::Subject;

/// Levels and rates whose healthy values are worth saving between runs.
const SAVED_LEVELS: &[crate::metric::Metric] =
    &[REDIS_COMMANDS, REDIS_NET_OUT, REDIS_ANSWER_TIME, REQUESTS, CLIENT_ORIGINALS];

impl Engine {
    /// Healthy values learned in this run, or `None` when anything was pending or firing in it.
    pub fn learned(&self) -> Option<Baselines> {
        let began = self.began.filter(|_| !self.disturbed)?;
        let (_, until) = self.calm?;
        let graph = Graph::of(&self.settings, &self.world);
        let scene = self.scene(until, &graph, crate::scene::Looked::default());
        let mut rows = vec![];
        let mut save = |subject: &Subject, metric: crate::metric::Metric, values: Vec<f64>| {
            if let Some((typical, spread, points)) =
                typical(values.into_iter()).filter(|(_, _, points)| *points >= LEAST_POINTS)
            {
                rows.push(BaselineRow {
                    subject: subject.clone(),
                    metric: MetricName::Known(metric),
                    part: None,
                    hour: hour_of_day(until),
                    typical,
                    spread,
                    points: u32::try_from(points).unwrap_or(u32::MAX),
                });
            }
        };
        for component in graph.components() {
            for (part, _) in self.world.parts(component) {
                for metric in SAVED_LEVELS {
                    if let Some(points) = self.store.points(part, *metric, None) {
                        save(part, *metric, points.since(began).map(|seen| seen.value).collect());
                    }
                }
            }
            save(component, REQUEST_DURATION, scene.earlier_p99s(component, REQUEST_DURATION, None));
        }
        (!rows.is_empty()).then_some(Baselines { rows })
    }
}
