//! A device whose memory is left behind, and a host that is late with launching kernels.

use std::time::Duration;

use crate::lab::Parts;
use crate::lab::gpu::{ROOM, USUAL_LAUNCH};
use crate::lab::service::{LARGEST_BATCH, Pace};

/// What a launch takes a host that stalls, in microseconds, of which the rest is reckoned.
const STALLED: f64 = 47.6;

/// What the model serves then, as a share of what users want: too little, and no more than that. A queue that fills slowly
/// makes everyone wait and refuses nobody for a while.
const CAPACITY: f64 = 0.92;

/// Share of the time in which kernels run then, while batches follow each other without a pause.
const BUSY: f64 = 0.18;

/// The pace of a model that launches as many kernels as make it that slow when each is late; when none is, nobody notices.
pub(super) fn pace(rate: u32) -> Pace {
    let full = LARGEST_BATCH as f64 / (CAPACITY * f64::from(rate));
    let launches = (full / (STALLED * 1e-6)).round();
    Pace { batch: Duration::from_secs_f64(full * BUSY), request: Duration::ZERO, launches: launches as u32 }
}

/// Lets each launch take so many microseconds, and says so.
pub(super) fn stall(parts: &Parts, microseconds: f64) -> String {
    for service in &parts.services {
        service.device().stall(Duration::from_secs_f64(microseconds * 1e-6));
    }
    let usual = USUAL_LAUNCH.as_secs_f64() * 1e6;
    format!("the host takes {microseconds:.1} us to launch a kernel instead of {usual:.1} us (simulated)")
}

/// Lets each request leave memory behind, and says how much.
pub(super) fn leak(parts: &Parts, seconds: f64) -> String {
    let requests = f64::from(parts.options.rate) * seconds;
    let bytes = (ROOM as f64 / requests) as u64;
    for service in &parts.services {
        service.device().leak(bytes);
    }
    format!(
        "each request leaves {:.1} MB of GPU memory behind (simulated): the {:.1} GB that are free last for {requests:.0}",
        bytes as f64 / 1e6,
        ROOM as f64 / 1e9
    )
}
