//! Stalls that the server's own latency monitor saw: LATENCY LATEST.
//!
//! The monitor is off by default, and then the reply is empty: that is not "no stalls", so it is said.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::metric::REDIS_LATENCY_EVENT;
use headwater_engine::reading::Value;
use redis::Value as Reply;

use super::allowed::Command;
use super::look::{Look, Seldom};
use super::reply::{integer, items, text};
use super::trouble::Trouble;

/// How often it is asked for.
const EVERY: Duration = Duration::from_secs(10);

/// How often an empty reply makes us ask whether the monitor is on.
const THRESHOLD_EVERY: Duration = Duration::from_secs(300);

/// A stall from before the first look is told when it is not older than this, in seconds.
const RECENT_S: u64 = 60;

/// Kinds of stall that are told apart; modules can make up names.
const KINDS: usize = 32;

/// The setting above which stalls are noted, in milliseconds; 0 is off.
const THRESHOLD: &str = "latency-monitor-threshold";

/// What a node may lack, in the words that users see.
const WHAT: &str = "LATENCY LATEST";
const MONITOR: &str = "the server's own latency monitor";

/// One kind of stall with its newest case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stall {
    /// The server's word for the kind, such as `fork` or `expire-cycle`.
    pub kind: String,
    /// When it ended, in seconds by the server's clock.
    pub at_s: u64,
    /// How long it took.
    pub took: Duration,
}

/// When a node is asked for its stalls, and which are told already.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    turn: Seldom,
    threshold_turn: Seldom,
    told: BTreeMap<String, u64>,
    has_looked: bool,
}

impl Stalls {
    /// Asks for stalls when that is due; each new one becomes a sample. Its time is that of the reading, by which it may
    /// be over for as long as [`EVERY`], and for [`RECENT_S`] at the first look: no onset can be dated by it.
    pub(super) async fn look(&mut self, look: &mut Look<'_>) -> Result<(), Trouble> {
        if !self.turn.is_due(look.now, EVERY) {
            return Ok(());
        }
        let Some(reply) = look.ask(WHAT, Command::LatencyLatest).await? else { return Ok(()) };
        let stalls = read_stalls(&reply);
        if stalls.is_empty() {
            return self.look_whether_on(look).await;
        }
        look.lacks.end(look.reading, MONITOR);
        for stall in self.take(stalls, look.reading.source_clock_us.map(|clock| clock / 1_000_000)) {
            let took = Value::Gauge(stall.took.as_secs_f64());
            look.reading.part(look.subject, REDIS_LATENCY_EVENT, &stall.kind, took);
        }
        Ok(())
    }

    /// The stalls that are new.
    fn take(&mut self, stalls: Vec<Stall>, clock_s: Option<u64>) -> Vec<Stall> {
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        // What a restart or a reset took away may come again.
        self.told.retain(|kind, _| stalls.iter().any(|stall| stall.kind == *kind));
        let mut fresh = vec![];
        for stall in stalls.into_iter().take(KINDS) {
            let is_new = self.told.insert(stall.kind.clone(), stall.at_s) != Some(stall.at_s);
            let is_recent = clock_s.is_some_and(|now| now.saturating_sub(stall.at_s) <= RECENT_S);
            if is_new && (!is_first || is_recent) {
                fresh.push(stall);
            }
        }
        fresh
    }

    async fn look_whether_on(&mut self, look: &mut Look<'_>) -> Result<(), Trouble> {
        self.has_looked = true;
        self.told.clear();
        if !self.threshold_turn.is_due(look.now, THRESHOLD_EVERY) {
            return Ok(());
        }
        let Some(reply) = look.ask(MONITOR, Command::ConfigGet(THRESHOLD)).await? else { return Ok(()) };
        let state = match items(&reply).and_then(|pair| integer(pair.get(1)?)) {
            Some(0) => "it is off",
            Some(_) => return Ok(()),
            None => "nobody says whether it is on",
        };
        let why = format!(
            "{state} ({THRESHOLD}), and no stall of this server is seen: CONFIG SET {THRESHOLD} 100 has it note those of \
             100 ms and more"
        );
        look.lacks.begin(look.reading, MONITOR, &why, look.now);
        Ok(())
    }
}

/// Reads a reply: entries of four elements, of six in later versions, or of more; what cannot be read is left out.
pub(super) fn read_stalls(reply: &Reply) -> Vec<Stall> {
    let entries = items(reply).unwrap_or_default().iter();
    entries
        .filter_map(|entry| {
            let [kind, at, took, ..] = items(entry)? else { return None };
            Some(Stall {
                kind: text(kind)?.into_owned(),
                at_s: u64::try_from(integer(at)?).ok()?,
                took: Duration::from_millis(u64::try_from(integer(took)?).ok()?),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::reply_fixture;
    use super::*;

    fn stall(kind: &str, at_s: u64, ms: u64) -> Stall {
        Stall { kind: kind.to_owned(), at_s, took: Duration::from_millis(ms) }
    }

    #[test]
    fn entries_of_four_and_six_elements_are_read() {
        let cases = [("r70", 4), ("r82", 4), ("v91", 6)];
        for (release, elements) in cases {
            let Some(reply) = reply_fixture(&format!("redis-wire/{release}.latency_latest.resp2")) else {
                return;
            };
            let entries = items(&reply).unwrap();
            assert_eq!(items(&entries[0]).unwrap().len(), elements, "{release}");
            let stalls = read_stalls(&reply);
            assert_eq!(stalls.len(), entries.len(), "{release}");
            assert!(
                stalls.iter().all(|stall| stall.at_s > 1_700_000_000 && !stall.took.is_zero()),
                "{stalls:?}"
            );
        }
        let odd =
            redis::parse_redis_value(b"*3\r\n*2\r\n+fork\r\n:1\r\n:7\r\n*3\r\n+aof-write\r\n:5\r\n:250\r\n")
                .unwrap();
        assert_eq!(read_stalls(&odd), [stall("aof-write", 5, 250)]);
    }

    #[test]
    fn a_stall_is_told_once_and_an_old_one_from_before_not_at_all() {
        let mut stalls = Stalls::default();
        let seen = |fork_at: u64| vec![stall("fork", fork_at, 200), stall("command", 990, 20)];
        assert_eq!(stalls.take(seen(100), Some(1_000)), [stall("command", 990, 20)]);
        assert_eq!(stalls.take(seen(100), Some(1_010)), []);
        assert_eq!(stalls.take(seen(1_015), Some(1_020)), [stall("fork", 1_015, 200)]);
        assert_eq!(stalls.take(seen(1_015), Some(1_030)), []);
    }
}
