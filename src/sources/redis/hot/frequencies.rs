//! Which keys are read often, by the counters that eviction of the LFU kind keeps: OBJECT FREQ of every key.
//!
//! The counters are logarithms that fade, so they rank keys and give no shares. Each node counts what is read there.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{KeyHeat, ScanState};
use tokio::time::Instant;

use super::{End, KEEP, Run, heat};
use crate::sources::redis::allowed::Command;
use crate::sources::redis::info::Info;
use crate::sources::redis::reply::{integer, text};
use crate::sources::redis::scan::{FIGURES, Pace, figures_of, keys_are_spent, read_scan, time_is_over};

/// How many keys one SCAN asks for at most.
const BATCH: u32 = 100;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// A counter from which on a key is read at all: new keys begin with 5.
const WORTH_TELLING: u64 = 6;

/// One walk over the keys.
struct Walk {
    pace: Pace,
    /// Commands sent, by name.
    calls: BTreeMap<&'static str, u64>,
    /// The sections that INFO is asked for.
    figures: &'static [&'static str],
    /// Whether a counter was answered: every refusal is logged at the server, so one key is asked first.
    may_ask: bool,
    /// The most often read, with their counters.
    hottest: Vec<(u64, Vec<u8>)>,
}

/// Looks at every key within the budget of a scan.
pub(super) async fn search(run: &mut Run) -> Result<(), End> {
    let budget = run.job.budget.scan;
    let mut walk = Walk {
        pace: Pace::new(budget.core_share, Instant::now()),
        calls: BTreeMap::new(),
        figures: FIGURES,
        may_ask: false,
        hottest: vec![],
    };
    let (began, mut told, mut cursor) = (Instant::now(), Instant::now(), 0);
    // What does not count against the time that was allowed, and what does though nothing is asked meanwhile.
    let (mut held, mut waited) = (Duration::ZERO, Duration::ZERO);
    run.tell(ScanState::Running).await;
    let (connection, deadline) = run.open().await?;
    if let Ok(reply) = connection.ask(Command::Info(&["server"]), deadline).await
        && let Some(text) = text(&reply)
    {
        walk.figures = figures_of(Info::parse(&text).release());
    }
    loop {
        walk.measure(run).await?;
        let (connection, deadline) = run.open().await?;
        let batch = walk.pace.batch().min(BATCH);
        let reply = connection.ask(Command::Scan(cursor, batch), deadline).await?;
        *walk.calls.entry("SCAN").or_default() += 1;
        let Some((next, keys)) = read_scan(&reply) else {
            return Err(End::Early("SCAN is answered with something else".to_owned()));
        };
        let first = if walk.may_ask { 0 } else { keys.len().min(1) };
        walk.ask(run, &keys[..first]).await?;
        walk.ask(run, &keys[first..]).await?;
        walk.pace.spent(keys.len());
        run.search.counted += keys.len() as u64;
        run.search.seconds = (began.elapsed() - held).as_secs_f64();
        run.search.keys = told_keys(run, &walk.hottest);
        cursor = next;
        if cursor == 0 {
            return Ok(());
        }
        if told.elapsed() >= PROGRESS_EVERY {
            told = Instant::now();
            run.tell(ScanState::Running).await;
        }
        if run.search.counted >= budget.most_keys {
            return Err(End::Early(keys_are_spent(run.search.counted)));
        }
        let end = began + budget.longest + held;
        if Instant::now() >= end {
            return Err(End::Early(time_is_over(budget.longest, waited)));
        }
        let stood = Instant::now();
        run.while_paused().await;
        held += stood.elapsed();
        waited += run.until_calm(end).await?;
        tokio::time::sleep_until(walk.pace.next_at()).await;
    }
}

impl Walk {
    /// Asks the server what this has cost, where that is due; a refusal leaves the guess.
    async fn measure(&mut self, run: &mut Run) -> Result<(), End> {
        if self.pace.wants_measure(Instant::now()) {
            let (connection, deadline) = run.open().await?;
            if let Ok(reply) = connection.ask(Command::Info(self.figures), deadline).await
                && let Some(text) = text(&reply)
            {
                self.pace.measure(&Info::parse(&text), &self.calls, Instant::now());
            }
        }
        Ok(())
    }

    /// Asks for the counters of these keys.
    async fn ask(&mut self, run: &mut Run, keys: &[&[u8]]) -> Result<(), End> {
        let (connection, deadline) = run.open().await?;
        let commands: Vec<_> = keys.iter().map(|key| Command::ObjectFreq(key)).collect();
        *self.calls.entry("OBJECT FREQ").or_default() += keys.len() as u64;
        for (key, answer) in keys.iter().zip(connection.ask_all(&commands, deadline).await?) {
            match answer {
                Ok(reply) => {
                    if let Some(frequency) = integer(&reply).and_then(|number| u64::try_from(number).ok()) {
                        keep(&mut self.hottest, frequency, key);
                    }
                }
                // Gone to another node with its slot, or on its way there.
                Err(trouble) if trouble.is_elsewhere() => {}
                Err(trouble) if trouble.says("LFU") => {
                    return Err(End::Refused(
                        "its maxmemory-policy counts no reads: one of the LFU kind does".to_owned(),
                    ));
                }
                Err(trouble) => return Err(trouble.into()),
            }
            self.may_ask = true;
        }
        Ok(())
    }
}

fn keep(hottest: &mut Vec<(u64, Vec<u8>)>, frequency: u64, key: &[u8]) {
    let is_cold = hottest.len() >= KEEP && hottest.last().is_some_and(|(last, _)| *last >= frequency);
    // SCAN may return a key twice.
    if frequency < WORTH_TELLING || is_cold || hottest.iter().any(|(_, known)| known == key) {
        return;
    }
    let place = hottest.partition_point(|(known, _)| *known >= frequency);
    hottest.insert(place, (frequency, key.to_vec()));
    hottest.truncate(KEEP);
}

fn told_keys(run: &Run, hottest: &[(u64, Vec<u8>)]) -> Vec<KeyHeat> {
    let mut keys: Vec<_> = hottest
        .iter()
        .map(|(frequency, key)| KeyHeat { frequency: Some(*frequency), ..heat(key, run.slot(key)) })
        .collect();
    keys.sort_by_key(|key| Reverse(key.frequency));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_are_kept_once_and_new_keys_are_not_hot() {
        let mut hottest = vec![];
        for (frequency, key) in [(9, "a"), (200, "b"), (9, "a"), (5, "new"), (30, "c")] {
            keep(&mut hottest, frequency, key.as_bytes());
        }
        let names: Vec<_> =
            hottest.iter().map(|(n, key)| (*n, String::from_utf8_lossy(key).into_owned())).collect();
        assert_eq!(names, [(200, "b".to_owned()), (30, "c".to_owned()), (9, "a".to_owned())]);
        (0..1_000_u32).for_each(|n| keep(&mut hottest, 50, &n.to_be_bytes()));
        assert_eq!((hottest.len(), hottest[0].0), (KEEP, 200));
    }
}
