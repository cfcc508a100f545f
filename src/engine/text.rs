//! Text that came from outside, made safe to show.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest remote text that is kept, in characters; the rest is cut and marked with `…`.
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

    /// Cleans bytes; valid UTF-8 stays readable, other bytes become `\xNN`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut clean = String::with_capacity(bytes.len().min(REMOTE_TEXT_LIMIT));
        let mut count = 0;
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                if count == REMOTE_TEXT_LIMIT {
                    clean.push('…');
                    return Self(clean.into());
                }
                count += 1;
                push_clean(&mut clean, c);
            }
            for byte in chunk.invalid() {
                if count == REMOTE_TEXT_LIMIT {
                    clean.push('…');
                    return Self(clean.into());
                }
                count += 1;
                clean.push_str(&format!("\\x{byte:02x}"));
            }
        }
        Self(clean.into())
    }

    /// The clean text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn push_clean(clean: &mut String, c: char) {
    if is_harmless(c) {
        clean.push(c);
    } else if c.is_ascii() {
        clean.push_str(&format!("\\x{:02x}", u32::from(c)));
    } else {
        clean.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
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
}
