//! Which keys come most often in a stream of lines, in bounded memory: when there are too many, all but the most often
//! seen are forgotten (space saving, in batches). A key that comes back counts from then on, so what is told was surely
//! seen, and a hot key is never among the forgotten for long.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use headwater_engine::reading::KeyHeat;
use headwater_engine::{Moment, RemoteText};

use super::line::Line;
use crate::sources::redis::hot::{heat, share};
use crate::sources::redis::slowlog::Entry;

/// Keys that are kept when some are forgotten, and how many there may be until then.
const KEPT: usize = 1_024;
const MOST: usize = 4 * KEPT;

/// Of a line this many bytes are looked at: what comes after them are values.
const LONGEST_LINE: usize = 64 * 1024;

/// Of a longer key only the beginning is kept; it stands for all keys with it.
const LONGEST_KEY: usize = 2_048;

/// Words of a command that are looked at to find its key, and keys of one command that are counted.
const WORDS: usize = 32;
const MOST_KEYS: usize = 1_024;

/// What runs a script is not counted: what the script calls comes in lines of its own.
const SCRIPTS: &[&str] = &["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"];

/// Commands whose arguments are all keys, or a key and its value in turn.
const ALL_KEYS: &[(&str, usize)] = &[
    ("MGET", 1),
    ("DEL", 1),
    ("UNLINK", 1),
    ("EXISTS", 1),
    ("TOUCH", 1),
    ("SINTER", 1),
    ("SUNION", 1),
    ("SDIFF", 1),
    ("PFCOUNT", 1),
    ("WATCH", 1),
    ("MSET", 2),
    ("MSETNX", 2),
];

/// Counts keys.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// Our own connections, as the server names them.
    pub(super) ours: BTreeSet<String>,
    /// Commands that were seen, ours left out.
    pub(super) operations: u64,
    keys: HashMap<(u32, Vec<u8>), Count>,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// How much later than it ran the last line came, and the least that was, by two clocks, in microseconds.
    last_late_us: i64,
    least_late_us: Option<i64>,
}

#[derive(Debug)]
struct Count {
    seen: u64,
    /// The command that most of its calls were, with how many more of them than of others (a majority vote).
    command: (String, u64),
}

impl Counter {
    /// Takes the next bytes, which came at this moment.
    pub(super) fn take(&mut self, mut bytes: &[u8], at: Moment) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let mut line = std::mem::take(&mut self.line);
            if let Some(line) = Line::parse(line.strip_suffix(b"\r").unwrap_or(&line)) {
                self.count(line, at);
            }
            line.clear();
            self.line = line;
        }
        self.keep(bytes);
    }

    /// Whether the last line came this much later than the least late.
    pub(super) fn is_late_by(&self, limit: Duration) -> bool {
        let late = self.least_late_us.map_or(0, |least| self.last_late_us - least);
        u128::try_from(late).is_ok_and(|late| late > limit.as_micros())
    }

    /// The keys that were seen most often in so many seconds, most first.
    pub(super) fn hottest(
        &self,
        most: usize,
        seconds: f64,
        slot: impl Fn(&[u8]) -> Option<u16>,
    ) -> Vec<KeyHeat> {
        let mut keys: Vec<_> = self.keys.iter().collect();
        keys.sort_by(|(a_key, a), (b_key, b)| b.seen.cmp(&a.seen).then_with(|| a_key.cmp(b_key)));
        let heat_of = |((database, key), count): (&(u32, Vec<u8>), &Count)| {
            let named = heat(key, slot(key));
            KeyHeat {
                key: match database {
                    0 => named.key,
                    // The same name in another database is another key.
                    other => RemoteText::new(&format!("{} (database {other})", named.key)),
                },
                operations_share: share(count.seen as f64, self.operations as f64),
                per_second: (seconds > 0.0).then(|| count.seen as f64 / seconds),
                command: Some(RemoteText::new(&count.command.0)),
                ..named
            }
        };
        keys.into_iter().take(most).map(heat_of).collect()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE - self.line.len().min(LONGEST_LINE);
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn count(&mut self, line: Line<'_>, at: Moment) {
        self.last_late_us =
            at.0.saturating_mul(1_000).saturating_sub(i64::try_from(line.at_us).unwrap_or(i64::MAX));
        self.least_late_us =
            Some(self.least_late_us.map_or(self.last_late_us, |least| least.min(self.last_late_us)));
        if std::str::from_utf8(line.source).is_ok_and(|source| self.ours.contains(source)) {
            return;
        }
        let Some(name) = line.words().next().map(|name| String::from_utf8_lossy(&name).to_ascii_uppercase())
        else {
            return;
        };
        if SCRIPTS.contains(&name.as_str()) {
            return;
        }
        self.operations += 1;
        let mut keys: Vec<Vec<u8>> = match ALL_KEYS.iter().find(|(known, _)| *known == name) {
            Some((_, step)) => line.words().skip(1).step_by(*step).take(MOST_KEYS).collect(),
            None => {
                let arguments = line.words().take(WORDS).collect();
                let entry = Entry { arguments, ..Entry::default() };
                entry.key().map(<[u8]>::to_vec).into_iter().collect()
            }
        };
        // A command that names a key twice is one operation on it.
        keys.sort();
        keys.dedup();
        for mut key in keys {
            key.truncate(LONGEST_KEY);
            self.see((line.database, key), &name);
        }
    }

    fn see(&mut self, key: (u32, Vec<u8>), command: &str) {
        let count =
            self.keys.entry(key).or_insert_with(|| Count { seen: 0, command: (command.to_owned(), 0) });
        count.seen += 1;
        let (known, votes) = &mut count.command;
        if known == command {
            *votes += 1;
        } else if *votes == 0 {
            count.command = (command.to_owned(), 1);
        } else {
            *votes -= 1;
        }
        if self.keys.len() > MOST {
            self.forget();
        }
    }

    /// Forgets the keys that were seen least often.
    fn forget(&mut self) {
        let mut seen: Vec<u64> = self.keys.values().map(|count| count.seen).collect();
        let (_, limit, _) = seen.select_nth_unstable_by(KEPT, |a, b| b.cmp(a));
        let limit = *limit;
        self.keys.retain(|_, count| count.seen > limit);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(at_us: u64, source: &str, words: &[&str]) -> Vec<u8> {
        let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let (seconds, micros) = (at_us / 1_000_000, at_us % 1_000_000);
        format!("+{seconds}.{micros:06} [0 {source}] {}\r\n", words.join(" ")).into_bytes()
    }

    fn told(counter: &Counter) -> Vec<(String, f64, String)> {
        counter
            .hottest(3, 1.0, |_| None)
            .into_iter()
            .map(|key| (key.key.to_string(), key.operations_share.unwrap(), key.command.unwrap().to_string()))
            .collect()
    }

    #[test]
    fn keys_are_counted_with_their_commands_and_ours_are_not() {
        let mut counter = Counter { ours: ["10.0.0.9:1".to_owned()].into(), ..Counter::default() };
        let calls: &[(&str, &[&str])] = &[
            ("10.0.0.1:1", &["get", "hot"]),
            ("10.0.0.1:1", &["GET", "hot"]),
            ("10.0.0.1:1", &["set", "hot", "secret"]),
            ("10.0.0.1:1", &["mget", "hot", "cold", "hot"]),
            ("10.0.0.1:1", &["mset", "a", "secret", "b", "secret"]),
            ("10.0.0.1:1", &["ping"]),
            ("10.0.0.1:1", &["eval", "return redis.call('get', KEYS[1])", "1", "cold"]),
            ("lua", &["get", "cold"]),
            ("10.0.0.9:1", &["memory", "usage", "hot"]),
            ("10.0.0.1:1", &["zmpop", "1", "cold", "MIN"]),
        ];
        for (source, words) in calls {
            // However it is cut.
            line(1, source, words).chunks(3).for_each(|piece| counter.take(piece, Moment(0)));
        }
        assert_eq!(counter.operations, 8);
        assert_eq!(told(&counter)[0], ("hot".to_owned(), 0.5, "GET".to_owned()));
        assert_eq!(told(&counter)[1].0, "cold");
        assert!(!format!("{counter:?}").contains("secret"), "arguments are not kept");
    }

    #[test]
    fn the_same_name_in_another_database_is_another_key() {
        let mut counter = Counter::default();
        counter.take(b"1.000000 [0 a:1] \"get\" \"k\"\r\n1.000000 [7 a:1] \"get\" \"k\"\r\n", Moment(0));
        let names: Vec<_> = told(&counter).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["k", "k (database 7)"]);
    }

    #[test]
    fn what_piles_up_is_noticed_whatever_the_clocks_say() {
        let mut counter = Counter::default();
        // The server's clock is an hour ahead.
        let ahead = 3_600_000_000;
        counter.take(&line(ahead + 1_000_000, "a:1", &["get", "k"]), Moment(1_000));
        counter.take(&line(ahead + 1_100_000, "a:1", &["get", "k"]), Moment(1_300));
        assert!(
            !counter.is_late_by(Duration::from_millis(500)) && counter.is_late_by(Duration::from_millis(100))
        );
        counter.take(&line(ahead + 1_200_000, "a:1", &["get", "k"]), Moment(2_000));
        assert!(counter.is_late_by(Duration::from_millis(500)));
    }

    #[test]
    fn memory_is_bounded_and_a_hot_key_survives_a_flood_of_others() {
        let mut counter = Counter::default();
        for n in 0..40_000_u32 {
            counter.take(&line(1, "a:1", &["get", &format!("cold:{n}")]), Moment(0));
            if n % 10 == 0 {
                counter.take(&line(1, "a:1", &["get", "hot"]), Moment(0));
            }
        }
        assert!(counter.keys.len() <= MOST);
        let (name, share, _) = &told(&counter)[0];
        assert_eq!(name, "hot");
        assert!((share - 1.0 / 11.0).abs() < 0.001, "{share}");
        let flood = vec![b'x'; 1_000_000];
        counter.take(&flood, Moment(0));
        assert!(counter.line.len() <= LONGEST_LINE);
    }

    proptest! {
        #[test]
        fn any_bytes_are_counted_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            super::super::read_monitored(&bytes);
        }

        #[test]
        fn what_is_told_was_surely_seen(calls in prop::collection::vec(0_u8..30, 1..300)) {
            let mut counter = Counter::default();
            for key in &calls {
                counter.take(&line(1, "a:1", &["get", &format!("k{key}")]), Moment(0));
            }
            for heat in counter.hottest(30, 1.0, |_| None) {
                let seen = calls.iter().filter(|key| format!("k{key}") == heat.key.as_str()).count();
                prop_assert!(heat.per_second.unwrap() <= seen as f64);
            }
        }
    }
}
