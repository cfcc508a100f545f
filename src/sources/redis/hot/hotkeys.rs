//! HOTKEYS: the server itself counts a sample of its commands for a while.
//!
//! One count runs at a time, and it may be somebody else's: then it is read and neither ended nor replaced. A Valkey that
//! has a command of that name counts always and is only read. No server that has it was at hand when this was written: the
//! readers follow what is documented and take all the forms that replies have had.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{KeyHeat, ScanState};
use headwater_engine::slot::slot_of;
use redis::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{End, KEEP, Run, heat, share};
use crate::sources::redis::allowed::{Command, Release};
use crate::sources::redis::connection::Connection;
use crate::sources::redis::info::Info;
use crate::sources::redis::reply::{bytes, field, integer, items, pairs, text};
use crate::sources::redis::trouble::Trouble;

/// How long the server counts, in seconds.
const COUNT_FOR: u32 = 10;

/// How often its counts are read.
const READ_EVERY: Duration = Duration::from_secs(1);

/// One command in so many is looked at: one more for so many operations a second, at most a hundred.
const OPERATIONS_A_SAMPLE: f64 = 5_000.0;
const MOST_SPARING: f64 = 100.0;

/// What a server counts because it was asked to. It is asked in a task of its own, so that its answer is heard even
/// when the search is cancelled on the way: a count whose beginning is not known is nobody's to end.
#[derive(Default)]
pub(super) enum Count {
    /// Nothing of ours.
    #[default]
    None,
    /// It was asked; the answer is on its way.
    Asked(JoinHandle<Asked>),
    /// Ours began at this time of the server's clock, in milliseconds.
    Since(i64),
}

/// The connection that asked, and the answers to HOTKEYS START and to the first GET.
type Asked = (Connection, Result<Vec<Result<Value, Trouble>>, Trouble>);

/// What a server has counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::sources::redis) struct Counted {
    is_active: bool,
    started_ms: Option<i64>,
    seconds: f64,
    keys: Vec<KeyHeat>,
}

/// Has the server count, or reads what somebody else has it count.
pub(super) async fn search(run: &mut Run) -> Result<(), End> {
    let (release, operations) = server(run).await?;
    if release.is_valkey {
        return read_once(run, operations).await;
    }
    if let Some(counted) = counts(run).await?.filter(|counted| counted.is_active) {
        take(run, counted);
        return Err(End::Early(
            "somebody else has the server count: these are the numbers of that count, and it goes on"
                .to_owned(),
        ));
    }
    let sample = (operations / OPERATIONS_A_SAMPLE).clamp(1.0, MOST_SPARING) as u32;
    let (_, deadline) = run.open().await?;
    let Some(mut connection) = run.connection.take() else { return Ok(()) };
    let start = Command::HotkeysStart { count: KEEP as u32, seconds: COUNT_FOR, sample };
    run.count = Count::Asked(tokio::spawn(async move {
        let answers = connection.ask_all(&[start, Command::HotkeysGet], deadline).await;
        (connection, answers)
    }));
    let ours = begun(run).await?;
    run.search.seconds_in_all = f64::from(COUNT_FOR);
    run.tell(ScanState::Running).await;
    let began = Instant::now();
    for look in 1..=COUNT_FOR {
        tokio::time::sleep_until(began + READ_EVERY * look).await;
        let Some(counted) = counts(run).await? else { continue };
        // Whoever resets ours and starts one in between has it from then on.
        if counted.started_ms != ours {
            run.count = Count::None;
            return Err(End::Early("somebody else has the server count anew".to_owned()));
        }
        take(run, counted);
        run.tell(ScanState::Running).await;
    }
    // It ends by itself at about this time.
    Ok(())
}

/// Waits for the answer to a count that was asked for, and says since when it goes on, where the server tells.
async fn begun(run: &mut Run) -> Result<Option<i64>, End> {
    let Count::Asked(asked) = &mut run.count else { return Ok(None) };
    // Where the task has died nothing is known of the count: it ends by itself.
    let outcome = asked.await.map_err(|_| End::Early("the server was not asked".to_owned()));
    run.count = Count::None;
    let (connection, answers) = outcome?;
    run.connection = Some(connection);
    let mut answers = answers?.into_iter();
    answers.next().transpose()?;
    let counted = answers.next().and_then(Result::ok).as_ref().and_then(read_hotkeys);
    let since = counted.filter(|counted| counted.is_active).and_then(|counted| counted.started_ms);
    run.count = since.map_or(Count::None, Count::Since);
    Ok(since)
}

/// Ends the count that we started, if it is still the one that goes on; a server that cannot be asked ends it by itself.
pub(super) async fn stop(run: &mut Run) {
    // The search may have been cancelled before it was known whether there is one.
    let _ = begun(run).await;
    let Count::Since(ours) = std::mem::take(&mut run.count) else { return };
    let is_ours = |counted: Counted| counted.is_active && counted.started_ms == Some(ours);
    if let Ok(Some(counted)) = counts(run).await
        && is_ours(counted)
        && let Ok((connection, deadline)) = run.open().await
    {
        let _ = connection.ask(Command::HotkeysStop, deadline).await;
    }
}

async fn read_once(run: &mut Run, operations: f64) -> Result<(), End> {
    let (connection, deadline) = run.open().await?;
    let reply = connection.ask(Command::HotkeysGet, deadline).await?;
    run.search.keys = read_valkey_hotkeys(&reply, operations);
    leave_slots_out(run);
    if run.search.keys.is_empty() {
        return Err(End::Refused(
            "it has counted nothing: its setting for hot keys has to be above 0 for a while".to_owned(),
        ));
    }
    Ok(())
}

async fn server(run: &mut Run) -> Result<(Release, f64), End> {
    let (connection, deadline) = run.open().await?;
    let mut read = String::new();
    // Before 7.0 one section a question.
    for section in ["server", "stats"] {
        let reply = connection.ask(Command::Info(&[section]), deadline).await?;
        read.push_str(&text(&reply).unwrap_or_default());
    }
    let info = Info::parse(&read);
    Ok((info.release(), info.number("instantaneous_ops_per_sec").unwrap_or(0.0)))
}

async fn counts(run: &mut Run) -> Result<Option<Counted>, End> {
    let (connection, deadline) = run.open().await?;
    let reply = connection.ask(Command::HotkeysGet, deadline).await?;
    Ok(read_hotkeys(&reply))
}

fn take(run: &mut Run, counted: Counted) {
    run.search.seconds = counted.seconds;
    run.search.keys = counted.keys;
    leave_slots_out(run);
}

/// A standalone server has no slots.
fn leave_slots_out(run: &mut Run) {
    if !run.job.clustered {
        run.search.keys.iter_mut().for_each(|key| key.slot = None);
    }
}

/// The counts in a reply of Redis; `None` where nothing was counted. Some releases wrap what they answer once more.
pub(in crate::sources::redis) fn read_hotkeys(reply: &Value) -> Option<Counted> {
    let mut reply = reply;
    while let Some([inner]) = items(reply) {
        reply = inner;
    }
    let number = |name: &str| field(reply, name).and_then(integer).filter(|number| *number >= 0);
    let is_active = number("tracking-active")? != 0;
    // One command in so many was looked at; the totals are of all.
    let sample = number("sample-ratio").unwrap_or(1).max(1) as f64;
    let total = |name: &str| number(name).map_or(0.0, |number| number as f64);
    let mut keys: BTreeMap<&[u8], KeyHeat> = BTreeMap::new();
    let mut take = |list: &str, total: f64, set: fn(&mut KeyHeat, Option<f64>)| {
        let rows = numbers(field(reply, list));
        // More than there was in all: then what is told is no sample any more.
        let is_scaled = rows.iter().map(|(_, value)| value).sum::<f64>() * sample > total * 1.05;
        let factor = if is_scaled { 1.0 } else { sample };
        for (key, value) in rows {
            let heat = keys.entry(key).or_insert_with(|| heat(key, Some(slot_of(key))));
            set(heat, share(value * factor, total));
        }
    };
    take("by-cpu-time-us", total("all-commands-all-slots-us"), |heat, share| heat.cpu_share = share);
    take("by-net-bytes", total("net-bytes-all-commands-all-slots"), |heat, share| heat.bytes_share = share);
    let mut keys: Vec<_> = keys.into_values().collect();
    sort_by_heat(&mut keys, |key| key.greatest_share());
    Some(Counted {
        is_active,
        started_ms: number("collection-start-time-unix-ms"),
        seconds: total("collection-duration-ms") / 1e3,
        keys,
    })
}

/// The counts in a reply of Valkey: rows of key, database and calls a second, in whatever form; shares are of so many
/// operations a second, where that is known.
pub(in crate::sources::redis) fn read_valkey_hotkeys(reply: &Value, operations: f64) -> Vec<KeyHeat> {
    let row = |row: &Value| {
        let named = field(row, "key").zip(field(row, "qps"));
        let (key, rate) = named.or_else(|| match items(row)? {
            [key, _, rate] => Some((key, rate)),
            _ => None,
        })?;
        let rate = text(rate).and_then(|text| text.parse().ok()).or_else(|| match rate {
            Value::Double(rate) => Some(*rate),
            whole => integer(whole).map(|whole| whole as f64),
        });
        let per_second: f64 = rate.filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)?;
        let key = bytes(key)?;
        Some(KeyHeat {
            per_second: Some(per_second),
            operations_share: share(per_second, operations),
            ..heat(key, Some(slot_of(key)))
        })
    };
    let mut keys: Vec<_> = items(reply).unwrap_or_default().iter().filter_map(row).collect();
    sort_by_heat(&mut keys, |key| key.per_second);
    keys
}

fn sort_by_heat(keys: &mut Vec<KeyHeat>, heat: fn(&KeyHeat) -> Option<f64>) {
    keys.sort_by(|a, b| heat(b).unwrap_or(0.0).total_cmp(&heat(a).unwrap_or(0.0)));
    keys.truncate(KEEP);
}

/// Keys with their numbers: one after the other, as a map, or pair by pair.
fn numbers(list: Option<&Value>) -> Vec<(&[u8], f64)> {
    let Some(list) = list else { return vec![] };
    let rows = items(list).unwrap_or_default();
    let found = match rows.iter().any(|row| items(row).is_some()) {
        true => rows.iter().flat_map(pairs).collect(),
        false => pairs(list),
    };
    let read = |(key, value)| Some((bytes(key)?, integer(value).filter(|number| *number >= 0)? as f64));
    found.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn fields() -> Vec<(Value, Value)> {
        let numbers = [
            ("tracking-active", 1),
            ("sample-ratio", 10),
            ("all-commands-all-slots-us", 10_000),
            ("net-bytes-all-commands-all-slots", 2_000),
            ("collection-start-time-unix-ms", 1_769_420_604_522),
            ("collection-duration-ms", 6_408),
        ];
        let mut fields: Vec<_> =
            numbers.iter().map(|(name, number)| (word(name), Value::Int(*number))).collect();
        let list = |rows: &[(&str, i64)]| {
            Value::Array(rows.iter().flat_map(|(key, value)| [word(key), Value::Int(*value)]).collect())
        };
        fields.push((word("by-cpu-time-us"), list(&[("x", 700), ("y", 98)])));
        fields.push((word("by-net-bytes"), list(&[("z", 80), ("x", 10)])));
        fields
    }

    #[test]
    fn all_forms_of_a_reply_say_the_same() {
        let flat = Value::Array(fields().into_iter().flat_map(|(name, value)| [name, value]).collect());
        let map = Value::Map(fields());
        let wrapped = Value::Array(vec![map.clone()]);
        let wrapped_flat = Value::Array(vec![flat.clone()]);
        let counted = read_hotkeys(&flat).unwrap();
        for other in [map, wrapped, wrapped_flat] {
            assert_eq!(read_hotkeys(&other).as_ref(), Some(&counted));
        }
        assert!(counted.is_active && (counted.seconds - 6.408).abs() < 1e-9);
        let shares: Vec<_> =
            counted.keys.iter().map(|key| (key.key.as_str(), key.cpu_share, key.bytes_share)).collect();
        let expected = [("x", Some(0.7), Some(0.05)), ("z", None, Some(0.4)), ("y", Some(0.098), None)];
        assert_eq!(shares, expected);
    }

    #[test]
    fn nothing_counted_is_nothing() {
        for reply in [Value::Nil, Value::Array(vec![]), Value::Array(vec![Value::Nil]), word("OK")] {
            assert_eq!(read_hotkeys(&reply), None);
            assert_eq!(read_valkey_hotkeys(&reply, 1.0), vec![]);
        }
    }

    #[test]
    fn rows_of_valkey_are_read_in_every_form() {
        let named = |key: &str, rate: i64| {
            Value::Map(vec![
                (word("key"), word(key)),
                (word("db"), Value::Int(0)),
                (word("qps"), Value::Int(rate)),
            ])
        };
        let Value::Map(pairs) = named("b", 300) else { unreachable!() };
        let flat = Value::Array(pairs.into_iter().flat_map(|(name, value)| [name, value]).collect());
        let bare = Value::Array(vec![word("c"), Value::Int(0), word("25.5")]);
        let keys = read_valkey_hotkeys(&Value::Array(vec![named("a", 100), flat, bare]), 1_000.0);
        let rates: Vec<_> = keys
            .iter()
            .map(|key| (key.key.as_str(), key.per_second.unwrap(), key.operations_share.unwrap()))
            .collect();
        assert_eq!(rates, [("b", 300.0, 0.3), ("a", 100.0, 0.1), ("c", 25.5, 0.0255)]);
    }
}
