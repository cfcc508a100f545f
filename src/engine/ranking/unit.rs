//! The unit that a metric's name tells.

use crate::metric::Unit;

/// Words of a unit, and what turns a value of it into the unit that is shown.
const UNITS: &[(&str, Unit, f64)] = &[
    ("seconds", Unit::Seconds, 1.0),
    ("second", Unit::Seconds, 1.0),
    ("sec", Unit::Seconds, 1.0),
    ("s", Unit::Seconds, 1.0),
    ("milliseconds", Unit::Seconds, 1e-3),
    ("millis", Unit::Seconds, 1e-3),
    ("ms", Unit::Seconds, 1e-3),
    ("microseconds", Unit::Seconds, 1e-6),
    ("us", Unit::Seconds, 1e-6),
    ("nanoseconds", Unit::Seconds, 1e-9),
    ("ns", Unit::Seconds, 1e-9),
    ("bytes", Unit::Bytes, 1.0),
    ("kb", Unit::Bytes, 1e3),
    ("kib", Unit::Bytes, 1024.0),
    ("mb", Unit::Bytes, 1e6),
    ("mib", Unit::Bytes, 1_048_576.0),
    ("gb", Unit::Bytes, 1e9),
    ("gib", Unit::Bytes, 1_073_741_824.0),
    ("percent", Unit::Ratio, 0.01),
    ("pct", Unit::Ratio, 0.01),
    ("ratio", Unit::Ratio, 1.0),
];

/// Words of a span of time by which a rate is counted, and how many seconds it has.
const SPANS: &[(&str, f64)] = &[
    ("s", 1.0),
    ("sec", 1.0),
    ("second", 1.0),
    ("ms", 1e-3),
    ("min", 60.0),
    ("minute", 60.0),
    ("hour", 3600.0),
];

/// The unit of a name in lower case and its words, and what a value is multiplied by to be in it. Names end with their
/// unit, so of several units the last one counts; `bytes_per_second` and `ops/s` are rates and no time.
pub(super) fn of(lower: &str, words: &[&str]) -> Option<(Unit, f64)> {
    let known = |words: &[&str]| {
        let find = |word: &&str| UNITS.iter().find(|(known, _, _)| known == word);
        words.iter().rev().find_map(find).map(|(_, unit, by)| (*unit, *by))
    };
    let Some((counted, seconds)) = rate(lower, words) else { return known(words) };
    match known(counted) {
        None => Some((Unit::PerSecond, 1.0 / seconds)),
        Some((Unit::Bytes, by)) => Some((Unit::BytesPerSecond, by / seconds)),
        // Seconds in a second, percents in a minute: there is no word for it.
        Some(_) => None,
    }
}

/// What a rate counts, and in how many seconds; `None` of a name that is no rate.
fn rate<'n, 'w>(lower: &str, words: &'n [&'w str]) -> Option<(&'n [&'w str], f64)> {
    let (at, seconds) = words.iter().enumerate().rev().find_map(|(at, word)| {
        let (_, seconds) = SPANS.iter().find(|(known, _)| known == word)?;
        Some((at, *seconds))
    })?;
    let before = at.checked_sub(1)?;
    let is_per = words[before] == "per";
    let is_slashed = lower.contains(&format!("/{}", words[at]));
    let is_after_bytes = UNITS.iter().any(|(word, unit, _)| *word == words[before] && *unit == Unit::Bytes);
    let counted = &words[..if is_per { before } else { at }];
    (is_per || is_slashed || is_after_bytes).then_some((counted, seconds))
}
