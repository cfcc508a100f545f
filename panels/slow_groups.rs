//! Entries of slow logs, grouped by command and by the pattern of their key.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::reading::SlowCommand;
use headwater_engine::{Moment, Subject};

/// Entries of one command on keys of one pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SlowGroup {
    /// The command's name.
    pub(crate) command: String,
    /// The pattern of the keys; empty for commands without a key.
    pub(crate) pattern: String,
    /// Whether they are our own or an administrator's: such entries convict nobody.
    pub(crate) is_excluded: bool,
    /// How many.
    pub(crate) count: usize,
    /// Seconds of execution of all together.
    pub(crate) total: f64,
    /// Seconds of execution of the longest.
    pub(crate) longest: f64,
    /// The nodes that logged them.
    pub(crate) nodes: BTreeSet<Subject>,
    /// When the newest ran.
    pub(crate) newest: Moment,
}

/// Entries by command and pattern, the most time first, the excluded last.
pub(crate) fn slow_groups<'a>(entries: impl Iterator<Item = &'a (Subject, SlowCommand)>) -> Vec<SlowGroup> {
    let mut groups: BTreeMap<(bool, String, String), SlowGroup> = BTreeMap::new();
    for (node, entry) in entries {
        let command = entry.command.as_str().to_owned();
        let pattern = entry.key.as_ref().map(|key| pattern_of(key.as_str())).unwrap_or_default();
        let took = entry.took.as_secs_f64();
        let group = groups.entry((entry.excluded, command, pattern));
        let group = group.or_insert_with_key(|(is_excluded, command, pattern)| SlowGroup {
            command: command.clone(),
            pattern: pattern.clone(),
            is_excluded: *is_excluded,
            count: 0,
            total: 0.0,
            longest: 0.0,
            nodes: BTreeSet::new(),
            newest: entry.at,
        });
        group.count += 1;
        group.total += took;
        group.longest = group.longest.max(took);
        group.newest = group.newest.max(entry.at);
        if !group.nodes.contains(node) {
            group.nodes.insert(node.clone());
        }
    }
    let mut groups: Vec<SlowGroup> = groups.into_values().collect();
    groups.sort_by(|one, other| {
        one.is_excluded.cmp(&other.is_excluded).then_with(|| other.total.total_cmp(&one.total))
    });
    groups
}

/// The pattern of a key: what looks like a number or an id in it becomes `*`, so that keys of one sort are one row.
pub(crate) fn pattern_of(key: &str) -> String {
    let mut pattern = String::new();
    let mut rest = key;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        push_word(&mut pattern, word);
        let next = after.find(is_word).unwrap_or(after.len());
        pattern.push_str(&after[..next]);
        rest = &after[next..];
    }
    // An id written in groups, such as a UUID, is one id.
    while let Some(place) = pattern.find("*-*") {
        pattern.replace_range(place..place + 3, "*");
    }
    pattern
}

/// Appends a word of a key: an id as a whole becomes `*`, else its runs of digits do.
fn push_word(pattern: &mut String, word: &str) {
    const SHORTEST_ID: usize = 4;
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    if has_digit && word.len() >= SHORTEST_ID && word.chars().all(|c| c.is_ascii_hexdigit()) {
        pattern.push('*');
        return;
    }
    let mut in_number = false;
    for c in word.chars() {
        if !c.is_numeric() {
            pattern.push(c);
        } else if !in_number {
            pattern.push('*');
        }
        in_number = c.is_numeric();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_and_ids_in_keys_become_stars() {
        for (key, pattern) in [
            ("user:profile:8812", "user:profile:*"),
            ("item:feat:55:v2", "item:feat:*:v*"),
            ("{user1000}.following", "{user*}.following"),
            ("session:3f2504e0-4f89-11d3-9a0c-0305e82c3301", "session:*"),
            ("blob:deadbeef01234567", "blob:*"),
            ("config", "config"),
            ("a-1-2", "a-*"),
            ("爆款:７", "爆款:*"),
            ("", ""),
            (":::", ":::"),
        ] {
            assert_eq!(pattern_of(key), pattern, "{key}");
        }
    }

    #[test]
    fn the_most_time_comes_first_and_excluded_entries_are_never_mixed_in() {
        let entry = |id: u64, node: &str, command: &str, key: Option<&str>, ms: u64, excluded| {
            let entry = SlowCommand {
                id,
                at: Moment(id as i64),
                took: Duration::from_millis(ms),
                command: command.into(),
                key: key.map(Into::into),
                arguments: vec![],
                client: "".into(),
                excluded,
            };
            (node.parse().unwrap(), entry)
        };
        let entries = [
            entry(1, "redis/a#0@h:1", "GET", Some("k:1"), 10, false),
            entry(2, "redis/a#1@h:2", "GET", Some("k:2"), 30, false),
            entry(3, "redis/a#0@h:1", "HGETALL", Some("k:1"), 50, false),
            entry(4, "redis/a#0@h:1", "GET", Some("k:9"), 900, true),
        ];
        let groups = slow_groups(entries.iter());
        let rows: Vec<_> = groups
            .iter()
            .map(|group| (group.command.as_str(), group.count, group.nodes.len(), group.is_excluded))
            .collect();
        assert_eq!(rows, [("HGETALL", 1, 1, false), ("GET", 2, 2, false), ("GET", 1, 1, true)]);
        assert_eq!((groups[1].pattern.as_str(), groups[1].newest), ("k:*", Moment(2)));
        assert!((groups[1].total - 0.04).abs() < 1e-9 && (groups[1].longest - 0.03).abs() < 1e-9);
    }
}
