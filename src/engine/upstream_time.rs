//! How long attempts at an upstream took lately, as its gateway sees them.

use std::time::Duration;

use crate::histogram::Percentile;
use crate::metric::UPSTREAM_DURATION;
use crate::store::Store;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;
use crate::world::World;

/// The span that is told.
const SPAN: Duration = Duration::from_secs(60);

/// A 99th percentile of fewer attempts than this is one of its slowest few and not told.
const FEWEST_FOR_P99: f64 = 200.0;

/// How long attempts at one upstream took in the last minute, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamTime {
    /// The gateway, or the instance of it, that tells.
    pub gateway: Subject,
    /// The upstream.
    pub upstream: Option<RemoteText>,
    /// Attempts that are counted.
    pub attempts: f64,
    /// The mean; `None` where the page has no sum.
    pub mean: Option<f64>,
    /// The 99th percentile; `None` where there were too few attempts for one, or no buckets.
    pub p99: Option<Percentile>,
}

/// The times of every upstream that a gateway tells of, gateway by gateway.
pub(crate) fn upstream_times(store: &Store, world: &World, now: Moment) -> Vec<UpstreamTime> {
    let gateways = world.components().into_iter().filter(|component| component.kind() == Kind::Gateway);
    let instances: Vec<Subject> = gateways
        .flat_map(|gateway| world.parts(&gateway).map(|(part, _)| part.clone()).collect::<Vec<_>>())
        .collect();
    let mut times = vec![];
    for gateway in instances {
        for upstream in store.parts(&gateway, UPSTREAM_DURATION) {
            let gained = store.gained(&gateway, UPSTREAM_DURATION, upstream.as_ref(), now - SPAN, now);
            let Some(gained) = gained.filter(|gained| gained.count > 0.0) else { continue };
            times.push(UpstreamTime {
                gateway: gateway.clone(),
                upstream,
                attempts: gained.count,
                mean: gained.mean(),
                p99: gained.percentile(0.99).filter(|_| gained.count >= FEWEST_FOR_P99),
            });
        }
    }
    times
}
