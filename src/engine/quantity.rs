//! Numbers as people read them: three significant digits, a unit, no trailing zeros.

use crate::metric::Unit;
use crate::time::Moment;

/// A value of a unit as text: `23.9 MB/s`, `2.41 s`, `41 ms`, `70 %`, `1420/s`. Multiples of bytes are decimal
/// (1 MB = 1,000,000 bytes), because links are sold so.
pub fn show(value: f64, unit: Unit) -> String {
    if value.is_nan() {
        return "not a number".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "unlimited".to_owned() } else { "-unlimited".to_owned() };
    }
    match unit {
        Unit::Ratio => percent(value),
        Unit::Bytes => scaled(value, BYTES),
        Unit::BytesPerSecond => scaled(value, BYTES) + "/s",
        Unit::Seconds => scaled(value, SECONDS),
        Unit::PerSecond => scaled(value, COUNTS) + "/s",
        Unit::Count => scaled(value, COUNTS),
        Unit::UnixSeconds => Moment((value * 1_000.0) as i64).clock() + " UTC",
        Unit::Celsius => digits(value, 0) + " °C",
        Unit::Watts => digits(value, 0) + " W",
        Unit::Hertz => scaled(value, HERTZ),
    }
}

/// A multiple as text: `13x`, `1.5x`, `0.4x`.
pub fn times(value: f64) -> String {
    if value.is_finite() {
        digits(value, if value.abs() < 10.0 { 1 } else { 0 }) + "x"
    } else {
        "?x".to_owned()
    }
}

/// The share of a whole, from 0 to 1, of nothing none. What is sent and what has failed are counted at different moments, so
/// that for a while more may fail than is sent: a share is never above 1 for that.
pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
}

/// An estimate with the two digits that a sample is good for: `20698` becomes `21000`.
pub fn two_digits(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 1.0);
    (value / unit).round() * unit
}

/// A time that is foreseen, in seconds, as text: with the two digits that it is good for, and no part of a second.
pub fn foreseen(seconds: f64) -> String {
    format!("about {}", show(foreseen_s(seconds), Unit::Seconds))
}

/// As much of a time that is foreseen as is worth telling, in seconds: two digits of the unit in which it is shown.
pub fn foreseen_s(seconds: f64) -> f64 {
    let unit = [86_400.0, 3_600.0, 60.0].into_iter().find(|unit| seconds >= *unit).unwrap_or(1.0);
    let rounded = two_digits(seconds / unit) * unit;
    if unit == 1.0 { rounded.round().max(1.0) } else { rounded }
}

/// So many things with the word that fits, from the word for one: `1 key`, `12 keys`, `3 replies`.
pub fn counted(count: u64, one: &str) -> String {
    let number = show(count as f64, Unit::Count);
    if count == 1 {
        return format!("{number} {one}");
    }
    match one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{number} {stem}ies"),
        None if one.ends_with(['s', 'x']) || one.ends_with("ch") || one.ends_with("sh") => {
            format!("{number} {one}es")
        }
        None => format!("{number} {one}s"),
    }
}

/// So many of a whole, with the words for one and for more: `1 of 6 nodes sees`, `2 of 6 nodes see`, `1 of 1 node sees`.
pub fn counted_of(count: u64, all: u64, one: &str, (does, do_): (&str, &str)) -> String {
    let number = show(count as f64, Unit::Count);
    format!("{number} of {} {}", counted(all, one), if count == 1 { does } else { do_ })
}

/// One step of a scale: from this value upwards, divide by that and write the word.
struct Step {
    from: f64,
    divisor: f64,
    word: &'static str,
}

const fn step(from: f64, divisor: f64, word: &'static str) -> Step {
    Step { from, divisor, word }
}

/// Scales, largest step first; the last one takes all that is smaller.
static BYTES: &[Step] = &[
    step(1e12, 1e12, " TB"),
    step(1e9, 1e9, " GB"),
    step(1e6, 1e6, " MB"),
    step(1e3, 1e3, " kB"),
    step(0.0, 1.0, " B"),
];
static SECONDS: &[Step] = &[
    step(172_800.0, 86_400.0, " days"),
    step(7_200.0, 3_600.0, " h"),
    step(120.0, 60.0, " min"),
    step(1.0, 1.0, " s"),
    step(1e-4, 1e-3, " ms"),
    step(0.0, 1e-6, " µs"),
];
static HERTZ: &[Step] = &[step(1e9, 1e9, " GHz"), step(1e6, 1e6, " MHz"), step(0.0, 1.0, " Hz")];
static COUNTS: &[Step] =
    &[step(1e9, 1e9, " G"), step(1e6, 1e6, " M"), step(1e5, 1e3, " k"), step(0.0, 1.0, "")];

fn scaled(value: f64, scale: &[Step]) -> String {
    let size = value.abs();
    if size == 0.0 {
        return format!("0{}", zero_word(scale));
    }
    // A value that rounds up to the next step is written in that step: 999.7 kB is 1 MB.
    let rounded = round_to_three(size);
    let step = scale.iter().find(|step| rounded >= step.from).or(scale.last());
    let Some(step) = step else { return digits(value, 2) };
    let number = value / step.divisor;
    let places = match number.abs() {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    digits(number, places) + step.word
}

/// Zero is written in the scale's plain unit: `0 s`, `0 B`, `0`.
fn zero_word(scale: &[Step]) -> &'static str {
    scale.iter().find(|step| step.divisor == 1.0).map_or("", |step| step.word)
}

fn round_to_three(size: f64) -> f64 {
    let magnitude = 10_f64.powi(size.log10().floor() as i32 - 2);
    (size / magnitude).round() * magnitude
}

fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let places = match percent.abs() {
        p if p >= 99.95 => 0,
        p if p >= 1.0 || p == 0.0 => 1,
        _ => 2,
    };
    digits(percent, places) + " %"
}

/// A number with at most this many places, without trailing zeros and without a minus before zero.
fn digits(number: f64, places: usize) -> String {
    let mut text = format!("{number:.places$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_two_digits() {
        for (value, two) in [(20_698.0, 21_000.0), (7.0, 7.0), (0.0, 0.0), (19.4, 19.0), (1_005.0, 1_000.0)] {
            assert_eq!(two_digits(value), two);
        }
    }

    #[test]
    fn what_is_foreseen_is_no_more_exact_than_that() {
        for (seconds, told) in [
            (4.57, "about 5 s"),
            (0.2, "about 1 s"),
            (54.4, "about 54 s"),
            (817.0, "about 14 min"),
            (9_130.0, "about 2.5 h"),
        ] {
            assert_eq!(foreseen(seconds), told);
        }
    }

    #[test]
    fn a_share_is_between_nothing_and_all() {
        let told =
            [(1.0, 4.0), (103.0, 100.0), (-1.0, 4.0), (0.0, 4.0)].map(|(part, whole)| share(part, whole));
        assert_eq!(told, [Some(0.25), Some(1.0), Some(0.0), Some(0.0)]);
        assert_eq!(share(1.0, 0.0), None, "of nothing there is no share");
    }

    #[test]
    fn one_is_one_and_many_are_many() {
        let words = [(1, "key"), (2, "key"), (0, "reply"), (1, "reply"), (3, "search"), (2, "address")];
        let said = words.map(|(count, one)| counted(count, one));
        assert_eq!(said, ["1 key", "2 keys", "0 replies", "1 reply", "3 searches", "2 addresses"]);
        let said = [(1, 6), (2, 6), (1, 1), (0, 3)];
        let said = said.map(|(count, all)| counted_of(count, all, "node", ("sees", "see")));
        assert_eq!(said, ["1 of 6 nodes sees", "2 of 6 nodes see", "1 of 1 node sees", "0 of 3 nodes see"]);
    }
    use proptest::prelude::*;

    #[test]
    fn numbers_are_written_as_an_engineer_says_them() {
        for (value, unit, text) in [
            (23_900_000.0, Unit::BytesPerSecond, "23.9 MB/s"),
            (25e6, Unit::BytesPerSecond, "25 MB/s"),
            (1_800_000.0, Unit::Bytes, "1.8 MB"),
            (512.0, Unit::Bytes, "512 B"),
            (999_700.0, Unit::Bytes, "1 MB"),
            (2.41, Unit::Seconds, "2.41 s"),
            (0.041, Unit::Seconds, "41 ms"),
            (0.0007, Unit::Seconds, "0.7 ms"),
            (0.9996, Unit::Seconds, "1 s"),
            (0.000_012, Unit::Seconds, "12 µs"),
            (119.0, Unit::Seconds, "119 s"),
            (150.0, Unit::Seconds, "2.5 min"),
            (9_000.0, Unit::Seconds, "2.5 h"),
            (0.0, Unit::Seconds, "0 s"),
            (0.7, Unit::Ratio, "70 %"),
            (0.985, Unit::Ratio, "98.5 %"),
            (0.0042, Unit::Ratio, "0.42 %"),
            (2.61, Unit::Ratio, "261 %"),
            (0.0, Unit::Ratio, "0 %"),
            (1_420.4, Unit::PerSecond, "1420/s"),
            (13.9, Unit::PerSecond, "13.9/s"),
            (3.0, Unit::Count, "3"),
            (7.6, Unit::Count, "7.6"),
            (123_456.0, Unit::Count, "123 k"),
            (1_230_000.0, Unit::Count, "1.23 M"),
            (-0.000_001, Unit::Count, "0"),
            (-0.041, Unit::Seconds, "-41 ms"),
            (50_815.0, Unit::UnixSeconds, "14:06:55 UTC"),
            (64.0, Unit::Celsius, "64 °C"),
            (699.6, Unit::Watts, "700 W"),
            (1.98e9, Unit::Hertz, "1.98 GHz"),
            (345e6, Unit::Hertz, "345 MHz"),
            (f64::NAN, Unit::Seconds, "not a number"),
            (f64::INFINITY, Unit::Bytes, "unlimited"),
        ] {
            assert_eq!(show(value, unit), text, "{value} {unit:?}");
        }
    }

    #[test]
    fn multiples_are_short() {
        assert_eq!(times(13.2), "13x");
        assert_eq!(times(1.46), "1.5x");
        assert_eq!(times(2.0), "2x");
        assert_eq!(times(f64::INFINITY), "?x");
    }

    proptest! {
        #[test]
        fn every_number_is_short_and_keeps_its_size(value in 1e-6_f64..1e15) {
            for unit in [Unit::Bytes, Unit::BytesPerSecond, Unit::Seconds, Unit::PerSecond, Unit::Count] {
                let text = show(value, unit);
                prop_assert!(text.len() <= 18, "{text}");
                prop_assert!(!text.contains("-"), "{text}");
            }
            // Read back, the number is within rounding of what went in.
            let text = show(value, Unit::Bytes);
            let (number, word) = text.split_once(' ').unwrap();
            let factor = BYTES.iter().find(|step| step.word.trim() == word).unwrap().divisor;
            let back = number.parse::<f64>().unwrap() * factor;
            prop_assert!((back - value).abs() <= value * 0.006 + 0.006, "{value} became {text}");
        }
    }
}
