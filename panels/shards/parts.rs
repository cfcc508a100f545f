//! Numbers of a shard that have parts: its commands, kinds of error, kinds of stall, and replicas.

use headwater_engine::command_time::CommandTime;
use headwater_engine::histogram::Percentile;
use headwater_engine::metric::{
    Metric, MetricName, REDIS_COMMAND_CALLS, REDIS_COMMAND_TIME, REDIS_ERRORS, REDIS_LATENCY_EVENT,
    REDIS_REPLICA_BEHIND, REDIS_REPLICA_LAG, Unit,
};
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::Shard;
use headwater_engine::{RemoteText, Snapshot, Subject};

/// Parts that are named.
pub(super) const MOST_NAMED: usize = 5;

/// The primary of a shard.
pub(super) fn primary(shard: &Shard) -> Option<&Subject> {
    shard.nodes.iter().find(|node| node.primary).map(|node| &node.subject)
}

/// The present values of a metric's parts on a node, the greatest first; those of nothing are left out.
pub(super) fn parts<'a>(
    snapshot: &'a Snapshot,
    node: &Subject,
    metric: Metric,
) -> Vec<(&'a RemoteText, f64)> {
    let from = snapshot.fresh_from(node, metric);
    let of_metric = snapshot.history.traces(node).filter_map(|(name, part, trace)| match name {
        MetricName::Known(known) if *known == metric => Some((part?, trace)),
        _ => None,
    });
    let present = of_metric.filter_map(|(part, trace)| {
        let seen = trace.latest_at(snapshot.at).filter(|seen| seen.at >= from)?;
        (seen.value > 0.0).then_some((part, seen.value))
    });
    let mut parts: Vec<(&RemoteText, f64)> = present.collect();
    parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    parts
}

/// The commands that take the most of the primary's time, one a line: share, calls, and how long calls took lately.
pub(super) fn commands(snapshot: &Snapshot, shard: &Shard) -> Vec<String> {
    let Some(primary) = primary(shard) else { return vec![] };
    let costs = parts(snapshot, primary, REDIS_COMMAND_TIME);
    let words = costs.into_iter().take(MOST_NAMED).map(|(command, share)| {
        let calls = snapshot.present(primary, REDIS_COMMAND_CALLS, Some(command));
        let calls = calls.map(|seen| format!(" at {}", show(seen.value, Unit::PerSecond)));
        let times = snapshot.command_times.iter();
        let time = times.into_iter().find(|time| time.node == *primary && is_same(&time.command, command));
        let took = time.map(|time| format!("; {}", took_words(time)));
        format!(
            "{command} {} of the time{}{}",
            show(share, Unit::Ratio),
            calls.unwrap_or_default(),
            took.unwrap_or_default()
        )
    });
    words.collect()
}

/// INFO and LATENCY HISTOGRAM may write a command in different cases.
fn is_same(one: &RemoteText, other: &RemoteText) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}

/// `half of 600 calls in 60 s within 0.12 ms, 99 % within 1.3 ms`.
fn took_words(time: &CommandTime) -> String {
    let within =
        |percentile: Percentile| format!("{}{}", percentile.sign(), show(percentile.number(), Unit::Seconds));
    let over = show(time.over.as_secs_f64(), Unit::Seconds);
    let calls = format!("{} in {over}", counted(time.calls as u64, "call"));
    let p50 = within(time.median);
    match time.p99 {
        Some(p99) => format!("p50 {p50}, p99 {} of {calls}", within(p99)),
        None => format!("p50 {p50} of {calls}, too few for a p99"),
    }
}

/// Kinds of error that the primary answers with at present.
pub(super) fn errors(snapshot: &Snapshot, shard: &Shard) -> Vec<String> {
    let Some(primary) = primary(shard) else { return vec![] };
    let kinds = parts(snapshot, primary, REDIS_ERRORS).into_iter().take(MOST_NAMED);
    kinds.map(|(kind, rate)| format!("{kind} {}", show(rate, Unit::PerSecond))).collect()
}

/// Stalls that the nodes' own monitors saw last.
pub(super) fn stalls(snapshot: &Snapshot, shard: &Shard) -> Vec<String> {
    let of_node = |node: &Subject| {
        let address = node.address().unwrap_or_default().to_owned();
        let stalls = parts(snapshot, node, REDIS_LATENCY_EVENT).into_iter().take(MOST_NAMED);
        stalls
            .map(move |(kind, took)| format!("{kind} {} on {address}", show(took, Unit::Seconds)))
            .collect::<Vec<_>>()
    };
    shard.nodes.iter().flat_map(|node| of_node(&node.subject)).collect()
}

/// Each replica as its primary counts it: when it confirmed, and how many bytes it is behind.
pub(super) fn replicas(snapshot: &Snapshot, shard: &Shard) -> Vec<String> {
    let Some(primary) = primary(shard) else { return vec![] };
    let of_metric = snapshot.history.traces(primary).filter_map(|(name, part, _)| match name {
        MetricName::Known(REDIS_REPLICA_LAG) => part,
        _ => None,
    });
    let words = of_metric.filter_map(|replica| {
        let lag = snapshot.present(primary, REDIS_REPLICA_LAG, Some(replica))?;
        let behind = snapshot.present(primary, REDIS_REPLICA_BEHIND, Some(replica));
        let behind = behind.map(|seen| format!(", {} behind", show(seen.value, Unit::Bytes)));
        let lag = show(lag.value, Unit::Seconds);
        Some(format!("{replica} confirmed {lag} ago{}", behind.unwrap_or_default()))
    });
    words.take(MOST_NAMED).collect()
}
