//! What stands above the entries: how many, from which time on commands are logged, and where the log is not read.

use headwater_engine::metric::{REDIS_SLOW_THRESHOLD, Unit};
use headwater_engine::quantity::show;
use headwater_engine::wording::names;
use headwater_engine::{Kind, Moment, Snapshot, Subject};

use super::lines::GroupLine;

/// What the Redis source calls the reading of the log where it cannot.
const LOG: &str = "SLOWLOG GET";

/// What it calls entries that were overwritten before they were read.
const LOST: &str = "slow-log entries";

/// What it calls the threshold where it may not ask for it.
const THRESHOLD: &str = "slow-log threshold";

/// `37 entries in 4 groups, 1.2 s, since 14:02:11`: how many, and how long their execution took together. Groups are
/// not counted while entries are listed one by one.
pub(super) fn count(groups: &[GroupLine], oldest: Option<Moment>, is_listed: bool) -> String {
    let counted: Vec<&GroupLine> = groups.iter().filter(|line| !line.group.is_excluded).collect();
    let entries = |lines: &[&GroupLine]| -> usize { lines.iter().map(|line| line.group.count).sum() };
    let number = entries(&counted);
    let total: f64 = counted.iter().map(|line| line.group.total).sum();
    let entry = if number == 1 { "entry" } else { "entries" };
    let group = if counted.len() == 1 { "group" } else { "groups" };
    let total = show(total, Unit::Seconds);
    let grouped = if is_listed { String::new() } else { format!(" in {} {group}", counted.len()) };
    let mut text = match number {
        0 => "no entry".to_owned(),
        _ => format!("{number} {entry}{grouped}, {total}"),
    };
    if let Some(oldest) = oldest {
        text += &format!(", since {}", oldest.clock());
    }
    let excluded = entries(&groups.iter().collect::<Vec<_>>()) - number;
    if excluded > 0 {
        text += &format!("; {excluded} by admins or Headwater (-)");
    }
    text
}

/// From which time of execution on commands are logged, and what an empty log does not prove.
pub(super) fn threshold(snapshot: &Snapshot) -> String {
    const PROVES_NOTHING: &str = "empty does not mean fast: no waiting, no sending in it";
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let nodes = shards.flat_map(|shard| &shard.nodes).map(|node| &node.subject);
    let value = |node: &Subject| {
        let trace = snapshot.history.trace(node, REDIS_SLOW_THRESHOLD, None)?;
        trace.latest_at(snapshot.at).map(|seen| seen.value)
    };
    let mut values: Vec<f64> = nodes.filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    let off = values.partition_point(|value| *value < 0.0);
    let on = &values[off..];
    let shown = |seconds: f64| show(seconds, Unit::Seconds);
    let words = match (on.first(), on.last()) {
        (Some(least), Some(most)) if least < most => {
            format!("logged from {} to {} on, by node", shown(*least), shown(*most))
        }
        (Some(least), _) => format!("logged from {} on", shown(*least)),
        (None, _) if off > 0 => "slow logs are off (slowlog-log-slower-than is below 0)".to_owned(),
        (None, _) => "threshold not known (slowlog-log-slower-than)".to_owned(),
    };
    let off = match off {
        0 => String::new(),
        _ if on.is_empty() => String::new(),
        1 => ", off on 1 node".to_owned(),
        many => format!(", off on {many} nodes"),
    };
    format!("{words}{off}; {PROVES_NOTHING}")
}

/// Where the log or its threshold cannot be read, or not as a whole, each reason once.
pub(super) fn unread(snapshot: &Snapshot) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&Subject>)> = vec![];
    for source in snapshot.sources.iter().filter(|source| source.source.kind() == Kind::Redis) {
        for (what, why) in &source.unavailable {
            let words = match what.as_str() {
                LOG => format!("not read: {why}"),
                THRESHOLD => format!("threshold not known: {why}"),
                LOST => why.to_string(),
                _ => continue,
            };
            match reasons.iter_mut().find(|(known, _)| *known == words) {
                Some((_, nodes)) => nodes.push(&source.source),
                None => reasons.push((words, vec![&source.source])),
            }
        }
    }
    reasons.into_iter().map(|(words, nodes)| format!("? {words}: {}", names(&nodes))).collect()
}
