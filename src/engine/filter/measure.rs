//! Numbers with units as people type them, and whether the unit is one of the field's.

use super::FieldRow;
use super::condition::Asked;
use super::token::{Wrong, quoted};
use crate::metric::Unit;
use crate::quantity::show;

/// What a written unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Share,
    Bytes,
    Time,
    Things,
}

/// One way to write a unit.
struct Written {
    words: &'static [&'static str],
    factor: f64,
    measure: Measure,
}

const fn written(words: &'static [&'static str], factor: f64, measure: Measure) -> Written {
    Written { words, factor, measure }
}

/// Every unit that is understood. Bits and bytes are told apart by a word: a bare `b` could be either and is refused.
static UNITS: &[Written] = &[
    written(&["%"], 0.01, Measure::Share),
    written(&["x"], 1.0, Measure::Share),
    written(&["B"], 1.0, Measure::Bytes),
    written(&["kB", "KB"], 1e3, Measure::Bytes),
    written(&["MB"], 1e6, Measure::Bytes),
    written(&["GB"], 1e9, Measure::Bytes),
    written(&["TB"], 1e12, Measure::Bytes),
    written(&["KiB"], 1_024.0, Measure::Bytes),
    written(&["MiB"], 1_048_576.0, Measure::Bytes),
    written(&["GiB"], 1_073_741_824.0, Measure::Bytes),
    written(&["kbit"], 125.0, Measure::Bytes),
    written(&["Mbit"], 125e3, Measure::Bytes),
    written(&["Gbit"], 125e6, Measure::Bytes),
    written(&["us", "µs", "μs"], 1e-6, Measure::Time),
    written(&["ms"], 1e-3, Measure::Time),
    written(&["s", "sec"], 1.0, Measure::Time),
    written(&["m", "min"], 60.0, Measure::Time),
    written(&["h"], 3_600.0, Measure::Time),
    written(&["d", "day", "days"], 86_400.0, Measure::Time),
    written(&["k", "K"], 1e3, Measure::Things),
    written(&["M"], 1e6, Measure::Things),
    written(&["G"], 1e9, Measure::Things),
];

/// How a field of each unit is spoken of.
struct Spoken {
    unit: Unit,
    /// Completes "which is ...".
    is: &'static str,
    example: &'static str,
}

const fn spoken(unit: Unit, is: &'static str, example: &'static str) -> Spoken {
    Spoken { unit, is, example }
}

static SPOKEN: &[Spoken] = &[
    spoken(Unit::Ratio, "a share", "'70 %' or '0.7'"),
    spoken(Unit::Bytes, "in bytes", "'20 MB'"),
    spoken(Unit::BytesPerSecond, "in bytes a second", "'20 MB/s'"),
    spoken(Unit::Seconds, "in seconds", "'5 ms' or '2 s'"),
    spoken(Unit::PerSecond, "so many a second", "'3/s' or '1.5k/s'"),
    spoken(Unit::Count, "a plain number", "'3' or '1.5k'"),
    spoken(Unit::Celsius, "in degrees", "'80'"),
    spoken(Unit::Watts, "in watts", "'300'"),
    spoken(Unit::Hertz, "in cycles a second", "'1.5G'"),
    spoken(Unit::UnixSeconds, "a time of day in UTC", "'14:06' or '14:06:55'"),
];

/// Whether a word that follows a number belongs to it: also a unit in the wrong case and a bare `b`, because a number
/// without them would mean something else.
pub(super) fn is_unit(word: &str) -> bool {
    let word = word.strip_suffix("/s").unwrap_or(word).to_lowercase();
    let is_known = UNITS.iter().flat_map(|row| row.words).any(|known| known.to_lowercase() == word);
    is_known || ["", "utc", "b", "kb", "mb", "gb", "tb"].contains(&word.as_str())
}

/// Whether a written number has its unit already.
pub(super) fn has_unit(text: &str) -> bool {
    !text.ends_with(|last: char| last.is_ascii_digit() || last == '.')
}

/// Reads a number with or without a unit for this field. The error's offset counts from the start of the text.
pub(super) fn read(text: &str, field: &FieldRow, unit: Unit) -> Result<Asked, Wrong> {
    if unit == Unit::UnixSeconds {
        return time_of_day(text, field);
    }
    let end = number_length(text);
    let number: f64 = text[..end].replace('_', "").parse().map_err(|_| no_number(text, field, unit))?;
    let word = text[end..].trim_start();
    let offset = text.len() - word.len();
    let (stem, is_rate) = word.strip_suffix("/s").map_or((word, false), |stem| (stem.trim_end(), true));
    let factor = match find(stem) {
        _ if stem.is_empty() && !is_rate => 1.0,
        None if stem.is_empty() => fitting(Measure::Things, is_rate, 1.0, field, unit, offset)?,
        None => return Err(no_unit(word, field, unit, offset)),
        Some(row) => fitting(row.measure, is_rate, row.factor, field, unit, offset)?,
    };
    let number = number * factor;
    Ok(Asked { number, unit, looks: show(number, unit) })
}

fn find(word: &str) -> Option<&'static Written> {
    UNITS.iter().find(|row| row.words.contains(&word))
}

/// The length of the number at the start of a text: sign, digits, fraction, exponent.
fn number_length(text: &str) -> usize {
    let digits = |from: usize, more: &str| {
        let rest = text.get(from..).unwrap_or_default();
        rest.find(|c: char| !c.is_ascii_digit() && !more.contains(c)).unwrap_or(rest.len())
    };
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = sign + digits(sign, "._");
    let Some(exponent) = text[end..].strip_prefix(['e', 'E']) else { return end };
    let sign = usize::from(exponent.starts_with(['-', '+']));
    match digits(end + 1 + sign, "") {
        0 => end,
        count => end + 1 + sign + count,
    }
}

/// The factor of a unit that fits the field.
fn fitting(
    measure: Measure,
    is_rate: bool,
    factor: f64,
    field: &FieldRow,
    unit: Unit,
    offset: usize,
) -> Result<f64, Wrong> {
    let fits = match unit {
        Unit::Ratio => measure == Measure::Share && !is_rate,
        Unit::Seconds => measure == Measure::Time && !is_rate,
        Unit::Bytes => matches!(measure, Measure::Bytes | Measure::Things) && !is_rate,
        // People say "20 MB" of a rate as well.
        Unit::BytesPerSecond => matches!(measure, Measure::Bytes | Measure::Things),
        Unit::PerSecond => measure == Measure::Things,
        Unit::Count | Unit::Celsius | Unit::Watts | Unit::Hertz => measure == Measure::Things && !is_rate,
        Unit::UnixSeconds => false,
    };
    if fits {
        return Ok(factor);
    }
    let what = match (measure, is_rate) {
        (Measure::Share, _) => "shares",
        (Measure::Bytes, false) => "bytes",
        (Measure::Bytes, true) => "bytes a second",
        (Measure::Time, _) => "seconds",
        (Measure::Things, false) => "thousands",
        (Measure::Things, true) => "events a second",
    };
    let Spoken { is, example, .. } = speak(unit);
    let message = format!("{what} do not fit '{}', which is {is}: write for example {example}", field.name);
    Err(Wrong { offset, message })
}

/// `14:06` or `14:06:55`, as the screen shows it.
fn time_of_day(text: &str, field: &FieldRow) -> Result<Asked, Wrong> {
    let clock = text.strip_suffix("UTC").unwrap_or(text).trim_end();
    let parts: Option<Vec<u32>> = clock
        .split(':')
        .map(|part| part.parse().ok().filter(|_| part.len() <= 2 && !part.starts_with('+')))
        .collect();
    let (seconds, looks) = match parts.as_deref() {
        Some([hour @ 0..24, minute @ 0..60]) => {
            (hour * 3_600 + minute * 60, format!("{hour:02}:{minute:02}"))
        }
        Some([hour @ 0..24, minute @ 0..60, second @ 0..60]) => {
            (hour * 3_600 + minute * 60 + second, format!("{hour:02}:{minute:02}:{second:02}"))
        }
        _ => return Err(no_number(text, field, Unit::UnixSeconds)),
    };
    Ok(Asked { number: f64::from(seconds), unit: Unit::UnixSeconds, looks })
}

fn no_number(text: &str, field: &FieldRow, unit: Unit) -> Wrong {
    let Spoken { is, example, .. } = speak(unit);
    let message = format!("{} is no value of '{}', which is {is}: write {example}", quoted(text), field.name);
    Wrong { offset: 0, message }
}

fn no_unit(word: &str, field: &FieldRow, unit: Unit, offset: usize) -> Wrong {
    let Spoken { is, example, .. } = speak(unit);
    // A lower-case b may be bits or bytes.
    let message = match word.strip_suffix("/s").unwrap_or(word).strip_suffix('b') {
        Some(scale) if scale.chars().count() <= 1 => {
            let scale = if scale == "k" { scale.to_owned() } else { scale.to_uppercase() };
            format!("{} may be bits or bytes: write '{scale}B' or '{scale}bit'", quoted(word))
        }
        _ => format!("{} is no unit: '{}' is {is}; write for example {example}", quoted(word), field.name),
    };
    Wrong { offset, message }
}

fn speak(unit: Unit) -> &'static Spoken {
    SPOKEN.iter().find(|row| row.unit == unit).unwrap_or(&SPOKEN[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_spoken_of_and_every_word_is_one_unit() {
        for unit in [
            Unit::Ratio,
            Unit::Bytes,
            Unit::BytesPerSecond,
            Unit::Seconds,
            Unit::PerSecond,
            Unit::Count,
            Unit::UnixSeconds,
        ] {
            assert_eq!(speak(unit).unit, unit);
        }
        let words: Vec<_> = UNITS.iter().flat_map(|row| row.words).collect();
        for (place, word) in words.iter().enumerate() {
            assert!(!words[..place].contains(word), "'{word}' stands twice");
        }
    }
}
