//! Text that came from outside, made safe to show.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest remote text that is kept, in characters as they are written, escapes included; the rest is cut, never
/// within an escape, and marked with `…`.
pub const REMOTE_TEXT_LIMIT: usize = 512;

/// A key name, label value, log line or error of a remote system: no control character, no bidirectional
/// override, bounded length. Bytes that are not UTF-8 and characters that could steer a terminal are written
/// as `\xNN` or `\u{NNNN}`. There is no other way for remote text into the engine, so nothing raw can reach
/// a screen, a report or a log.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct RemoteText(Arc<str>);

impl RemoteText {
    /// Cleans a text.
    pub fn new(text: &str) -> Self {
        if text.len() <= REMOTE_TEXT_LIMIT && text.chars().all(is_harmless) {
            return Self(text.into());
        }
        Self::from_bytes(text.as_bytes())
    }

    /// Cleans bytes; valid UTF-8 stays readable, other bytes become `\xNN`. Cleaning a clean text changes nothing, so
    /// that what was recorded comes back as it was.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut clean = Clean::default();
        for chunk in bytes.utf8_chunks() {
            let fits = chunk.valid().chars().all(|c| match c {
                c if is_harmless(c) => clean.push(c.encode_utf8(&mut [0; 4]), 1),
                c if c.is_ascii() => clean.push_escape(&format!("\\x{:02x}", u32::from(c))),
                c => clean.push_escape(&format!("\\u{{{:x}}}", u32::from(c))),
            }) && chunk.invalid().iter().all(|byte| clean.push_escape(&format!("\\x{byte:02x}")));
            if !fits {
                clean.text.push('…');
                break;
            }
        }
        Self(clean.text.into())
    }

    /// The clean text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text of the user's own files, of any length, that cannot steer a terminal: line ends and tabs become blanks, other
/// controls and invisible formatters a replacement character.
pub fn without_controls(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_harmless(c) => c,
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(harmless).collect()
}

/// A clean text that grows up to [`REMOTE_TEXT_LIMIT`].
#[derive(Default)]
struct Clean {
    text: String,
    length: usize,
}

impl Clean {
    /// Adds a piece of so many characters as a whole; says whether it had room.
    fn push(&mut self, piece: &str, length: usize) -> bool {
        let fits = self.length + length <= REMOTE_TEXT_LIMIT;
        if fits {
            self.text.push_str(piece);
            self.length += length;
        }
        fits
    }

    fn push_escape(&mut self, escape: &str) -> bool {
        // Escapes are ASCII: a byte is a character.
        self.push(escape, escape.len())
    }
}

/// Whether a character can be printed as it is: not a control, not a bidirectional or invisible formatter.
fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

impl From<String> for RemoteText {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<&str> for RemoteText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<RemoteText> for String {
    fn from(text: RemoteText) -> Self {
        text.0.as_ref().to_owned()
    }
}

impl fmt::Display for RemoteText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl fmt::Debug for RemoteText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_and_overrides_lose_their_power() {
        assert_eq!(RemoteText::new("a\x1b[31mred\n").as_str(), "a\\x1b[31mred\\x0a");
        assert_eq!(RemoteText::new("x\u{202e}gpj").as_str(), "x\\u{202e}gpj");
        assert_eq!(RemoteText::new("c1\u{9b}2J").as_str(), "c1\\u{9b}2J");
        assert_eq!(RemoteText::from_bytes(b"\xac\xed\x00\x05t").as_str(), "\\xac\\xed\\x00\\x05t");
    }

    #[test]
    fn readable_text_stays_as_it_is() {
        assert_eq!(RemoteText::new("user:profile:爆款😀").as_str(), "user:profile:爆款😀");
    }

    #[test]
    fn cleaning_again_changes_nothing_and_length_is_bounded() {
        let long = RemoteText::new(&"é".repeat(5_000));
        assert_eq!(long.as_str().chars().count(), REMOTE_TEXT_LIMIT + 1);
        let once = RemoteText::new("tab\there");
        assert_eq!(RemoteText::new(once.as_str()), once);
    }

    #[test]
    fn escapes_count_as_they_are_written_and_stay_whole() {
        let long = RemoteText::from_bytes(&[0xff; 200]);
        assert_eq!(long.as_str(), format!("{}…", "\\xff".repeat(REMOTE_TEXT_LIMIT / 4)));
        let shifted = RemoteText::from_bytes(&[&b"a"[..], &[0xff; 200]].concat());
        assert_eq!(shifted.as_str(), format!("a{}…", "\\xff".repeat(REMOTE_TEXT_LIMIT / 4 - 1)));
    }

    proptest! {
        #[test]
        fn what_is_clean_stays_as_it_is(bytes in proptest::collection::vec(any::<u8>(), 0..1_200), text in "\\PC{0,600}|.{0,600}") {
            for clean in [RemoteText::from_bytes(&bytes), RemoteText::new(&text)] {
                prop_assert!(clean.as_str().chars().count() <= REMOTE_TEXT_LIMIT + 1);
                prop_assert!(clean.as_str().chars().all(is_harmless));
                prop_assert_eq!(&RemoteText::new(clean.as_str()), &clean);
                prop_assert_eq!(&serde_json::from_str::<RemoteText>(&serde_json::to_string(&clean).unwrap()).unwrap(), &clean);
            }
        }
    }
}
