//! The slow log: entries by id, so that none is counted twice.

mod entry;
mod watch;

use redis::Value;

use super::reply::{bytes, integer, items, text};
pub use entry::{Entry, OUR_CLIENT_NAME, mark_repeated, primary_port};
pub(super) use watch::SlowLog;

/// How many entries are asked for normally.
pub const NORMAL_DEPTH: u32 = 16;

/// How many are asked for at first sight and when entries may have been missed: the default length of the log.
pub const FULL_DEPTH: u32 = 128;

/// The setting of the execution time from which on commands are logged, in microseconds; below 0 none is.
pub const SLOWER_THAN: &str = "slowlog-log-slower-than";

/// Reads the reply to CONFIG GET of [`SLOWER_THAN`], in seconds; `None` when it is not told.
pub fn read_threshold(reply: &Value) -> Option<f64> {
    let micros: f64 = text(items(reply)?.get(1)?)?.parse().ok()?;
    micros.is_finite().then_some(micros / 1e6)
}

/// Reads a SLOWLOG GET reply, newest entry first. Elements that a version or a fork adds are ignored: the
/// command is the first element that is an array. Entries that cannot be read are left out.
pub fn read_slowlog(reply: &Value) -> Option<Vec<Entry>> {
    Some(items(reply)?.iter().filter_map(read_entry).collect())
}

fn read_entry(entry: &Value) -> Option<Entry> {
    let parts = items(entry)?;
    let argv = parts.iter().position(|part| items(part).is_some())?;
    Some(Entry {
        id: u64::try_from(integer(parts.first()?)?).ok()?,
        at_seconds: integer(parts.get(1)?)?,
        took_us: u64::try_from(integer(parts.get(2)?)?).ok()?,
        arguments: items(&parts[argv])?.iter().filter_map(bytes).map(<[u8]>::to_vec).collect(),
        // Servers before 4.0 stop after the command; later ones add the client's address and name.
        client: word(parts.get(argv + 2)),
        address: word(parts.get(argv + 1)),
        is_repeated: false,
    })
}

fn word(part: Option<&Value>) -> Vec<u8> {
    part.and_then(text).map_or_else(Vec::new, |word| word.as_bytes().to_vec())
}

/// Where reading one node's slow log has come to.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    run_id: String,
    has_looked: bool,
    last: Option<u64>,
    total: u64,
    lost: u64,
    /// Whether the last look brought more than a normal one can: then the next one is deep at once.
    in_storm: bool,
    /// Where the primary that this node follows listens, by the last look that told.
    primary_port: Option<String>,
}

/// What one look at the slow log brought.
#[derive(Debug, Default, PartialEq)]
pub struct Fresh {
    /// Entries not seen before, oldest first.
    pub entries: Vec<Entry>,
    /// Entries that the log dropped before they could be read.
    pub missed: u64,
    /// Whether some may have been dropped that cannot be counted: the log was empty and is now longer than a look.
    pub may_have_missed: bool,
}

impl Progress {
    /// How many entries to ask for; everything there is when nothing is known yet.
    pub fn depth(&self) -> u32 {
        if self.has_looked && !self.in_storm { NORMAL_DEPTH } else { FULL_DEPTH }
    }

    /// Forgets everything when the server is another run than before: ids begin anew.
    pub fn belongs_to(&mut self, run_id: &str) {
        if self.run_id != run_id {
            *self = Self { run_id: run_id.to_owned(), ..Self::default() };
        }
    }

    /// Whether these entries, asked for at this depth, leave a gap that a deeper look may fill.
    pub fn leaves_gap(&self, entries: &[Entry], depth: u32) -> bool {
        depth < FULL_DEPTH
            && entries.len() >= depth as usize
            && (self.gap(entries) > 0 || self.is_first_burst(entries))
    }

    /// Whether these are the first entries of a log that was empty, and ones before them may be gone: ids need
    /// not have begun at 0, so how many is not known.
    fn is_first_burst(&self, entries: &[Entry]) -> bool {
        self.has_looked && self.last.is_none() && entries.iter().all(|entry| entry.id > 0)
    }

    fn gap(&self, entries: &[Entry]) -> u64 {
        match (self.last, entries.iter().map(|entry| entry.id).min()) {
            (Some(last), Some(oldest)) => oldest.saturating_sub(last + 1),
            _ => 0,
        }
    }

    /// Takes what is new.
    pub fn take(&mut self, mut entries: Vec<Entry>) -> Fresh {
        let missed = self.gap(&entries);
        let may_have_missed = entries.len() >= FULL_DEPTH as usize && self.is_first_burst(&entries);
        entries.retain(|entry| self.last.is_none_or(|last| entry.id > last));
        entries.sort_by_key(|entry| entry.id);
        entries.dedup_by_key(|entry| entry.id);
        if !self.has_looked {
            // Ids begin at 0, so those before the oldest that is still there have been, too.
            self.total = entries.first().map_or(0, |entry| entry.id);
        }
        self.in_storm = self.has_looked && entries.len() > NORMAL_DEPTH as usize;
        self.has_looked = true;
        self.lost += missed;
        self.last = entries.last().map(|entry| entry.id).or(self.last);
        self.total += missed + entries.iter().filter(|entry| !entry.is_excluded()).count() as u64;
        Fresh { entries, missed, may_have_missed }
    }

    /// Entries so far that the log dropped before they could be read; grows only.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Entries so far, those left out that were seen to convict nobody; grows only.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply_fixture;
    use super::entry::entry;
    use super::*;

    #[test]
    fn hostile_entries_of_every_version_are_read_and_made_harmless() {
        for name in ["r62", "r70", "r82", "v91"] {
            let Some(reply) = reply_fixture(&format!("redis-wire/{name}.slowlog_get.resp2")) else { return };
            let entries = read_slowlog(&reply).unwrap();
            assert_eq!(entries.len(), items(&reply).unwrap().len(), "{name}");
            let events: Vec<_> = entries.iter().map(|entry| entry.to_event(true)).collect();
            let shown = events.iter().flat_map(|event| event.arguments.iter().chain(&event.key));
            assert!(shown.clone().count() > 5, "{name}");
            assert!(shown.clone().all(|text| !text.as_str().contains(['\x1b', '\n', '\0'])), "{name}");
            assert!(entries.iter().flat_map(|e| &e.arguments).any(|bytes| bytes.contains(&0x1b)), "{name}");
        }
    }

    #[test]
    fn a_threshold_is_read_in_seconds_and_what_is_none_is_not_zero() {
        let threshold = |wire: &str| read_threshold(&redis::parse_redis_value(wire.as_bytes()).unwrap());
        let pair = |value: &str| format!("*2\r\n$23\r\n{SLOWER_THAN}\r\n${}\r\n{value}\r\n", value.len());
        assert_eq!(threshold(&pair("10000")), Some(0.01));
        assert!(threshold(&pair("-1")).is_some_and(|seconds| seconds < 0.0));
        assert_eq!(threshold(&pair("nan")), None);
        assert_eq!(threshold(&pair("")), None);
        assert_eq!(threshold("*0\r\n"), None);
    }

    #[test]
    fn longer_and_shorter_entries_have_the_same_meaning() {
        let wire = "*4\r\n*4\r\n:7\r\n:100\r\n:9\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n\
                    *6\r\n:6\r\n:100\r\n:9\r\n*2\r\n$3\r\nget\r\n$1\r\nb\r\n$3\r\nc:1\r\n$3\r\napp\r\n\
                    *7\r\n:5\r\n:100\r\n:9\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\n$3\r\nc:1\r\n$3\r\napp\r\n:2\r\n\
                    *7\r\n:4\r\n:100\r\n:9\r\n$20\r\nComplexity info: N:1\r\n*0\r\n$3\r\nc:1\r\n$3\r\napp\r\n";
        let entries = read_slowlog(&redis::parse_redis_value(wire.as_bytes()).unwrap()).unwrap();
        let seen: Vec<_> = entries
            .iter()
            .map(|e| (e.id, e.command(), e.key().map(<[u8]>::to_vec), e.client.clone()))
            .collect();
        let app = b"app".to_vec();
        assert_eq!(
            seen,
            [
                (7, "GET".to_owned(), Some(b"a".to_vec()), vec![]),
                (6, "GET".to_owned(), Some(b"b".to_vec()), app.clone()),
                (5, "GET".to_owned(), Some(b"c".to_vec()), app.clone()),
                (4, String::new(), None, app),
            ]
        );
    }

    #[test]
    fn nothing_is_counted_twice_and_what_was_missed_is_said() {
        let mut progress = Progress::default();
        progress.belongs_to("run-a");
        assert_eq!((progress.depth(), progress.total()), (FULL_DEPTH, 0));
        let get = |id| entry(id, &["GET", "k"]);
        assert_eq!(progress.take(vec![get(5), get(4)]).entries.len(), 2);
        assert_eq!((progress.depth(), progress.total()), (NORMAL_DEPTH, 6));
        let again = progress.take(vec![get(6), get(5), get(4)]);
        assert_eq!((again.entries.len(), again.entries[0].id, again.missed), (1, 6, 0));
        let far: Vec<_> = (20..36).rev().map(get).collect();
        assert!(progress.leaves_gap(&far, NORMAL_DEPTH));
        assert_eq!(progress.take(far).missed, 13);
        progress.take(vec![entry(36, &["INFO"])]);
        assert_eq!(progress.total(), 36);
        progress.belongs_to("run-b");
        assert_eq!(progress.take(vec![]).entries.len(), 0);
        assert_eq!(progress.take(vec![get(0)]).entries.len(), 1);
        assert_eq!(progress.total(), 1);
    }

    #[test]
    fn a_burst_into_an_empty_log_is_looked_at_deeply_and_its_loss_is_said() {
        let burst =
            |count: u64| (400 - count..400).rev().map(|id| entry(id, &["GET", "k"])).collect::<Vec<_>>();
        let mut progress = Progress::default();
        progress.take(vec![]);
        assert_eq!(progress.depth(), NORMAL_DEPTH);
        assert!(progress.leaves_gap(&burst(16), NORMAL_DEPTH));
        assert!(!progress.leaves_gap(&burst(15), NORMAL_DEPTH), "all of it was seen");
        let fresh = progress.take(burst(128));
        assert!(fresh.may_have_missed && fresh.missed == 0, "ids that began somewhere prove no number");
        assert_eq!(fresh.entries.len(), 128);
    }

    #[test]
    fn in_a_storm_every_look_is_deep_at_once_until_it_is_over() {
        let looked =
            |ids: std::ops::Range<u64>| ids.rev().map(|id| entry(id, &["GET", "k"])).collect::<Vec<_>>();
        let mut progress = Progress::default();
        progress.take(looked(0..128));
        assert_eq!(progress.depth(), NORMAL_DEPTH, "what was there before is no storm");
        progress.take(looked(72..200));
        assert_eq!(progress.depth(), FULL_DEPTH);
        progress.take(looked(88..216));
        assert_eq!(progress.depth(), NORMAL_DEPTH);
    }

    proptest::proptest! {
        #[test]
        fn any_looks_at_one_log_count_each_entry_once(
            looks in proptest::collection::vec(0_u64..200, 1..20),
        ) {
            let mut progress = Progress::default();
            let (mut written, mut read, mut missed, mut before) = (0_u64, 0_u64, 0_u64, None);
            let mut uncounted = false;
            for new in looks {
                written += new;
                let log = |depth: u32| {
                    let kept = (written.saturating_sub(u64::from(depth))..written).rev();
                    kept.map(|id| entry(id, &["GET", "k"])).collect::<Vec<_>>()
                };
                let depth = progress.depth();
                let mut seen = log(depth);
                if progress.leaves_gap(&seen, depth) {
                    seen = log(FULL_DEPTH);
                }
                let fresh = progress.take(seen);
                before.get_or_insert(fresh.entries.first().map_or(0, |entry| entry.id));
                read += fresh.entries.len() as u64;
                missed += fresh.missed;
                uncounted |= fresh.may_have_missed;
            }
            let found = before.unwrap_or(0) + read + missed;
            proptest::prop_assert!(found == written || uncounted && found < written, "{} of {}", found, written);
            proptest::prop_assert_eq!(progress.total(), found);
        }
    }
}
