//! Which slot is hot, by what the server counts of each: CLUSTER SLOT-STATS, twice and a third time, and the difference.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{FaultKind, KeyHeat, ScanState, SlotHeat};
use redis::Value;
use tokio::time::Instant;

use super::{End, KEEP, Run, heat, share};
use crate::sources::redis::allowed::Command;
use crate::sources::redis::reply::{bytes, field, integer, items};
use crate::sources::redis::topology::SLOTS;

/// When the counts are read again after the first time. All slots are read: one that became hot just now is not among
/// the first by what was counted since the start. A call takes a server some 3 ms for all 16 384 slots.
const LOOKS: [Duration; 2] = [Duration::from_millis(1_500), Duration::from_secs(5)];

/// What the server may order by, best first: newer servers can be told to count some of these alone.
const ORDERS: [&str; 2] = ["cpu-usec", "network-bytes-out"];

/// How many slots are asked for their keys, from this share of the node's work on.
const NAMED_SLOTS: usize = 8;
const NAMED_FROM: f64 = 0.02;

/// With more keys in a slot than this none of them is named.
const FEW_KEYS: usize = 10;

/// What is needed, in the words that users see.
const NEEDED: &str = "it does not count slots: CONFIG SET cluster-slot-stats-enabled yes makes it";

/// What a server has counted of one slot since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::sources::redis) struct SlotCounts {
    keys: u64,
    cpu_us: Option<f64>,
    bytes: Option<f64>,
}

/// Counts for a few seconds and names the keys of the hottest slots.
pub(super) async fn search(run: &mut Run) -> Result<(), End> {
    run.search.seconds_in_all = LOOKS[LOOKS.len() - 1].as_secs_f64();
    let first = counts(run).await?;
    let mut may_name = true;
    let began = Instant::now();
    run.tell(ScanState::Running).await;
    for look in LOOKS {
        tokio::time::sleep_until(began + look).await;
        run.while_paused().await;
        let then = counts(run).await?;
        run.search.seconds = began.elapsed().as_secs_f64();
        run.search.slots = hottest(&first, &then);
        run.search.keys = named(run, &mut may_name).await?;
        run.tell(ScanState::Running).await;
    }
    Ok(())
}

async fn counts(run: &mut Run) -> Result<BTreeMap<u16, SlotCounts>, End> {
    let (connection, deadline) = run.open().await?;
    for order in ORDERS {
        match connection.ask(Command::ClusterSlotStats(order, u32::from(SLOTS)), deadline).await {
            Ok(reply) => {
                let counts = read_slot_stats(&reply);
                if !counts.is_empty() && counts.values().all(|slot| slot.cpu_us.or(slot.bytes).is_none()) {
                    return Err(End::Refused(NEEDED.to_owned()));
                }
                return Ok(counts);
            }
            // It knows the command and not the order.
            Err(trouble) if trouble.says("sort metric") => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Err(End::Refused(NEEDED.to_owned()))
}

/// The counts in a reply of CLUSTER SLOT-STATS; what cannot be read is left out.
pub(in crate::sources::redis) fn read_slot_stats(reply: &Value) -> BTreeMap<u16, SlotCounts> {
    let slot = |row: &Value| {
        let [slot, stats] = items(row)? else { return None };
        let number = |name: &str| field(stats, name).and_then(integer).filter(|number| *number >= 0);
        let exact = |name: &str| number(name).map(|number| number as f64);
        let counts = SlotCounts {
            keys: number("key-count").unwrap_or(0).unsigned_abs(),
            cpu_us: exact("cpu-usec"),
            bytes: match (exact("network-bytes-in"), exact("network-bytes-out")) {
                (None, None) => None,
                (received, sent) => Some(received.unwrap_or(0.0) + sent.unwrap_or(0.0)),
            },
        };
        Some((u16::try_from(integer(slot)?).ok().filter(|slot| *slot < SLOTS)?, counts))
    };
    items(reply).unwrap_or_default().iter().filter_map(slot).collect()
}

/// The slots with the greatest shares of what was counted in between, hottest first.
fn hottest(first: &BTreeMap<u16, SlotCounts>, then: &BTreeMap<u16, SlotCounts>) -> Vec<SlotHeat> {
    let none = SlotCounts::default();
    let grown = |slot: u16, count: &SlotCounts, of: fn(&SlotCounts) -> Option<f64>| {
        let before = of(first.get(&slot).unwrap_or(&none)).unwrap_or(0.0);
        // Below what it was the server began anew: then all of it is new.
        of(count).map(|now| if now >= before { now - before } else { now })
    };
    let grown: Vec<_> = then
        .iter()
        .map(|(slot, count)| {
            let (cpu, bytes) = (grown(*slot, count, |c| c.cpu_us), grown(*slot, count, |c| c.bytes));
            (*slot, count.keys, cpu, bytes)
        })
        .collect();
    let all_cpu: f64 = grown.iter().filter_map(|(.., cpu, _)| *cpu).sum();
    let all_bytes: f64 = grown.iter().filter_map(|(.., bytes)| *bytes).sum();
    let mut heats: Vec<_> = grown
        .into_iter()
        .map(|(slot, keys, cpu, bytes)| SlotHeat {
            slot,
            keys,
            cpu_share: cpu.and_then(|cpu| share(cpu, all_cpu)),
            bytes_share: bytes.and_then(|bytes| share(bytes, all_bytes)),
        })
        .filter(|heat| greatest(heat) > 0.0)
        .collect();
    heats.sort_by(|a, b| greatest(b).total_cmp(&greatest(a)).then(a.slot.cmp(&b.slot)));
    heats.truncate(KEEP);
    heats
}

fn greatest(heat: &SlotHeat) -> f64 {
    heat.cpu_share.unwrap_or(0.0).max(heat.bytes_share.unwrap_or(0.0))
}

/// The keys of the hottest slots: one that is alone in its slot has the slot's shares; of a few it is not known which.
/// After a refusal no more is asked, because each is logged at the server.
async fn named(run: &mut Run, may_name: &mut bool) -> Result<Vec<KeyHeat>, End> {
    let slots: Vec<_> = run
        .search
        .slots
        .iter()
        .take(NAMED_SLOTS)
        .filter(|heat| greatest(heat) >= NAMED_FROM)
        .cloned()
        .collect();
    let mut keys: Vec<KeyHeat> = vec![];
    for slot in slots {
        if !*may_name {
            break;
        }
        let (connection, deadline) = run.open().await?;
        let most = FEW_KEYS as u32 + 1;
        let reply = connection.ask(Command::ClusterKeysInSlot(slot.slot, most), deadline).await;
        let found = match &reply {
            Ok(reply) => items(reply).unwrap_or_default().iter().filter_map(bytes).collect(),
            Err(trouble) if trouble.ends_connection => return Err(trouble.clone().into()),
            // The slots alone are worth something.
            Err(trouble) => {
                *may_name = trouble.kind != FaultKind::Denied;
                vec![]
            }
        };
        match found.as_slice() {
            [only] => keys.push(KeyHeat {
                cpu_share: slot.cpu_share,
                bytes_share: slot.bytes_share,
                ..heat(only, Some(slot.slot))
            }),
            few if few.len() <= FEW_KEYS => keys.extend(few.iter().map(|key| heat(key, Some(slot.slot)))),
            _ => {}
        }
    }
    // Those whose share is known come first, in the order of their slots.
    keys.sort_by_key(|key| Reverse(key.greatest_share().is_some()));
    keys.truncate(KEEP);
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: &[(u16, f64, f64)]) -> BTreeMap<u16, SlotCounts> {
        let count = |cpu: f64, bytes: f64| SlotCounts { keys: 1, cpu_us: Some(cpu), bytes: Some(bytes) };
        rows.iter().map(|(slot, cpu, bytes)| (*slot, count(*cpu, *bytes))).collect()
    }

    #[test]
    fn what_grew_in_between_counts_and_not_what_was_counted_before() {
        let first = counts(&[(1, 1e9, 1e9), (2, 10.0, 10.0), (3, 500.0, 5.0)]);
        let then = counts(&[(1, 1e9 + 10.0, 1e9), (2, 80.0, 40.0), (3, 20.0, 15.0)]);
        let heats = hottest(&first, &then);
        // Slot 3 began anew: its 20 us are all new.
        let shares: Vec<_> = heats.iter().map(|heat| (heat.slot, heat.cpu_share.unwrap())).collect();
        assert_eq!(shares, [(2, 0.7), (3, 0.2), (1, 0.1)]);
        assert!((heats[0].bytes_share.unwrap() - 0.75).abs() < 1e-9);
        assert!(hottest(&then, &then).is_empty(), "nothing grew");
    }

    #[test]
    fn both_forms_of_a_reply_are_read_and_odd_rows_cost_only_themselves() {
        let word = |text: &str| Value::BulkString(text.into());
        let flat = Value::Array(vec![word("key-count"), Value::Int(3), word("cpu-usec"), Value::Int(49)]);
        let map =
            Value::Map(vec![(word("network-bytes-in"), Value::Int(7)), (word("cpu-usec"), Value::Int(-1))]);
        let row = |slot: i64, stats: Value| Value::Array(vec![Value::Int(slot), stats]);
        let reply = Value::Array(vec![row(5, flat.clone()), row(70_000, flat), row(6, map), Value::Nil]);
        let counts = read_slot_stats(&reply);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [5, 6]);
        assert_eq!(counts[&5], SlotCounts { keys: 3, cpu_us: Some(49.0), bytes: None });
        assert_eq!(counts[&6], SlotCounts { keys: 0, cpu_us: None, bytes: Some(7.0) });
    }
}
