//! How long calls of a command took lately: percentiles of what its histogram gained.

use std::time::Duration;

use crate::histogram::Percentile;
use crate::metric::{Metric, REDIS_COMMAND_DURATION};
use crate::store::Store;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;
use crate::world::World;

/// The spans that are tried, shortest first: the first with enough calls for a 99th percentile is taken, else the last.
const SPANS: &[Duration] = &[Duration::from_secs(60), Duration::from_secs(300)];

/// A 99th percentile of fewer calls than this is one of its slowest few and not told.
const FEWEST_FOR_P99: f64 = 200.0;

const METRIC: Metric = REDIS_COMMAND_DURATION;

/// How long calls of one command took on one node lately, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandTime {
    /// The node that executed them.
    pub node: Subject,
    /// The command.
    pub command: RemoteText,
    /// Calls that are counted.
    pub calls: f64,
    /// The span in which they came.
    pub over: Duration,
    /// The median.
    pub median: Percentile,
    /// The 99th percentile; `None` where there were too few calls for one.
    pub p99: Option<Percentile>,
}

/// The times of every command that a node tells of, node by node.
pub(crate) fn command_times(store: &Store, world: &World, now: Moment) -> Vec<CommandTime> {
    let shards = world.topologies().flat_map(|topology| &topology.shards);
    let nodes = shards.flat_map(|shard| &shard.nodes).map(|node| &node.subject);
    let parts = nodes.flat_map(|node| {
        let commands = store.parts(node, METRIC).into_iter().flatten();
        commands.filter_map(move |command| of(store, node, command, now))
    });
    parts.collect()
}

fn of(store: &Store, node: &Subject, command: RemoteText, now: Moment) -> Option<CommandTime> {
    let gained = |over: &Duration| {
        let gained = store.gained(node, METRIC, Some(&command), now - *over, now)?;
        (gained.count > 0.0).then_some((*over, gained))
    };
    let spans = || SPANS.iter().filter_map(gained);
    let (over, gained) =
        spans().find(|(_, gained)| gained.count >= FEWEST_FOR_P99).or_else(|| spans().next_back())?;
    Some(CommandTime {
        node: node.clone(),
        calls: gained.count,
        over,
        median: gained.percentile(0.5)?,
        p99: gained.percentile(0.99).filter(|_| gained.count >= FEWEST_FOR_P99),
        command,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::histogram::Histogram;
    use crate::reading::{Event, Input, Node, NodeHealth, Reading, Shard, Topology, Value};
    use crate::settings::Baselines;
    use crate::{Engine, Settings};

    /// Ten calls a second of 1 to 2 ms, then calls of 2 to 4 ms; told once a second.
    fn times(calls: impl Fn(i64) -> f64, seconds: i64) -> Vec<CommandTime> {
        let cluster: Subject = "redis/a".parse().unwrap();
        let shard = cluster.shard(0);
        let node = shard.instance("h:1");
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let mut shape = Reading::new(cluster.clone(), Moment(0));
        let own = Node { subject: node.clone(), id: "n".into(), primary: true, health: NodeHealth::Online };
        shape.events.push(Event::Topology(Topology {
            cluster,
            clustered: true,
            shards: vec![Shard { subject: shard, slots: vec![], nodes: vec![own] }],
        }));
        engine.take(&Input::Reading(shape));
        let mut count = 0.0;
        for second in 0..seconds {
            let at = Moment(second * 1_000);
            count += calls(second);
            let mut reading = Reading::new(node.clone(), at);
            let histogram =
                Histogram { bounds: [0.001, 0.002].into(), counts: [0.0, count].into(), count, sum: None };
            reading.part(&node, METRIC, "get", Value::Histogram(Arc::new(histogram)));
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
        }
        engine.snapshot().unwrap().command_times.to_vec()
    }

    #[test]
    fn the_last_minute_is_told_and_a_longer_span_where_it_has_too_few_calls() {
        let busy = times(|_| 10.0, 200);
        assert_eq!((busy.len(), busy[0].calls, busy[0].over), (1, 600.0, Duration::from_secs(60)));
        assert_eq!((busy[0].command.as_str(), busy[0].median), ("get", Percentile::Value(0.0015)));
        assert!(busy[0].p99.is_some());
        let seldom = times(|_| 1.0, 300);
        assert_eq!(seldom[0].over, Duration::from_secs(300));
        assert!(seldom[0].p99.is_some());
        let rare = times(|second| if second % 30 == 0 { 1.0 } else { 0.0 }, 300);
        assert_eq!((rare[0].p99, rare[0].median), (None, Percentile::Value(0.0015)));
        assert_eq!(times(|second| if second == 0 { 5.0 } else { 0.0 }, 300), []);
    }

    #[test]
    fn a_command_that_was_not_called_tells_nothing() {
        assert_eq!(times(|_| 0.0, 100), []);
    }
}
