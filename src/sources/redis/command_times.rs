//! How long calls of the costliest commands take, as the server counts them: LATENCY HISTOGRAM.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::REDIS_COMMAND_DURATION;
use headwater_engine::reading::Value;
use redis::Value as Reply;

use super::allowed::Command;
use super::look::{Look, Seldom};
use super::reply::{field, integer, pairs, text};
use super::samples::part_of;
use super::trouble::Trouble;

/// How often it is asked for.
const EVERY: Duration = Duration::from_secs(10);

/// Of how many commands: the server goes through every bucket of each.
pub(super) const COMMANDS: usize = 5;

/// What a node may lack, in the words that users see.
const WHAT: &str = "LATENCY HISTOGRAM";

/// The bounds of the server's buckets in seconds: they double, and each is widened to what two significant digits of
/// its HDR histogram cannot tell apart. A reply leaves out those that add nothing, so the list cannot come from it:
/// two replies could not be subtracted.
static BOUNDS: LazyLock<Arc<[f64]>> =
    LazyLock::new(|| (0..BUCKETS).map(|index| bound_ns(index) as f64 / 1e9).collect());

/// Up to a second, above which the server counts everything as that.
const BUCKETS: u32 = 21;

fn bound_ns(index: u32) -> u64 {
    1_032 << index
}

/// When a node is asked for the times of its commands.
#[derive(Debug, Default)]
pub(super) struct CommandTimes {
    turn: Seldom,
}

impl CommandTimes {
    /// Asks for the histograms of these commands, in the server's words for them, when that is due.
    pub(super) async fn look(&mut self, look: &mut Look<'_>, commands: &[String]) -> Result<(), Trouble> {
        if commands.is_empty() || !self.turn.is_due(look.now, EVERY) {
            return Ok(());
        }
        let names: Vec<&str> = commands.iter().map(String::as_str).take(COMMANDS).collect();
        let Some(reply) = look.ask(WHAT, Command::LatencyHistogram(&names)).await? else { return Ok(()) };
        for (name, histogram) in read_histograms(&reply) {
            // A command with subcommands brings all of them along.
            if names.contains(&name.as_str()) {
                let value = Value::Histogram(Arc::new(histogram));
                look.reading.part(look.subject, REDIS_COMMAND_DURATION, &part_of(&name), value);
            }
        }
        Ok(())
    }
}

/// Reads a reply: each command in the server's words with its histogram; what cannot be read is left out.
pub(super) fn read_histograms(reply: &Reply) -> Vec<(String, Histogram)> {
    let commands = pairs(reply).into_iter();
    commands.filter_map(|(name, told)| Some((text(name)?.into_owned(), read_histogram(told)?))).collect()
}

fn read_histogram(told: &Reply) -> Option<Histogram> {
    let calls = integer(field(told, "calls")?).filter(|calls| *calls >= 0)? as f64;
    let mut counts = vec![0.0; BOUNDS.len()];
    for (bound, count) in pairs(field(told, "histogram_usec")?) {
        let bound = integer(bound).and_then(|bound| u64::try_from(bound).ok())?;
        let count = integer(count).filter(|count| *count >= 0)? as f64;
        // Bounds come in whole microseconds, cut off.
        let bucket = (0..BUCKETS).position(|index| bound_ns(index) / 1_000 >= bound);
        if let Some(bucket) = bucket {
            counts[bucket] = count.min(calls).max(counts[bucket]);
        }
    }
    let mut so_far = 0.0_f64;
    for count in &mut counts {
        so_far = so_far.max(*count);
        *count = so_far;
    }
    Some(Histogram { bounds: Arc::clone(&BOUNDS), counts: counts.into(), count: calls, sum: None })
}

#[cfg(test)]
mod tests {
    use headwater_engine::histogram::Percentile;

    use super::super::reply_fixture;
    use super::*;

    fn of(reply: &Reply, name: &str) -> Histogram {
        read_histograms(reply).into_iter().find(|(known, _)| known == name).unwrap().1
    }

    #[test]
    fn both_protocols_say_the_same_and_an_old_server_nothing() {
        for release in ["r70", "r82", "v91"] {
            let path = |protocol: &str| format!("redis-wire/{release}.latency_histogram.{protocol}");
            let Some(flat) = reply_fixture(&path("resp2")) else { return };
            let maps = reply_fixture(&path("resp3")).unwrap();
            let read = read_histograms(&flat);
            assert!(read.len() > 10, "{release}: {} commands", read.len());
            // The second was asked for after the first, which cost time too.
            let others = |read: &[(String, Histogram)]| -> Vec<_> {
                read.iter().filter(|(name, _)| !name.starts_with("latency|")).cloned().collect()
            };
            assert!(others(&read) == others(&read_histograms(&maps)), "{release}");
            for (name, histogram) in &read {
                assert!(histogram.counts.is_sorted(), "{name} in {release}");
                assert_eq!(histogram.counts.last(), Some(&histogram.count), "{name} in {release}");
            }
        }
        let Some(refused) = reply_fixture("redis-wire/r62.latency_histogram.resp2") else { return };
        assert_eq!(read_histograms(&refused), []);
    }

    #[test]
    fn buckets_that_are_left_out_hold_what_the_one_before_holds() {
        let Some(reply) = reply_fixture("redis-wire/r82.latency_histogram.resp2") else { return };
        // 2 calls within 4 us, 5 within 8, 15 within 16, 17 within 66.
        let told = of(&reply, "command|info");
        assert_eq!(told.count, 17.0);
        assert_eq!(told.counts[..8], [0.0, 0.0, 2.0, 5.0, 15.0, 15.0, 17.0, 17.0]);
        let Some(Percentile::Value(median)) = told.percentile(0.5) else { panic!("{told:?}") };
        assert!((8e-6..17e-6).contains(&median), "{median}");
    }

    #[test]
    fn two_replies_with_other_buckets_can_be_subtracted() {
        let reply = |buckets: &str, calls: u32| {
            let count = buckets.split(' ').count();
            let numbers: String = buckets.split(' ').map(|number| format!(":{number}\r\n")).collect();
            let text =
                format!("*2\r\n+get\r\n*4\r\n+calls\r\n:{calls}\r\n+histogram_usec\r\n*{count}\r\n{numbers}");
            of(&redis::parse_redis_value(text.as_bytes()).unwrap(), "get")
        };
        let (before, after) = (reply("2 10 33 11", 11), reply("1 4 2 14 33 16 8454 17", 17));
        let gained = after.since(&before).unwrap();
        assert_eq!((gained.count, gained.counts[0], gained.counts[1]), (6.0, 4.0, 4.0));
        let Some(Percentile::Value(slowest)) = gained.percentile(0.99) else { panic!("{gained:?}") };
        assert!((4e-3..8.5e-3).contains(&slowest), "{slowest}");
    }
}
