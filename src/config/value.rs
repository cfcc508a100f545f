//! The quantities that a configuration writes as text: spans of time, bandwidths, sizes.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

/// A span of time as it is written: `1s`, `500ms`, `2min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A bandwidth in bytes a second as it is written: `200Mbit/s`, `25MB/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth(pub f64);

/// A number of bytes as it is written: `96MiB`, `512kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const SPAN_UNITS: &[(&str, f64)] = &[
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3_600.0),
    ("d", 86_400.0),
];

/// Bits and bytes are always told apart by a word: a bare `b` could be either and is refused.
const BIT_UNITS: &[(&str, f64)] = &[
    ("bit", 0.125),
    ("kbit", 125.0),
    ("Mbit", 125e3),
    ("Gbit", 125e6),
    ("kbps", 125.0),
    ("Mbps", 125e3),
    ("Gbps", 125e6),
];

const BYTE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1_024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// Reads `NUMBER UNIT`; the number may have a fraction, blanks between are allowed.
fn number_with_unit(text: &str, units: &[&[(&str, f64)]]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, word) = text.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let word = word.trim();
    let (_, factor) = units.iter().copied().flatten().find(|(name, _)| *name == word)?;
    Some(number * factor)
}

/// What a written quantity offers to the generic reading and writing below.
trait Written: Sized {
    /// What it is, with examples: completes "is not ..." and "expected ...".
    const WHAT: &'static str;
    /// Reads it, or `None`.
    fn read(text: &str) -> Option<Self>;
}

impl Written for Span {
    const WHAT: &'static str = "a span of time: write for example '1s', '500ms' or '2min'";

    fn read(text: &str) -> Option<Self> {
        Duration::try_from_secs_f64(number_with_unit(text, &[SPAN_UNITS])?).ok().map(Self)
    }
}

impl Written for Bandwidth {
    const WHAT: &'static str = "a bandwidth: write for example '200Mbit/s' or '25MB/s'";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let rate = text.strip_suffix("/s").unwrap_or(text);
        number_with_unit(rate, &[BIT_UNITS, BYTE_UNITS]).filter(|rate| *rate > 0.0).map(Self)
    }
}

impl Written for Size {
    const WHAT: &'static str = "a size: write for example '96MiB' or '500MB'";

    fn read(text: &str) -> Option<Self> {
        number_with_unit(text, &[BYTE_UNITS]).map(|bytes| Self(bytes as u64))
    }
}

struct WrittenVisitor<T>(std::marker::PhantomData<T>);

impl<T: Written> de::Visitor<'_> for WrittenVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(T::WHAT)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).ok_or_else(|| E::custom(format_args!("is not {}", T::WHAT)))
    }
}

macro_rules! written {
    ($($type:ident $example:literal)*) => {$(
        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::read(text).ok_or_else(|| format!("'{text}' is not {}", Self::WHAT))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str(WrittenVisitor(std::marker::PhantomData))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "examples": [$example] })
            }

            fn inline_schema() -> bool {
                true
            }
        }
    )*};
}

written! {
    Span "500ms"
    Bandwidth "200Mbit/s"
    Size "96MiB"
}

/// Writes a number in the largest unit that keeps it whole, so that what is printed can be read again.
fn whole(out: &mut fmt::Formatter<'_>, value: f64, units: &[(&str, f64)], suffix: &str) -> fmt::Result {
    let unit = units.iter().find(|(_, factor)| value >= *factor && (value / factor).fract() == 0.0);
    let (word, factor) = unit.or(units.last()).copied().unwrap_or(("", 1.0));
    write!(out, "{}{word}{suffix}", value / factor)
}

impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis() as f64;
        whole(out, ms, &[("h", 3_600_000.0), ("min", 60_000.0), ("s", 1_000.0), ("ms", 1.0)], "")
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(out, self.0, &[("Gbit", 125e6), ("Mbit", 125e3), ("B", 1.0)], "/s")
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(out, self.0 as f64, &[("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("B", 1.0)], "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_people_write_them() {
        for (text, ms) in
            [("1s", 1_000), ("500ms", 500), ("1.5 s", 1_500), ("2min", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(text.parse::<Span>().unwrap().0.as_millis(), ms, "{text}");
        }
        for (text, bytes) in [
            ("200Mbit/s", 25e6),
            ("25MB/s", 25e6),
            ("10Gbps", 1.25e9),
            ("1 MiB/s", 1_048_576.0),
            ("1Gbit", 125e6),
        ] {
            assert_eq!(text.parse::<Bandwidth>().unwrap().0, bytes, "{text}");
        }
        assert_eq!("96MiB".parse::<Size>().unwrap().0, 96 << 20);
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        for text in ["200Mbyt", "25Mb/s", "25", "", "-1MB/s", "0MB/s", "MB/s", "1e9B/s"] {
            assert!(text.parse::<Bandwidth>().is_err(), "{text}");
        }
        for text in ["1", "1 fortnight", "-1s", "1 s s", "..s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!(
            "200Mbyt".parse::<Bandwidth>().unwrap_err(),
            "'200Mbyt' is not a bandwidth: write for example '200Mbit/s' or '25MB/s'"
        );
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        for text in ["1s", "500ms", "2min", "1h"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        for text in ["200Mbit/s", "10Gbit/s", "12345B/s"] {
            assert_eq!(text.parse::<Bandwidth>().unwrap().to_string(), text);
        }
        assert_eq!("96MiB".parse::<Size>().unwrap().to_string(), "96MiB");
    }
}
