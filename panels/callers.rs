//! How bad it is for callers, where that is worse than what the service itself counts: who has given up waiting, or is sent
//! away before it, is in no number of the service.

use headwater_engine::metric::{CLIENT_DURATION, Metric, REQUEST_DURATION};
use headwater_engine::quantity::show;
use headwater_engine::signal::Signal;
use headwater_engine::{Kind, Snapshot, Subject};

use crate::gateway::unanswered;

/// From this multiple of the service's own number on it is another story, if it lies so far above it: in seconds of a
/// latency, and as a share of errors.
pub(crate) const TELLING: f64 = 1.3;
const LEAST_APART_S: f64 = 0.02;
const LEAST_APART_SHARE: f64 = 0.01;

/// A signal as those see it who call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Felt {
    /// Who sees it.
    pub(crate) whose: Subject,
    /// Its value in words.
    pub(crate) shown: String,
}

/// How a caller or a gateway sees a signal: the number, and the sign before it.
type Seen = fn(&Snapshot, &Subject) -> Option<(f64, &'static str)>;

/// The signals that callers see in their own way, and how far their number lies from the service's at least.
static FELT: &[(&str, f64, Seen)] =
    &[("p99", LEAST_APART_S, slowness), ("errors", LEAST_APART_SHARE, failures)];

/// How the callers see a signal who see it worst; `None` where the service sees as much, and where no caller tells.
pub(crate) fn felt(signal: &Signal, snapshot: &Snapshot) -> Option<Felt> {
    let (_, apart, seen) = FELT.iter().find(|(name, ..)| *name == signal.row.name)?;
    let own = signal.now.map_or(0.0, |now| now.value);
    let callers =
        snapshot.graph.components().filter(|one| matches!(one.kind(), Kind::Client | Kind::Gateway));
    let worst = callers
        .filter_map(|whose| Some((whose, seen(snapshot, whose)?)))
        .max_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other));
    let (whose, (value, sign)) =
        worst.filter(|(_, (value, _))| *value >= own * TELLING && value - own >= *apart)?;
    Some(Felt { whose: whose.clone(), shown: format!("{sign}{}", show(value, signal.row.unit)) })
}

/// Why whole requests seem to take less than their first tokens, in a row of a small screen.
pub(crate) fn ends_early(whole: &str, ttft: &str) -> String {
    format!("whole p99 {whole} is below TTFT p99 {ttft}: who is refused or gives up ends early")
}

/// The 99th percentile of the requests of a caller, over as many as rules take; of a bound nobody knows how far below it is.
fn slowness(snapshot: &Snapshot, whose: &Subject) -> Option<(f64, &'static str)> {
    let parts: Vec<&Subject> = snapshot.history.parts(whose).collect();
    let of = |metric: &Metric| snapshot.spread_together(parts.iter().copied(), *metric)?.percentile(0.99);
    let p99 = [CLIENT_DURATION, REQUEST_DURATION].iter().find_map(of)?;
    (!p99.is_only_a_bound()).then(|| (p99.number(), p99.sign()))
}

/// The share of a caller's requests that were not answered well in the end: one that was answered at the second attempt was.
fn failures(snapshot: &Snapshot, whose: &Subject) -> Option<(f64, &'static str)> {
    let (share, is_least) = unanswered(snapshot, whose)?;
    Some((share, if is_least { ">= " } else { "" }))
}
