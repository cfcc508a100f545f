//! Where logs go: to standard error when they are asked for, to a file while the screen is in use.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use super::output::Failure;
use crate::config::state_folder;
use crate::recording::owner_file;

/// The size in bytes above which the screen's log is put aside and begun anew; one older one is kept.
const MOST: u64 = 1_000_000;

/// What is logged in a file unless something else is asked for.
const USUAL: &str = "headwater=debug";

/// What is logged without being asked: little, because a kiosk runs for weeks.
const UNASKED: &str = "headwater=warn";

/// Starts logging, by argument or by RUST_LOG. Logs hold no secret: specs keep theirs in types that do not print. A
/// command with a screen logs to a file in any case, because what is written to standard error would spoil it.
pub(super) fn start(filter: Option<&str>, file: Option<&Path>, has_screen: bool) -> Result<(), Failure> {
    let environment = std::env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = match (filter.or(environment.as_deref()), file) {
        (Some(filter), _) => filter,
        (None, Some(_)) => USUAL,
        (None, None) if has_screen => UNASKED,
        (None, None) => return Ok(()),
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format_args!("'{filter}' is not a log filter ({error}): write for example 'info'"))
    })?;
    // A log that cannot be written is told on standard error, but not over a screen.
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).log_internal_errors(!has_screen);
    match file {
        Some(path) => {
            let file = owner_file(path).map_err(|error| {
                let path = path.display();
                Failure::of_file(
                    &error,
                    format_args!("log file '{path}' cannot be written ({error}): give another path"),
                )
            })?;
            log.with_writer(file).init();
        }
        // Without a folder for it there is no log: that is no reason not to show the screen.
        None if has_screen => {
            if let Some(file) =
                state_folder().and_then(|folder| BoundedFile::open(folder.join("headwater.log")).ok())
            {
                log.with_writer(Mutex::new(file)).init();
            }
        }
        None => log.with_writer(io::stderr).init(),
    }
    Ok(())
}

/// A log that never grows beyond twice [`MOST`]: when it is full it is renamed, over the one that was before.
struct BoundedFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl BoundedFile {
    /// Goes on with the file of earlier runs.
    fn open(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let length = file.metadata()?.len();
        Ok(Self { path, file, length })
    }
}

impl Write for BoundedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.length > MOST {
            // One that was taken away or cannot be renamed is begun anew, or goes on: a log is no reason to fail.
            let _ = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            *self = Self::open(self.path.clone())?;
        }
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_log_is_its_owners_and_stays_small() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("state").join("headwater.log");
        let size = |name: &str| std::fs::metadata(path.with_file_name(name)).map_or(0, |file| file.len());
        let kilobyte = "x".repeat(1_000);
        for run in 0..4 {
            let mut log = BoundedFile::open(path.clone()).unwrap();
            for _ in 0..900 {
                log.write_all(kilobyte.as_bytes()).unwrap();
            }
            assert!(size("headwater.log") <= MOST + 1_000, "run {run}");
            assert_eq!(size("headwater.log.1") > 0, run > 0);
        }
        assert!(size("headwater.log.1") <= MOST + 1_000);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
