//! The words about calls between components.

use crate::flow::{Flow, SeenBy};
use crate::metric::Unit;
use crate::quantity::show;
use crate::reading::Origin;

/// The words for how a call is known.
pub fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Declared => "declared",
        Origin::Observed => "traffic seen",
        Origin::Catalogued => "from a catalogue",
        Origin::StartOrder => "a hint: starts after it",
        Origin::Usual => "supposed: nothing tells of it",
    }
}

/// What goes on a call: `50/s`, `2 % fail`, `p99 12 ms as the caller sees it`.
pub fn flow_words(flow: &Flow) -> impl Iterator<Item = String> {
    let latency = flow.latency.map(|(p99, seen_by)| {
        let by = match seen_by {
            SeenBy::Caller => "as the caller sees it",
            SeenBy::Callee => "as the callee sees it",
            SeenBy::CalleeOfAll => "over all callers, as the callee sees it",
        };
        format!("p99 {}{} {by}", p99.sign(), show(p99.number(), Unit::Seconds))
    });
    let rate = flow.rate.map(|rate| show(rate, Unit::PerSecond));
    let failing = flow.failing.map(|share| format!("{} fail", show(share, Unit::Ratio)));
    [rate, failing, latency].into_iter().flatten()
}
