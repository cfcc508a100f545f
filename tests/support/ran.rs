//! What a command of the real binary came to.

use std::process::Output;

use serde_json::Value;

/// A command that has ended: its exit code and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `None` where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// What a command came to.
    ///
    /// # Panics
    /// When it panicked, or wrote what steers a terminal: no command does, whatever it is asked.
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let ran = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        for stream in [&ran.out, &ran.err] {
            assert!(!stream.contains("panicked"), "{stream}");
            let is_tame = stream.chars().all(|c| c == '\n' || !c.is_control());
            assert!(is_tame, "raw control characters: {stream:?}");
        }
        ran
    }

    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        let read = serde_json::from_str(&self.out);
        assert!(read.is_ok(), "{read:?}: {self:?}");
        read.unwrap_or_default()
    }
}
