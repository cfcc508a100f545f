//! `headwater report`: the write-up of an incident, from its recording.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use headwater_engine::Moment;
use headwater_engine::writeup::WriteUp;

use super::output::{Failure, print, say};
use super::record::holds_nothing;
use crate::recording::{Player, Tape};
use crate::report::{files, writeup};

/// `headwater report`.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// A file made by 'headwater record' or '--record'
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The moment to write up, in UTC: '14:07:05' within the recording, or '2026-11-29T14:07:05Z' [default: its end]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    /// The folder of both files, which are never written over others [default: this one]
    #[arg(long, value_name = "FOLDER", conflicts_with = "format")]
    into: Option<PathBuf>,

    /// Print one form instead of writing files
    #[arg(long, value_enum)]
    format: Option<WrittenForm>,
}

/// The forms of a write-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WrittenForm {
    /// Markdown, for a ticket.
    #[value(name = "md", alias = "markdown")]
    Markdown,
    /// For programs: the fields of a triage, and more beside them.
    Json,
}

pub(super) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let tape = Tape::File(args.file.clone());
    let name = tape.name();
    let Some((from, to)) = tape.span()? else { return Err(holds_nothing(&name)) };
    let until = match &args.at {
        None => to,
        Some(text) => moment(text, from, to).map_err(Failure::usage)?,
    };
    let mut player = Player::new(tape)?;
    while player.next_at()?.is_some_and(|next| next <= until) {
        player.advance()?;
    }
    if player.is_cut() {
        say(format_args!("'{name}' ends in the middle of a line: what came before it was read"));
    }
    let Some(snapshot) = player.snapshot() else { return Err(holds_nothing(&name)) };
    let written = WriteUp::of(&snapshot, writeup::versions(Some(player.recorded_by())));
    match args.format {
        Some(WrittenForm::Markdown) => print(&writeup::markdown(&snapshot, &written))?,
        Some(WrittenForm::Json) => print(&writeup::json(&written))?,
        None => {
            let folder = args.into.clone().unwrap_or_default();
            let stem = files::write_into(&folder, &snapshot, &written).map_err(|error| {
                let place =
                    if folder.as_os_str().is_empty() { ".".into() } else { folder.display().to_string() };
                Failure::of_file(
                    &error,
                    format_args!("'{place}' cannot be written ({error}): choose another '--into'"),
                )
            })?;
            print(&format!("{}\n", files::written(&stem)))?;
        }
    }
    Ok(0)
}

/// The moment that a text names: a time of day is the first such within the recording.
fn moment(text: &str, from: Moment, to: Moment) -> Result<Moment, String> {
    let found = match text.parse::<jiff::Timestamp>() {
        // A whole second is meant to its end, as a time of day is.
        Ok(at) if at.subsec_nanosecond() == 0 => Some(Moment(at.as_millisecond() + 999)),
        Ok(at) => Some(Moment(at.as_millisecond())),
        Err(_) => {
            let time: jiff::civil::Time = text.parse().map_err(|_| {
                format!("'--at {text}' is no time: write '14:07:05' or '2026-11-29T14:07:05Z', in UTC")
            })?;
            const DAY_MS: i64 = 86_400_000;
            let of_day = i64::from(time.hour()) * 3_600_000
                + i64::from(time.minute()) * 60_000
                + i64::from(time.second()) * 1_000
                + 999;
            let today = Moment(from.0.div_euclid(DAY_MS) * DAY_MS + of_day);
            Some(if today < from { Moment(today.0 + DAY_MS) } else { today })
        }
    };
    found.filter(|at| (from..=Moment(to.0 + 999)).contains(at)).ok_or_else(|| {
        format!(
            "'--at {text}' is not within the recording: it goes from {} to {} UTC",
            from.clock(),
            to.clock()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_first_within_the_recording() {
        const DAY: i64 = 86_400_000;
        let (from, to) = (Moment(DAY - 60_000), Moment(DAY + 120_000));
        assert_eq!(moment("23:59:30", from, to), Ok(Moment(DAY - 30_000 + 999)));
        assert_eq!(moment("00:01", from, to), Ok(Moment(DAY + 60_999)));
        assert_eq!(moment("1970-01-02T00:00:00Z", from, to), Ok(Moment(DAY + 999)));
        let late = Moment(DAY + 300);
        assert_eq!(
            moment("1970-01-02T00:00:00Z", late, to),
            Ok(Moment(DAY + 999)),
            "the second it names itself"
        );
        assert!(moment("00:03", from, to).unwrap_err().contains("it goes from 23:59:00 to 00:02:00"));
        assert!(moment("soon", from, to).unwrap_err().contains("is no time"));
    }
}
