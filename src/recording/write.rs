//! Writing a recording.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use headwater_engine::Input;
use serde::Serialize;

use super::{Header, RecordingError};

/// zstd's own default: fast enough to run inside the loop, about a tenth of the text's size.
const LEVEL: i32 = 3;

/// The most text that waits for a flush, in bytes; beyond it a frame is written at once.
const LONGEST_WAIT: usize = 4 << 20;

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    waiting: Vec<u8>,
}

impl Recorder {
    /// Creates the file, readable by its owner alone, and writes the header. An existing file is replaced.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RecordingError> {
        let file =
            owner_file(path).map_err(|reason| RecordingError::File { path: path.to_owned(), reason })?;
        let mut recorder = Self { path: path.to_owned(), file, waiting: vec![] };
        recorder.push(header);
        recorder.flush()?;
        Ok(recorder)
    }

    /// Adds one input. It is on disk after the next [`Recorder::flush`].
    pub fn record(&mut self, input: &Input) -> Result<(), RecordingError> {
        self.push(input);
        if self.waiting.len() > LONGEST_WAIT { self.flush() } else { Ok(()) }
    }

    /// Writes what waits as one frame.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let frame = zstd::bulk::compress(&self.waiting, LEVEL);
        self.waiting.clear();
        frame
            .and_then(|frame| self.file.write_all(&frame))
            .map_err(|reason| RecordingError::File { path: self.path.clone(), reason })
    }

    fn push(&mut self, line: &impl Serialize) {
        serde_json::to_writer(&mut self.waiting, line)
            .expect("inputs are plain values, and a Vec takes all bytes");
        self.waiting.push(b'\n');
    }
}

/// Opens a file for writing, made anew, that only its owner may read; an existing one keeps neither its text nor its
/// mode. A device or a pipe is left as it is.
pub(crate) fn owner_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}
