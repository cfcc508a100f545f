//! Reads numbers as pages write them.

/// The most characters of a number that is read here; its digits without the point are then exact as a float, and so
/// are the powers of ten.
const SHORT: usize = 15;

static TENS: [f64; SHORT] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Reads a decimal number, `Inf` or `NaN` in any case; not the hexadecimal or grouped forms of some languages.
pub(super) fn number(word: &str) -> Option<f64> {
    short(word.as_bytes()).or_else(|| word.parse().ok())
}

/// Reads a number of few digits and perhaps a point, as most are, several times faster than the standard library and to
/// the same bit: the quotient of two exact floats is the nearest one. `None` of what is longer or written otherwise.
fn short(word: &[u8]) -> Option<f64> {
    if word.len() > SHORT {
        return None;
    }
    let (mut digits, mut point) = (0_u64, None);
    for (at, byte) in word.iter().enumerate() {
        match byte {
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    match point {
        _ if word.len() == usize::from(point.is_some()) => None,
        None => Some(digits as f64),
        Some(at) => Some(digits as f64 / TENS[word.len() - at - 1]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_as_the_standard_library_reads_it(word: &str) -> bool {
        let bits = |number: Option<f64>| number.map(f64::to_bits);
        bits(number(word)) == bits(word.parse().ok())
    }

    #[test]
    fn the_ends_of_what_is_short_are_read_right() {
        for word in [
            "",
            ".",
            "0",
            "0.",
            ".0",
            "5.",
            ".5",
            "1..2",
            "-1",
            "+1",
            "1e3",
            "1_0",
            "0x1",
            "Inf",
            "nan",
            "é",
            "999999999999999",
            "0.9999999999999",
            ".99999999999999",
            "99999999999999.",
            "9999999999999999",
            "00000000000000.1",
            "0.1",
            "0.3",
            "1.0",
        ] {
            assert!(is_as_the_standard_library_reads_it(word), "'{word}'");
        }
        assert_eq!((number("40.0"), number("0.025"), number(".")), (Some(40.0), Some(0.025), None));
    }

    proptest! {
        #[test]
        fn numbers_are_read_to_the_last_bit(word in "[0-9]{0,17}(\\.[0-9]{0,17})?", any in "[-+.eE0-9]{0,20}") {
            prop_assert!(is_as_the_standard_library_reads_it(&word), "'{word}'");
            prop_assert!(is_as_the_standard_library_reads_it(&any), "'{any}'");
        }
    }
}
