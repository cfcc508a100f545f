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
use crate::sources::redis::scan::{Pace, read_scan};

/// How many keys one SCAN asks for.
const BATCH: u32 = 100;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// A counter from which on a key is read at all: new keys begin with 5.
const WORTH_TELLING: u64 = 6;

/// Looks at every key within the budget of a scan.
pub(super) async fn search(run: &mut Run) -> Result<(), End> {
    let budget = run.job.budget.scan;
    let mut pace = Pace::new(budget.core_share, Instant::now());
    let (mut cursor, mut told) = (0, Instant::now());
    let mut calls: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut hottest: Vec<(u64, Vec<u8>)> = vec![];
    let began = Instant::now();
    run.tell(ScanState::Running).await;
    loop {
        let (connection, deadline) = run.open().await?;
        if pace.wants_measure(Instant::now())
            && let Ok(reply) = connection.ask(Command::Info(&["commandstats"]), deadline).await
            && let Some(text) = text(&reply)
        {
            pace.measure(&Info::parse(&text), &calls, Instant::now());
        }
        let reply = connection.ask(Command::Scan(cursor, BATCH), deadline).await?;
        let Some((next, keys)) = read_scan(&reply) else {
            return Err(End::Early("SCAN is answered with something else".to_owned()));
        };
        let commands: Vec<_> = keys.iter().map(|key| Command::ObjectFreq(key)).collect();
        for (key, answer) in keys.iter().zip(connection.ask_all(&commands, deadline).await?) {
            match answer {
                Ok(reply) => {
                    if let Some(frequency) = integer(&reply).and_then(|number| u64::try_from(number).ok()) {
                        keep(&mut hottest, frequency, key);
                    }
                }
                // Gone to another node with its slot.
                Err(trouble) if trouble.code.as_deref() == Some("MOVED") => {}
                Err(trouble) if trouble.is_unknown_command() => {
                    return Err(End::Refused(
                        "its maxmemory-policy counts no reads: one of the LFU kind does".to_owned(),
                    ));
                }
                Err(trouble) => return Err(trouble.into()),
            }
        }
        pace.spent(keys.len());
        for (name, sent) in [("SCAN", 1), ("OBJECT FREQ", keys.len() as u64)] {
            *calls.entry(name).or_default() += sent;
        }
        run.search.counted += keys.len() as u64;
        run.search.seconds = began.elapsed().as_secs_f64();
        cursor = next;
        if cursor == 0 {
            run.search.keys = told_keys(run, &hottest);
            return Ok(());
        }
        if told.elapsed() >= PROGRESS_EVERY {
            told = Instant::now();
            run.search.keys = told_keys(run, &hottest);
            run.tell(ScanState::Running).await;
        }
        if run.search.counted >= budget.most_keys || began.elapsed() >= budget.longest {
            run.search.keys = told_keys(run, &hottest);
            let why = format!("{} keys looked at, as many as was allowed", run.search.counted);
            return Err(End::Early(why));
        }
        run.while_paused().await;
        tokio::time::sleep_until(pace.next_at()).await;
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
