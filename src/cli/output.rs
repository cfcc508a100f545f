//! What goes to standard output and standard error, and how the process ends.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::ExitCode;

use headwater_engine::Snapshot;

use super::{EXIT_IO, EXIT_USAGE};
use crate::report::{COLUMNS, Format, Layout, render_within};

/// The narrowest text, whatever the terminal's width: below this nothing can be read.
const LEAST_COLUMNS: usize = 40;

/// Why a command ended early: its exit code and one sentence with the fix.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    sentence: String,
}

impl Failure {
    pub(super) fn new(code: u8, sentence: impl Display) -> Self {
        Self { code, sentence: sentence.to_string() }
    }

    /// Says it on standard error.
    pub(super) fn say(&self) {
        for line in self.sentence.lines() {
            say(format_args!("headwater: {line}"));
        }
    }

    pub(super) fn usage(sentence: impl Display) -> Self {
        Self::new(EXIT_USAGE, sentence)
    }

    /// A file that cannot be used: the argument is wrong when it names no such file, but not when a disk is full.
    pub(super) fn of_file(reason: &io::Error, sentence: impl Display) -> Self {
        let is_about_its_name = matches!(
            reason.kind(),
            ErrorKind::NotFound
                | ErrorKind::PermissionDenied
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::InvalidInput
                | ErrorKind::InvalidFilename
        );
        Self::new(if is_about_its_name { EXIT_USAGE } else { EXIT_IO }, sentence)
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<crate::sources::metrics::MetricsSpecError> for Failure {
    fn from(error: crate::sources::metrics::MetricsSpecError) -> Self {
        Self::usage(error)
    }
}

impl From<crate::recording::RecordingError> for Failure {
    fn from(error: crate::recording::RecordingError) -> Self {
        match &error {
            crate::recording::RecordingError::File { reason, .. } => Self::of_file(reason, &error),
            _ => Self::usage(error),
        }
    }
}

/// An empty text for standard output, of so many columns at most: a terminal that is narrower would break its lines again.
pub(super) fn layout(most: usize) -> Layout {
    Layout::new(room(most))
}

/// Writes a report to standard output.
pub(super) fn print_report(snapshot: &Snapshot, format: Format) -> Result<(), Failure> {
    print(&render_within(snapshot, format, room(COLUMNS)))
}

/// The columns of a text for standard output, of so many at most.
fn room(most: usize) -> usize {
    let is_terminal = io::stdout().is_terminal();
    let terminal = if is_terminal { crossterm::terminal::size().ok() } else { None };
    columns(most, terminal.map(|(columns, _)| columns))
}

/// The columns of a text in a terminal of so many, where it goes to one that tells; some tell 0.
fn columns(most: usize, terminal: Option<u16>) -> usize {
    let told = terminal.filter(|columns| *columns > 0).map(usize::from);
    told.map_or(most, |columns| columns.clamp(LEAST_COLUMNS, most.max(LEAST_COLUMNS)))
}

/// Writes a whole text to standard output. Whoever reads may have closed the pipe: that ends the command quietly.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(EXIT_IO, format_args!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes one line to standard error. What it quotes may come from anywhere, file names too: nothing in it steers
/// the terminal.
pub(super) fn say(line: impl Display) {
    let line: String =
        line.to_string().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    // There is nobody left to tell when standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Ends the process with what a command came to.
pub(super) fn exit(ran: Result<u8, Failure>) -> ExitCode {
    match ran {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.say();
            ExitCode::from(failure.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_wider_than_its_terminal() {
        let known = [(None, 100), (Some(0), 100), (Some(80), 80), (Some(200), 100), (Some(7), 40)];
        for (terminal, wanted) in known {
            assert_eq!(columns(100, terminal), wanted, "{terminal:?}");
        }
    }
}
