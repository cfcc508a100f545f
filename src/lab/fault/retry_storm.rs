//! A model with some room, users with little patience, and a slowdown of seconds.
//!
//! A queue that is full makes everyone wait for longer than users do, so what the model serves is served for nobody;
//! and who gave up comes again. Attempts are three times the originals then, which is more than the model can serve:
//! the queue stays full, and nothing but fewer attempts empties it.

use std::time::Duration;

use super::{deploy, first_release};
use crate::lab::Parts;
use crate::lab::load::{Again, Retries};
use crate::lab::service::{Pace, QUEUE, Release};

/// What the model can serve, as a multiple of what users want: more than they want, less than they send in a storm.
const CAPACITY: f64 = 2.2;

/// How long users wait for an answer, as a share of the wait in a full queue.
const PATIENCE: f64 = 0.6;

/// Share of a full batch's time that it takes whatever is in it.
const SHARE_OF_BATCH: f64 = 0.9;

/// How often users try again at most.
const MOST: u32 = 2;

/// How long users wait at least before they try again, where they wait: until what they gave up is out of the queue.
const BACKOFF: Duration = Duration::from_secs(4);

/// The pace of the model before and after the slowdown.
pub(super) fn pace(rate: u32) -> Pace {
    Pace::of(CAPACITY * f64::from(rate), SHARE_OF_BATCH)
}

/// What users do who get no answer.
pub(super) fn retries(rate: u32, backoff: bool) -> Retries {
    let timeout = Duration::from_secs_f64(PATIENCE * QUEUE as f64 / (CAPACITY * f64::from(rate)));
    let (pause, spread, growth) = if backoff { (BACKOFF, 1.0, 2.0) } else { (Duration::ZERO, 0.0, 1.0) };
    Retries { timeout, again: Again::Failed, most: MOST, pause, spread, growth }
}

/// Makes the model slow for so long.
pub(super) fn slow_down(parts: &Parts, times: f64, lasts: Duration) {
    let usual = first_release(&parts.options, None);
    deploy(parts, Release { pace: usual.pace.slower(times), ..usual });
    let (services, stop) = (parts.services.clone(), parts.stop.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(lasts) => {
                for service in services {
                    service.deploy(usual);
                }
            }
        }
    });
}
