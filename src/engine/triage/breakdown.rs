//! The stages of the requests that suffer: `P99_total ~ max(parallel) + serial + post`, as far as stages tell it.
//!
//! Stages do not say which of them run beside each other, so the 99th percentile of the whole is an estimate between two
//! values: the slowest stage's and the sum of all. Neither is a bound: a stage that few requests take weighs as much as one
//! that all take, and what is seldom slow in each of two stages is seldom slow in both.

use std::collections::BTreeSet;
use std::time::Duration;

use super::symptom::Suffering;
use crate::metric::{REQUEST_DURATION, ROUTE_DURATION, STAGE_DURATION};
use crate::report::{Breakdown, RouteTime, StageTime};
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Stages that add up to this much more than the request run beside each other.
const OVERLAP: f64 = 1.1;

/// Seconds over which the mean of a request is taken, as that of its stages.
const PRESENT_S: u64 = 10;

/// Requests that the 99th percentile of a route needs here: it is shown and decides nothing.
const LEAST_REQUESTS: f64 = 50.0;

/// Routes that are told.
const MOST_ROUTES: usize = 5;

/// The breakdown of a symptom's requests; `None` for a service that tells neither stages nor routes apart.
pub(super) fn of(scene: &Scene<'_>, suffering: Option<&Suffering>) -> Option<Breakdown> {
    let Suffering { service, stages, ended, .. } = suffering?;
    let at = scene.last_scrape(service, REQUEST_DURATION, None);
    let present = at.map(|at| (at - Duration::from_secs(PRESENT_S), at));
    let request_mean_s = ended
        .or(present)
        .and_then(|(from, to)| scene.distribution_between(service, REQUEST_DURATION, None, from, to)?.mean());
    let routes = routes(scene, service, *ended);
    if stages.is_empty() && routes.is_empty() {
        return None;
    }
    let sum: f64 = stages.iter().map(|stage| stage.mean).sum();
    let p99s = || stages.iter().map(|stage| stage.p99.map_or(stage.mean, |p99| p99.number()));
    Some(Breakdown {
        subject: service.clone(),
        routes,
        request_mean_s,
        overlaps: request_mean_s.is_some_and(|mean| sum > mean * OVERLAP),
        p99_at_least_s: p99s().fold(0.0, f64::max),
        p99_at_most_s: p99s().sum(),
        stages: stages
            .iter()
            .map(|stage| {
                let usual = scene.usual_mean(service, STAGE_DURATION, Some(&stage.name), Duration::ZERO);
                StageTime {
                    name: stage.name.clone(),
                    spent_in: stage.spent_in.clone(),
                    mean_s: stage.mean,
                    p99_s: stage.p99.map(|p99| p99.number()),
                    share: stage.share,
                    usual_s: usual.map(|usual| usual.typical),
                    usual_from: usual.map(|usual| usual.from),
                }
            })
            .collect(),
    })
}

/// The slowest routes or models of a service, at present or within the span of a symptom that has ended.
fn routes(scene: &Scene<'_>, service: &Subject, ended: Option<(Moment, Moment)>) -> Vec<RouteTime> {
    let names: BTreeSet<RemoteText> = scene
        .world
        .parts(service)
        .flat_map(|(instance, _)| scene.store.parts(instance, ROUTE_DURATION))
        .flatten()
        .collect();
    let mut routes: Vec<RouteTime> = names
        .into_iter()
        .filter_map(|name| {
            let present = || {
                let at = scene.last_scrape(service, ROUTE_DURATION, Some(&name))?;
                Some((at - Duration::from_secs(PRESENT_S), at))
            };
            let (from, to) = ended.or_else(present)?;
            let gained = scene.distribution_between(service, ROUTE_DURATION, Some(&name), from, to)?;
            let p99 = gained.percentile(0.99).filter(|_| gained.count >= LEAST_REQUESTS)?;
            let usual = scene.baseline_p99(service, ROUTE_DURATION, Some(&name));
            Some(RouteTime {
                requests_per_s: gained.count / to.seconds_after(from).max(1.0),
                p99_s: p99.number(),
                usual_s: usual.map(|usual| usual.typical),
                usual_from: usual.map(|usual| usual.from),
                name,
            })
        })
        .collect();
    routes.sort_by(|one, other| other.p99_s.total_cmp(&one.p99_s));
    routes.truncate(MOST_ROUTES);
    routes
}
