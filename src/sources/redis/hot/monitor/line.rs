//! One line of MONITOR: when, in which database, from where, and the command with its arguments, quoted.

/// A line, whose words are unquoted when they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// When it ran, in microseconds since the Unix epoch by the server's clock.
    pub(super) at_us: u64,
    pub(super) database: u32,
    /// The client's address, a socket's path, or `lua` for what a script calls.
    pub(super) source: &'a [u8],
    words: &'a [u8],
}

impl<'a> Line<'a> {
    /// Reads a line without its end: `1339518083.107412 [0 127.0.0.1:60866] "get" "k"`.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        let (time, rest) = split(line, b" [")?;
        let (database, rest) = split(rest, b" ")?;
        let (source, words) = split(rest, b"] ")?;
        let time = std::str::from_utf8(time).ok()?;
        let (seconds, fraction) = time.split_once('.')?;
        let micros: u64 = fraction.parse().ok().filter(|_| fraction.len() == 6)?;
        Some(Self {
            at_us: seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)?,
            database: std::str::from_utf8(database).ok()?.parse().ok()?,
            source,
            words,
        })
    }

    /// The command and its arguments as the client sent them; ends at the first that is not whole.
    pub(super) fn words(self) -> Words<'a> {
        Words { rest: self.words }
    }
}

/// The words of a line.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl Iterator for Words<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let rest = self.rest.strip_prefix(b" ").unwrap_or(self.rest);
        let mut bytes = rest.strip_prefix(b"\"")?.iter();
        let mut word = vec![];
        loop {
            match bytes.next()? {
                b'"' => {
                    self.rest = bytes.as_slice();
                    return Some(word);
                }
                b'\\' => word.push(match bytes.next()? {
                    b'x' => hex(*bytes.next()?)? << 4 | hex(*bytes.next()?)?,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 0x07,
                    b'b' => 0x08,
                    other => *other,
                }),
                byte => word.push(*byte),
            }
        }
    }
}

fn split<'a>(bytes: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = bytes.windows(by.len()).position(|window| window == by)?;
    Some((&bytes[..place], &bytes[place + by.len()..]))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As a server writes a word.
    fn quoted(word: &[u8]) -> Vec<u8> {
        let mut out = vec![b'"'];
        for byte in word {
            match byte {
                b'\\' | b'"' => out.extend([b'\\', *byte]),
                b'\n' => out.extend(b"\\n"),
                b'\r' => out.extend(b"\\r"),
                b'\t' => out.extend(b"\\t"),
                0x07 => out.extend(b"\\a"),
                0x08 => out.extend(b"\\b"),
                b' '..=b'~' => out.push(*byte),
                other => out.extend(format!("\\x{other:02x}").bytes()),
            }
        }
        out.push(b'"');
        out
    }

    #[test]
    fn lines_of_every_source_are_read() {
        let cases: [(&str, u32, &str); 4] = [
            ("1796006612.226644 [0 127.0.0.1:37228] \"get\" \"k\"", 0, "127.0.0.1:37228"),
            ("+1796006612.226644 [12 lua] \"get\" \"k\"", 12, "lua"),
            ("1796006612.226644 [0 [::1]:37228] \"get\" \"k\"", 0, "[::1]:37228"),
            ("1796006612.226644 [0 unix:/run/r [1].sock] \"get\" \"k\"", 0, "unix:/run/r [1].sock"),
        ];
        for (text, database, source) in cases {
            let line = Line::parse(text.as_bytes()).unwrap();
            assert_eq!((line.at_us, line.database), (1_796_006_612_226_644, database));
            assert_eq!(line.source, source.as_bytes());
            assert_eq!(line.words().collect::<Vec<_>>(), [b"get".to_vec(), b"k".to_vec()]);
        }
        for text in
            ["", "OK", "1796006612.226644", "1796006612.2 [0 lua] \"get\"", "x.000000 [0 lua] \"get\""]
        {
            assert_eq!(Line::parse(text.as_bytes()), None, "{text}");
        }
        let cut = Line::parse(b"1796006612.226644 [0 lua] \"get\" \"half\\x0").unwrap();
        assert_eq!(cut.words().collect::<Vec<_>>(), [b"get".to_vec()], "half a word is none");
    }

    proptest! {
        #[test]
        fn words_come_back_as_they_were_sent(
            words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..6),
        ) {
            let mut line = b"1.000001 [0 127.0.0.1:1] ".to_vec();
            line.extend(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(&b' '));
            prop_assert_eq!(Line::parse(&line).unwrap().words().collect::<Vec<_>>(), words);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(line) = Line::parse(&bytes) {
                let _ = line.words().count();
            }
            let line = [&b"1.000001 [0 lua] \""[..], &bytes].concat();
            let _ = Line::parse(&line).map(|line| line.words().count());
        }
    }
}
