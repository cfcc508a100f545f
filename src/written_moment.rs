//! A moment as people and exporters write it: RFC 3339, or Unix seconds or milliseconds.

/// What is expected where a moment is expected.
pub(crate) const EXPECTED: &str =
    "RFC 3339 such as \"2026-01-02T03:04:05Z\", or Unix seconds or milliseconds";

/// Numbers from here on are milliseconds and not seconds; as seconds they would lie after the year 5000.
const FIRST_MILLISECONDS: f64 = 1e11;

/// Moments in Unix seconds that can be written as a date.
pub(crate) const MOMENTS_S: std::ops::RangeInclusive<f64> = -62_135_596_800.0..=253_402_300_799.0;

/// A text as Unix seconds; `None` where it is no moment.
pub(crate) fn of_text(text: &str) -> Option<f64> {
    let text = text.trim();
    let written = text.parse::<jiff::Timestamp>().ok().map(|at| at.as_millisecond() as f64 / 1_000.0);
    written.or_else(|| text.parse::<f64>().ok().and_then(of_number))
}

/// A number as Unix seconds; `None` where it is no moment.
pub(crate) fn of_number(number: f64) -> Option<f64> {
    let seconds = if number.abs() >= FIRST_MILLISECONDS { number / 1_000.0 } else { number };
    MOMENTS_S.contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_counts_seconds_or_milliseconds() {
        for (text, seconds) in [
            ("1661140434", 1_661_140_434.0),
            ("1661140434500", 1_661_140_434.5),
            (" 12.5 ", 12.5),
            ("-1", -1.0),
            ("1970-01-01T00:01:00.5Z", 60.5),
            ("1970-01-01T01:01:00+01:00", 60.0),
        ] {
            assert_eq!(of_text(text), Some(seconds), "{text}");
        }
        for nonsense in ["", "soon", "NaN", "inf", "-1e300", "1e300"] {
            assert_eq!(of_text(nonsense), None, "{nonsense}");
        }
    }
}
