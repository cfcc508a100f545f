//! Healthy values that one run leaves to the next.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use headwater_engine::settings::BaselineRow;
use headwater_engine::{Baselines, Moment};

use super::output::say;
use crate::config::{Config, Span};
use crate::recording::owner_file;
use crate::sources::now;
use crate::written_moment;

/// A day in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// Where healthy values are kept.
#[derive(Clone, Debug, Args)]
pub(super) struct BaselineArgs {
    /// Healthy values of earlier runs: read at the start, written after a healthy run [default: a file in
    /// headwater's XDG state folder, one for each configuration's name, or targets when it has none]
    #[arg(long, value_name = "FILE")]
    pub(super) baselines: Option<PathBuf>,

    /// Neither read nor write healthy values
    #[arg(long, conflicts_with = "baselines")]
    pub(super) no_baselines: bool,

    /// When the incident began: '20min' ago, 14:06 or 14:06:55 in UTC, or a date as in RFC 3339. What a [[prometheus]]
    /// remembers of before is healthy; without it, what is older than an hour
    #[arg(long, value_name = "TIME", value_parser = begin)]
    pub(super) since: Option<Moment>,
}

/// What earlier runs knew, and where this one writes what it learned.
#[derive(Debug)]
pub(super) struct Saved {
    path: Option<PathBuf>,
    pub(super) known: Baselines,
}

impl BaselineArgs {
    /// Reads what earlier runs of this configuration have left.
    pub(super) fn open(&self, config: &Config) -> Saved {
        let path = match (&self.baselines, self.no_baselines) {
            (_, true) => None,
            (Some(path), false) => Some(path.clone()),
            (None, false) => config.baselines_file(),
        };
        let known = path.as_deref().map_or_else(Baselines::default, load);
        Saved { path, known }
    }
}

impl Saved {
    /// Writes what a run learned, if it did and if it may; a file that cannot be written is said and is no failure.
    pub(super) fn save(self, learned: Option<Baselines>) {
        if let (Some(path), Some(learned)) = (self.path, learned)
            && let Err(error) = save(&path, &merged(self.known, learned))
        {
            say(format_args!("healthy values cannot be saved in '{}': {error}", path.display()));
        }
    }
}

/// A moment as an argument: how long ago, a time of the day in UTC of which the latest is meant, or a date.
pub(super) fn begin(text: &str) -> Result<Moment, String> {
    begin_before(text, now())
}

fn begin_before(text: &str, now: Moment) -> Result<Moment, String> {
    let of_day = |text: &str| {
        let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
        let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
        let is_time = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
        // The sign of a part would be one of the number.
        (is_time && !text.contains(['-', '+'])).then(|| {
            let of_day = (hour * 3_600 + minute * 60 + second) * 1_000;
            Moment(now.0 - (now.0 - of_day).rem_euclid(DAY_MS))
        })
    };
    let ago = || text.parse::<Span>().ok().map(|span| now - span.0);
    let dated = || written_moment::of_text(text).map(|seconds| Moment((seconds * 1_000.0) as i64));
    let at = of_day(text).or_else(ago).or_else(dated).ok_or_else(|| {
        "write how long ago it began ('20min'), its time in UTC ('14:06'), or a date ('2026-01-02T03:04:05Z')"
            .to_owned()
    })?;
    if at > now { Err("lies in the future: write when the incident began".to_owned()) } else { Ok(at) }
}

/// Reads saved healthy values; none is normal, a damaged file is said and not used.
fn load(path: &Path) -> Baselines {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                say(format_args!("healthy values in '{}' cannot be read: {error}", path.display()));
            }
            return Baselines::default();
        }
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        say(format_args!(
            "healthy values in '{}' are damaged and not used ({error}): delete the file",
            path.display()
        ));
        Baselines::default()
    })
}

/// What was learned now replaces what was known of the same series at the same hour; the rest stays.
fn merged(known: Baselines, learned: Baselines) -> Baselines {
    let series = |row: &BaselineRow| (row.subject.clone(), row.metric.clone(), row.part.clone(), row.hour);
    let new: BTreeSet<_> = learned.rows.iter().map(series).collect();
    let kept = known.rows.into_iter().filter(|row| !new.contains(&series(row)));
    let rows = learned.rows.into_iter().chain(kept).collect();
    Baselines { rows }
}

/// Written beside and moved into place, so that a reader never sees half a file.
fn save(path: &Path, baselines: &Baselines) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    serde_json::to_writer(owner_file(&beside)?, baselines)?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_begin_of_an_incident_is_a_span_ago_a_time_of_the_day_or_a_date() {
        let now = Moment(10 * DAY_MS + 3_600_000);
        let before = |text: &str| begin_before(text, now).map(|at| (now.0 - at.0) / 1_000);
        for (text, ago_s) in [
            ("20min", 1_200),
            ("00:50", 600),
            ("0:59:59", 1),
            ("23:00", 7_200),
            ("1970-01-10T23:00:00Z", 7_200),
            ("867600", 0),
        ] {
            assert_eq!(before(text), Ok(ago_s), "{text}");
        }
        for text in ["", "soon", "25:00", "12:60", "-1:00", "1970-01-12T00:00:00Z"] {
            assert!(before(text).is_err(), "{text}");
        }
    }
}
