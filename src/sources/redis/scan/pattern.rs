//! Names of keys without what differs from one to the next, and what all keys of a pattern hold, in bounded memory.

use std::collections::BTreeMap;

use headwater_engine::RemoteText;
use headwater_engine::reading::KeyPattern;

/// How many patterns survive a clearing; those with most bytes.
const KEPT: usize = 256;

/// From this many on the table is cleared.
const MOST: usize = 1_024;

/// How many patterns are told one by one.
const SHOWN: usize = 32;

/// How much of a name is looked at, in bytes.
const LOOKED_AT: usize = 256;

/// How long a pattern may be, in characters.
const LONGEST: usize = 120;

/// What stands for all that differs.
const STAR: char = '*';

/// What the keys of one pattern hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    keys: u64,
    bytes: u64,
    biggest: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.biggest = self.biggest.max(other.biggest);
    }
}

/// The patterns of a scan. Names that have nothing in common cannot fill the memory: what is small is now and then
/// moved to the rest, so that sums stay exact and only a rare pattern's own row can say too little.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    known: BTreeMap<String, Tally>,
    rest: Tally,
}

impl Patterns {
    /// Adds a key of this size.
    pub(super) fn add(&mut self, key: &[u8], bytes: u64) {
        let tally = Tally { keys: 1, bytes, biggest: bytes };
        self.known.entry(pattern_of(key)).or_default().add(tally);
        if self.known.len() > MOST {
            let sorted = self.sorted();
            let small: Vec<String> = sorted[KEPT..].iter().map(|(pattern, _)| (*pattern).clone()).collect();
            for pattern in small {
                self.rest.add(self.known.remove(&pattern).unwrap_or_default());
            }
        }
    }

    /// The patterns with most bytes, and at the end all others in one row.
    pub(super) fn rows(&self) -> Vec<KeyPattern> {
        let sorted = self.sorted();
        let mut rest = self.rest;
        sorted.iter().skip(SHOWN).for_each(|(_, tally)| rest.add(**tally));
        let row = |pattern: &str, tally: &Tally| KeyPattern {
            pattern: RemoteText::new(pattern),
            keys: tally.keys,
            bytes: tally.bytes,
            biggest: tally.biggest,
        };
        let mut rows: Vec<_> =
            sorted.iter().take(SHOWN).map(|(pattern, tally)| row(pattern, tally)).collect();
        if rest.keys > 0 {
            rows.push(row(KeyPattern::REST, &rest));
        }
        rows
    }

    fn sorted(&self) -> Vec<(&String, &Tally)> {
        let mut sorted: Vec<_> = self.known.iter().collect();
        sorted.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.bytes));
        sorted
    }
}

/// The name with `*` for numbers, ids, UUIDs, hexadecimal digits and bytes that are no text.
pub(super) fn pattern_of(key: &[u8]) -> String {
    let looked_at = &key[..key.len().min(LOOKED_AT)];
    let text = String::from_utf8_lossy(looked_at);
    let (mut out, mut rest) = (String::new(), text.as_ref());
    while let Some(first) = rest.chars().next() {
        let length = if is_uuid(rest) {
            star(&mut out);
            UUID
        } else if first.is_ascii_alphanumeric() {
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
            push_word(&mut out, &rest[..end]);
            end
        } else {
            match first.is_control() || first == char::REPLACEMENT_CHARACTER {
                true => star(&mut out),
                false => out.push(first),
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    if looked_at.len() < key.len() {
        star(&mut out);
    }
    // Dates and ids in several parts.
    while out.contains("*-*") {
        out = out.replace("*-*", "*");
    }
    match out.char_indices().nth(LONGEST) {
        Some((end, _)) => {
            out.truncate(end);
            star(&mut out);
            out
        }
        None => out,
    }
}

/// The length of a UUID as text.
const UUID: usize = 36;

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let fits = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() >= UUID
        && bytes.iter().take(UUID).enumerate().all(fits)
        && bytes.get(UUID).is_none_or(|next| !next.is_ascii_alphanumeric())
}

fn push_word(out: &mut String, word: &str) {
    if is_id(word) {
        return star(out);
    }
    for letter in word.chars() {
        match letter.is_ascii_digit() {
            true => star(out),
            false => out.push(letter),
        }
    }
}

/// From this length on a word can be an id of letters and digits.
const SHORTEST_ID: usize = 8;

/// How often an id changes between capitals, small letters and digits, which no word does.
const CHANGES: usize = 4;

fn is_id(word: &str) -> bool {
    if word.len() < SHORTEST_ID || !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let class = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let changes = word.as_bytes().windows(2).filter(|pair| class(&pair[0]) != class(&pair[1])).count();
    word.bytes().all(|byte| byte.is_ascii_hexdigit()) || changes >= CHANGES
}

fn star(out: &mut String) {
    if !out.ends_with(STAR) {
        out.push(STAR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_becomes_a_star() {
        let cases: &[(&[u8], &str)] = &[
            (b"user:profile:8812", "user:profile:*"),
            (b"item:feat:55{user:profile:8812}", "item:feat:*{user:profile:*}"),
            (b"session:123e4567-e89b-12d3-a456-426614174000:cart", "session:*:cart"),
            (b"blob/9f86d081884c7d65", "blob/*"),
            (b"video:dQw4w9WgXcQ", "video:*"),
            (b"day:2024-05-01", "day:*"),
            (b"embedding128:v2", "embedding*:v*"),
            (b"ClickStream:UserProfileItem", "ClickStream:UserProfileItem"),
            (b"decade:facade", "decade:facade"),
            (b"\xac\xed\x00\x05t\x00\x0cuser", "*t*user"),
            (b"", ""),
            ("k\u{e9}y:7".as_bytes(), "k\u{e9}y:*"),
        ];
        for (key, pattern) in cases {
            assert_eq!(pattern_of(key), *pattern);
        }
        assert!(pattern_of(&vec![b'x'; 5_000]).chars().count() <= LONGEST + 1);
    }

    #[test]
    fn names_without_a_pattern_cannot_fill_the_memory_and_sums_stay_exact() {
        let mut patterns = Patterns::default();
        let letters = |mut number: usize| {
            let mut word = String::new();
            for _ in 0..4 {
                word.push(char::from(b'a' + (number % 26) as u8));
                number /= 26;
            }
            word
        };
        for key in 0..20_000 {
            patterns.add(letters(key).as_bytes(), 10);
            patterns.add(format!("user:{key}").as_bytes(), 100);
            assert!(patterns.known.len() <= MOST);
        }
        let rows = patterns.rows();
        assert_eq!((rows[0].pattern.as_str(), rows[0].keys, rows[0].bytes), ("user:*", 20_000, 2_000_000));
        assert_eq!(rows.last().map(|row| row.pattern.as_str()), Some(KeyPattern::REST));
        assert_eq!(rows.len(), SHOWN + 1);
        assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 20_000 * 110);
    }

    proptest::proptest! {
        #[test]
        fn any_name_has_a_short_pattern(key in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
            proptest::prop_assert!(pattern_of(&key).chars().count() <= LONGEST + 1);
        }

        #[test]
        fn numbers_alone_make_no_new_pattern(one: u64, other: u64, word in "[a-z]{1,9}") {
            let name = |number: u64| pattern_of(format!("{word}:{number}:x").as_bytes());
            proptest::prop_assert_eq!(name(one), name(other));
        }
    }
}
