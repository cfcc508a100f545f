//! Copying by OSC 52: the terminal that the operator sits at puts the text into its clipboard, however far away this
//! process runs.

use std::fmt;

use crossterm::Command;
use crossterm::clipboard::CopyToClipboard;

/// The most that is copied, in bytes: terminals drop what is longer, some without a word.
const MOST: usize = 100_000;

/// The longest string that GNU screen hands on in one piece, in bytes, with room to spare.
const SCREEN_PIECE: usize = 240;

/// What stands between this process and the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiplexer {
    None,
    Tmux,
    Screen,
}

impl Multiplexer {
    /// What the environment says.
    pub(super) fn here() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if is_set("TMUX") {
            Self::Tmux
        } else if is_set("STY") {
            Self::Screen
        } else {
            Self::None
        }
    }
}

/// A finished control sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sequence(String);

impl Command for Sequence {
    fn write_ansi(&self, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What makes the terminal copy a text.
pub(super) fn sequence(text: &str, through: Multiplexer) -> Result<Sequence, String> {
    if text.len() > MOST {
        return Err(format!(
            "{} kB are too much for a clipboard ({} kB at most): export them into files instead",
            text.len() / 1_000,
            MOST / 1_000
        ));
    }
    let mut plain = String::new();
    // Writing to a String cannot fail.
    let _ = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut plain);
    Ok(Sequence(match through {
        Multiplexer::None => plain,
        // tmux takes it for itself with 'set-clipboard on', and hands on what is wrapped with 'allow-passthrough on'.
        Multiplexer::Tmux => format!("{plain}\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")),
        Multiplexer::Screen => in_pieces(&plain),
    }))
}

/// What is said of it. Whether the terminal did it, it does not tell.
pub(super) fn notice(text: &str, through: Multiplexer) -> String {
    let who = match through {
        Multiplexer::None => "your terminal, which must allow that",
        Multiplexer::Tmux => "tmux, which needs 'set-clipboard on'",
        Multiplexer::Screen => "your terminal through screen",
    };
    format!("copied: {} characters sent to {who}", text.chars().count())
}

/// Wraps a sequence for screen, which hands on short strings only; the pieces follow each other without a gap. An end
/// of string within the sequence would end its wrapping, so it ends with BEL instead.
fn in_pieces(plain: &str) -> String {
    let plain = plain.strip_suffix("\x1b\\").map_or_else(|| plain.to_owned(), |start| format!("{start}\x07"));
    let pieces = plain.as_bytes().chunks(SCREEN_PIECE).map(String::from_utf8_lossy);
    pieces.map(|piece| format!("\x1bP{piece}\x1b\\")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sent_in_base64_through_whatever_lies_between() {
        let sent = |through| sequence("hot", through).unwrap().0;
        assert_eq!(sent(Multiplexer::None), "\x1b]52;c;aG90\x1b\\");
        assert_eq!(
            sent(Multiplexer::Tmux),
            "\x1b]52;c;aG90\x1b\\\x1bPtmux;\x1b\x1b]52;c;aG90\x1b\x1b\\\x1b\\"
        );
        assert_eq!(sent(Multiplexer::Screen), "\x1bP\x1b]52;c;aG90\x07\x1b\\");
    }

    #[test]
    fn screen_is_given_short_pieces_that_are_whole_together() {
        let text = "x".repeat(1_000);
        let whole = sequence(&text, Multiplexer::None).unwrap().0;
        let pieces = sequence(&text, Multiplexer::Screen).unwrap().0;
        let inner: Vec<_> = pieces.split("\x1b\\").map(|piece| piece.trim_start_matches("\x1bP")).collect();
        assert!(inner.iter().all(|piece| piece.len() <= SCREEN_PIECE), "{inner:?}");
        assert_eq!(inner.concat().replace('\x07', "\x1b\\"), whole);
    }

    #[test]
    fn what_is_too_long_is_refused_with_what_to_do() {
        assert!(sequence(&"x".repeat(MOST), Multiplexer::None).is_ok());
        let complaint = sequence(&"x".repeat(MOST + 1), Multiplexer::None).unwrap_err();
        assert!(complaint.contains("100 kB at most"), "{complaint}");
    }
}
