//! Instances that choke behind a gateway whose others have little room.

use rand::Rng;
use rand::rngs::StdRng;

use super::first_release;
use crate::lab::Parts;
use crate::lab::service::{Pace, Release};

/// What one instance can serve, as a share of what all users want: five of them have room, three have next to none.
const CAPACITY: f64 = 0.36;

/// Share of a full batch's time that it takes whatever is in it: none. An instance with little to do answers at once, so
/// that five of them have room also on a machine that is busy otherwise.
const SHARE_OF_BATCH: f64 = 0.0;

/// The pace of an instance that is well.
pub(super) fn pace(rate: u32) -> Pace {
    Pace::of(CAPACITY * f64::from(rate), SHARE_OF_BATCH)
}

/// Makes so many instances slow; answers their numbers in the order of the configuration.
pub(super) fn choke(parts: &Parts, instances: usize, times: f64, random: &mut StdRng) -> Vec<usize> {
    let usual = first_release(&parts.options, None);
    let mut left: Vec<_> = (0..parts.services.len()).collect();
    let mut choked: Vec<_> = (0..instances.min(left.len()))
        .map(|_| left.swap_remove(random.random_range(0..left.len())))
        .collect();
    choked.sort_unstable();
    for number in &choked {
        parts.services[*number].deploy(Release { pace: usual.pace.slower(times), ..usual });
    }
    choked
}
