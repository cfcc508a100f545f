//! What is done to the parts at the fault's second: the dispatch, and what has to lie ready before it.

mod expiry_herd;
mod failover;
mod gpu;
mod retry_storm;
mod snapshots;

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub(super) use self::expiry_herd::Window;
use super::features::{self, item_key, profile_key};
use super::load::{Campaign, Retries};
use super::scenario::{Fault, RangeInclusiveF64, Shape};
use super::service::{POOL, Pace, Release};
use super::{Injection, LINK_RATE, LabError, LabOptions, Parts};
use crate::lab::cluster::Cluster;

/// Writes what has to be there before anybody looks; answers the window whose end is the fault, where there is one.
pub(super) async fn prepare(
    cluster: &Cluster,
    shard: usize,
    options: &LabOptions,
) -> Result<Option<Window>, LabError> {
    match options.scenario.fault {
        Fault::ExpiryHerd { keys, windows, every, answers } => {
            if answers {
                features::write_answers(cluster, usize::from(options.shards)).await?;
            }
            expiry_herd::write(cluster, shard, options, (keys, windows, every, answers)).await.map(Some)
        }
        Fault::Snapshots { bytes, .. } => {
            snapshots::fill(cluster, shard, options, bytes).await.map(|()| None)
        }
        _ => Ok(None),
    }
}

/// What the service runs from its start.
pub(super) fn first_release(options: &LabOptions, kept_until: Option<Window>) -> Release {
    let pace = match (options.scenario.fault, options.scenario.shape) {
        (Fault::Slowdown { .. }, _) => retry_storm::pace(options.rate),
        (Fault::ExpiryHerd { answers: true, .. }, _) => expiry_herd::pace(options.rate),
        (Fault::LaunchStall { .. }, _) => gpu::pace(options.rate),
        (_, Shape::Fleet) => failover::pace(options.rate),
        _ => Pace::default(),
    };
    let keeps_answers = matches!(options.scenario.fault, Fault::ExpiryHerd { answers: true, .. });
    let patience = match options.scenario.fault {
        Fault::Snapshots { patience, .. } => patience,
        _ => None,
    };
    Release { pace, kept_until, keeps_answers, patience, ..Release::default() }
}

/// What users do when they are refused or wait for too long.
pub(super) fn retries(options: &LabOptions) -> Retries {
    match options.scenario.fault {
        Fault::Slowdown { backoff, .. } => retry_storm::retries(options.rate, backoff),
        _ => Retries::USUAL,
    }
}

/// Does it, and says what was done.
pub(super) async fn inject(parts: &Parts) -> Injection {
    let mut random = StdRng::seed_from_u64(parts.options.seed ^ 0xfa17);
    let mut draw = |range: RangeInclusiveF64| random.random_range(range.0..=range.1);
    let mut slow_stage = None;
    let pair = parts.pair;
    let address = parts.cluster.nodes()[pair.shard].announced;
    let sentence = match parts.options.scenario.fault {
        Fault::None => "nothing happens".to_owned(),
        Fault::Surge(times) => {
            parts.load.surge(times);
            format!("users come {times} times as often")
        }
        Fault::HotPair { bytes, load, item_share } => {
            let capacity = LINK_RATE / bytes as f64;
            let rate = capacity * draw(load);
            let written = features::write_big_profile(&parts.cluster, pair, bytes, parts.options.seed).await;
            parts.load.begin(Campaign { pair, rate, item_share });
            let (profile, item) = (profile_key(pair.user), item_key(pair.item));
            let failed = written.err().map_or_else(String::new, |error| format!(" ({error})"));
            format!(
                "{profile} has {bytes} bytes now{failed} and is read {rate:.1} times a second with {item}; \
                 both are on the shard of {address}, whose link carries {capacity:.1} of them a second"
            )
        }
        Fault::SlowStage { stages, milliseconds } => {
            let stage = stages[random.random_range(0..stages.len())];
            let by = random.random_range(milliseconds.0..=milliseconds.1);
            let delay = Duration::from_secs_f64(by / 1_000.0);
            deploy(parts, Release { slow_stage: Some((stage, delay)), ..Release::default() });
            slow_stage = Some(stage);
            format!("stage {stage} takes {by:.0} ms longer")
        }
        Fault::ExpiryHerd { keys, every, answers, .. } => {
            if let Some(window) = parts.window {
                window.first_end().await;
            }
            let what = if answers { "answer" } else { "feature" };
            format!(
                "{keys} keys and every {what} on the shard of {address} expire in this second, and again every \
                 {} s",
                every.as_secs()
            )
        }
        Fault::ReadsTogether { share } => {
            let share = draw(share);
            deploy(parts, Release { read_together: share, ..Release::default() });
            format!("{:.0} % of requests read keys of different slots with one MGET", 100.0 * share)
        }
        Fault::HeldConnections { load } => {
            let held = Duration::from_secs_f64(POOL as f64 * draw(load) / f64::from(parts.options.rate));
            deploy(parts, Release { held, ..Release::default() });
            format!("the service keeps each of its {POOL} connections for {} ms longer", held.as_millis())
        }
        Fault::Slowdown { times, seconds, .. } => {
            let lasts = Duration::from_secs_f64(draw(seconds));
            retry_storm::slow_down(parts, times, lasts);
            format!("the model takes {times} times as long for {:.1} s", lasts.as_secs_f64())
        }
        Fault::Chokes { instances, times } => {
            let times = draw(times);
            let choked = failover::choke(parts, instances, times, &mut random);
            format!("instances {choked:?} of the service take {times:.1} times as long for each request")
        }
        Fault::MemoryLeak { seconds } => gpu::leak(parts, draw(seconds)),
        Fault::LaunchStall { microseconds } => gpu::stall(parts, draw(microseconds)),
        Fault::Snapshots { bytes, killed_after, pause, .. } => {
            let rhythm = (killed_after, pause);
            let started = snapshots::begin(&parts.cluster, pair.shard, rhythm, parts.stop.clone()).await;
            let failed = started.err().map_or_else(String::new, |error| format!(" ({error})"));
            let end =
                if killed_after.is_some() { ", and the child that does it is killed each time" } else { "" };
            format!("the shard of {address} saves {} MB again and again{end}{failed}", bytes / 1_000_000)
        }
    };
    Injection { at: Instant::now(), sentence, slow_stage }
}

/// Every instance of the service runs this from now on.
fn deploy(parts: &Parts, release: Release) {
    for service in &parts.services {
        service.deploy(release);
    }
}
