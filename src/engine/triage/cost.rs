//! What the observation costs its targets.

use std::time::Duration;

use crate::metric::{REDIS_OUR_BYTES, REDIS_OUR_COMMANDS, SCRAPE_BYTES};
use crate::report::Cost;
use crate::scene::Scene;

/// The span over which it is told.
const COST_OVER: Duration = Duration::from_secs(60);

/// Over a minute, or as much of it as was seen: what is asked once in ten seconds comes in one look, and is no rate of that
/// second.
pub(super) fn of(scene: &Scene<'_>) -> Cost {
    let mut cost = Cost::default();
    for state in scene.world.sources() {
        let rate =
            |metric| scene.mean_over(&state.source, metric, None, COST_OVER).map_or(0.0, |seen| seen.value);
        cost.redis_commands_per_node_per_s = cost.redis_commands_per_node_per_s.max(rate(REDIS_OUR_COMMANDS));
        cost.bytes_per_s += rate(REDIS_OUR_BYTES) + rate(SCRAPE_BYTES);
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Input, Reading, Value};
    use crate::subject::Subject;
    use crate::time::Moment;
    use crate::{Baselines, Engine, Settings};

    #[test]
    fn what_is_asked_in_one_look_of_ten_is_no_rate_of_its_second() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let node: Subject = "redis/features#0@10.0.3.1:6379".parse().unwrap();
        let mut sent = 0.0;
        for second in 1..=61_i64 {
            // Eight more each tenth second, the last one included.
            sent += if second % 10 == 1 { 10.0 } else { 2.0 };
            let mut reading = Reading::new(node.clone(), Moment(second * 1_000));
            reading.sample(&node, REDIS_OUR_COMMANDS, Value::Counter(sent));
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(Moment(second * 1_000)));
        }
        let cost = engine.snapshot().unwrap().report.cost;
        let told = (cost.redis_commands_per_node_per_s * 10.0).round() / 10.0;
        assert!((2.7..=2.9).contains(&told), "{told} commands a second");
    }
}
