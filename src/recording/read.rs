//! Reading a recording.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use headwater_engine::Input;

use super::{FORMAT, Header, RecordingError, VERSION};

/// The longest line that is read, in bytes; a longer one is damage, not an input.
const LONGEST_LINE: usize = 64 << 20;

/// A recording that is being read: an iterator over its inputs.
pub struct Recording {
    path: PathBuf,
    header: Header,
    lines: BufReader<zstd::Decoder<'static, BufReader<Box<dyn Read + Send>>>>,
    line: usize,
    is_cut: bool,
    is_done: bool,
}

impl Recording {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file =
            File::open(path).map_err(|reason| RecordingError::File { path: path.to_owned(), reason })?;
        Self::from_reader(Box::new(file), path)
    }

    /// Reads a recording from anywhere; `path` names it in errors.
    pub fn from_reader(reader: Box<dyn Read + Send>, path: &Path) -> Result<Self, RecordingError> {
        let unusable = |reason| RecordingError::File { path: path.to_owned(), reason };
        let decoder = zstd::Decoder::new(reader).map_err(unusable)?;
        let mut lines = BufReader::new(decoder);
        let not_ours = || RecordingError::NotARecording { path: path.to_owned() };
        let mut first = vec![];
        read_line(&mut lines, &mut first).map_err(|_| not_ours())?;
        // The version is looked at before the rest, whose shape may be another one in another version.
        let loose: serde_json::Value = serde_json::from_slice(&first).map_err(|_| not_ours())?;
        if loose["format"] != FORMAT {
            return Err(not_ours());
        }
        let version = loose["version"].as_u64().and_then(|version| u32::try_from(version).ok()).unwrap_or(0);
        if version > VERSION {
            let headwater = loose["headwater"].as_str().unwrap_or("?").chars().take(20).collect();
            return Err(RecordingError::TooNew { path: path.to_owned(), version, headwater });
        }
        let header = serde_json::from_value(loose).map_err(|error| RecordingError::Damaged {
            path: path.to_owned(),
            line: 1,
            reason: error.to_string(),
        })?;
        Ok(Self { path: path.to_owned(), header, lines, line: 1, is_cut: false, is_done: false })
    }

    /// What the engine was told before the first input.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the file ended within a frame or a line, as after a crash; known once all inputs were read.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn damaged(&self, reason: impl std::fmt::Display) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), line: self.line, reason: reason.to_string() }
    }
}

/// Reads up to and including the next line feed; says whether there was one.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut limited = from.take(LONGEST_LINE as u64);
    limited.read_until(b'\n', line)?;
    Ok(line.last() == Some(&b'\n'))
}

impl Iterator for Recording {
    type Item = Result<Input, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        self.line += 1;
        let mut line = vec![];
        match read_line(&mut self.lines, &mut line) {
            Ok(true) => match serde_json::from_slice(&line) {
                Ok(input) => return Some(Ok(input)),
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(self.damaged(error)));
                }
            },
            Ok(false) => self.is_cut = !line.is_empty(),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => self.is_cut = true,
            Err(error) => {
                self.is_done = true;
                return Some(Err(self.damaged(error)));
            }
        }
        self.is_done = true;
        None
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Recording")
            .field("path", &self.path)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}
