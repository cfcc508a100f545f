//! The stages of the requests that suffer: `P99_total ~ max(parallel) + serial + post`, as far as stages tell it.
//!
//! Stages do not say which of them run beside each other, so the 99th percentile of the whole is told by its bounds: the
//! slowest stage's and the sum of all.

use super::symptom::Suffering;
use crate::metric::{Metric, REQUEST_DURATION, STAGE_DURATION};
use crate::report::{BaselineFrom, Breakdown, StageTime};
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;

/// Stages that add up to this much more than the request run beside each other.
const OVERLAP: f64 = 1.1;

/// Seconds over which the mean of a request is taken, as that of its stages.
const PRESENT_S: u64 = 10;

/// The breakdown of a symptom's requests; `None` for a service without stages.
pub(super) fn of(scene: &Scene<'_>, suffering: Option<&Suffering>) -> Option<Breakdown> {
    let Suffering { service, stages, ended, .. } = suffering?;
    if stages.is_empty() {
        return None;
    }
    let at = scene.last_scrape(service, REQUEST_DURATION, None);
    let present = at.map(|at| (at - std::time::Duration::from_secs(PRESENT_S), at));
    let request_mean_s = ended
        .or(present)
        .and_then(|(from, to)| scene.distribution_between(service, REQUEST_DURATION, None, from, to)?.mean());
    let sum: f64 = stages.iter().map(|stage| stage.mean).sum();
    let p99s = || stages.iter().map(|stage| stage.p99.map_or(stage.mean, |p99| p99.number()));
    Some(Breakdown {
        subject: service.clone(),
        request_mean_s,
        overlaps: request_mean_s.is_some_and(|mean| sum > mean * OVERLAP),
        p99_at_least_s: p99s().fold(0.0, f64::max),
        p99_at_most_s: p99s().sum(),
        stages: stages
            .iter()
            .map(|stage| {
                let usual = usual_mean(scene, service, STAGE_DURATION, &stage.name);
                StageTime {
                    name: stage.name.clone(),
                    spent_in: stage.spent_in.clone(),
                    mean_s: stage.mean,
                    p99_s: stage.p99.map(|p99| p99.number()),
                    share: stage.share,
                    usual_s: usual.map(|(mean, _)| mean),
                    usual_from: usual.map(|(_, from)| from),
                }
            })
            .collect(),
    })
}

/// The mean of a stage in this run's healthy time, else over the target's life before.
fn usual_mean(
    scene: &Scene<'_>,
    service: &Subject,
    metric: Metric,
    stage: &RemoteText,
) -> Option<(f64, BaselineFrom)> {
    let calm = scene
        .calm
        .and_then(|(from, to)| scene.distribution_between(service, metric, Some(stage), from, to)?.mean());
    let lifetime = || scene.lifetime_distribution(service, metric, Some(stage))?.mean();
    calm.map(|mean| (mean, BaselineFrom::Earlier))
        .or_else(|| lifetime().map(|mean| (mean, BaselineFrom::Lifetime)))
}
