//! INFO keysizes of Redis 8.0 and later: how many keys of which size, by the server's own count and for free.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Event, KeySizes, SizeBin};

use super::allowed::{Command, Release};
use super::look::{Look, Seldom};
use super::reply::text;
use super::trouble::Trouble;

/// How often the sizes are asked for: they change slowly.
const ASKED_EVERY: Duration = Duration::from_secs(60);

/// What stands between a database's number and what is counted: `db0_distrib_strings_sizes`.
const MARK: &str = "_distrib_";

/// The most rows and bins that are kept: more than any version has.
const MOST_ROWS: usize = 32;

/// When the sizes were asked for.
#[derive(Debug, Default)]
pub(super) struct KeySizesWatch {
    turn: Seldom,
}

impl KeySizesWatch {
    /// Asks for the sizes when they are due, where the server counts them. A refusal takes nothing from anybody else.
    pub(super) async fn look(&mut self, look: &mut Look<'_>) -> Result<(), Trouble> {
        if !counts_sizes(look.info.release()) || !self.turn.is_due(look.now, ASKED_EVERY) {
            return Ok(());
        }
        let reply = look.ask_quietly(Command::Info(&["keysizes"])).await?;
        let sizes = reply.as_ref().and_then(text).and_then(|text| read_key_sizes(&text));
        look.reading.events.extend(sizes.map(Event::KeySizes));
        Ok(())
    }
}

fn counts_sizes(release: Release) -> bool {
    !release.is_valkey && release.version >= (8, 0)
}

/// Reads the section, all databases together; `None` where there is none.
pub(super) fn read_key_sizes(info: &str) -> Option<KeySizes> {
    let mut rows: BTreeMap<&str, BTreeMap<u64, u64>> = BTreeMap::new();
    for (name, bins) in info.lines().filter_map(|line| line.trim().split_once(':')) {
        let Some((database, row)) = name.split_once(MARK) else { continue };
        let is_database = database.strip_prefix("db").is_some_and(|number| number.parse::<u32>().is_ok());
        if !is_database || rows.len() >= MOST_ROWS && !rows.contains_key(row) {
            continue;
        }
        let known = rows.entry(row).or_default();
        for (from, keys) in bins.split(',').filter_map(read_bin) {
            let bin = known.entry(from).or_default();
            *bin = bin.saturating_add(keys);
        }
    }
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(row, bins)| {
            let bins = bins.into_iter().map(|(from, keys)| SizeBin { from, keys });
            (RemoteText::new(row), bins.collect())
        })
        .collect();
    (!rows.is_empty()).then_some(KeySizes { rows })
}

/// `1K=12`: twelve keys of 1 024 up to the next bin.
fn read_bin(bin: &str) -> Option<(u64, u64)> {
    let (label, keys) = bin.split_once('=')?;
    let digits = label.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match &label[digits.len()..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return None,
    };
    let from = digits.parse::<u64>().ok()?.checked_mul(1_024_u64.checked_pow(power)?)?;
    // Bins are powers of two: anything else is no bin, and there are at most 65.
    (from == 0 || from.is_power_of_two()).then_some((from, keys.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_every_database_are_added_up() {
        let text = "# Keysizes\r\ndb0_distrib_strings_sizes:0=1,512=3,1K=2,1M=1\r\n\
                    db0_distrib_hashes_items:4K=1\r\ndb3_distrib_strings_sizes:1K=5,3=9,x=1,1Q=1\r\n\
                    dbx_distrib_strings_sizes:1=1\r\nused_memory:5\r\n";
        let sizes = read_key_sizes(text).unwrap();
        let bin = |from, keys| SizeBin { from, keys };
        assert_eq!(
            sizes.rows,
            [
                ("hashes_items".into(), vec![bin(4_096, 1)]),
                ("strings_sizes".into(), vec![bin(0, 1), bin(512, 3), bin(1_024, 7), bin(1_048_576, 1)]),
            ]
        );
        assert_eq!(read_key_sizes("# Keyspace\r\ndb0:keys=1,expires=0\r\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,200}", bins in "([0-9]{0,20}[KMGTPEQ]?=[0-9]{0,21},?){0,9}") {
            let _ = read_key_sizes(&text);
            let sizes = read_key_sizes(&format!("db0_distrib_x:{bins}"));
            proptest::prop_assert!(sizes.unwrap().rows[0].1.len() <= 65);
        }
    }
}
