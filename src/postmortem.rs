//! An incident as exported files, for a ranking after the fact.
//!
//! A folder holds `edges.csv` (caller, callee), `metrics.csv` (time, subject, metric, value) and `case.json` (symptom,
//! baseline, window, perhaps alert_at). Times are RFC 3339, Unix seconds or milliseconds. A file that cannot be used at all
//! is an error with its line or key; single rows that cannot be read are counted, and the rest is used.

mod case;
mod tables;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use headwater_engine::RemoteText;
use headwater_engine::ranking::{Nature, Point, Question, Ranking, Series, Symptom, rank};
use thiserror::Error;

use case::Case;

/// Why a folder cannot be ranked.
#[derive(Debug, Error)]
pub enum PostmortemError {
    /// A file cannot be opened or read.
    #[error("'{}' cannot be read: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// A file is not what it should be.
    #[error("'{}', {place}: {found}; {expected}", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// The line, the column or the key.
        place: String,
        /// What is wrong there.
        found: String,
        /// What belongs there.
        expected: String,
    },
}

/// Rows of one file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// How many rows.
    pub rows: usize,
    /// Of how many.
    pub of: usize,
    /// The first of them: its line, and what is wrong with it.
    pub first: (u64, String),
}

/// An incident as it was exported.
#[derive(Debug)]
pub struct Postmortem {
    case: Case,
    calls: Vec<(RemoteText, RemoteText)>,
    series: SpansByName,
    skipped: Vec<Skipped>,
    outside: usize,
}

/// Every series, by subject and metric.
type SpansByName = BTreeMap<(RemoteText, RemoteText), Span>;

/// The points of one series in the baseline and in the window, in order of time.
#[derive(Debug, Default)]
struct Span {
    baseline: Vec<Point>,
    window: Vec<Point>,
}

impl Postmortem {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, PostmortemError> {
        let case = Case::read(&folder.join("case.json"))?;
        let mut skipped = vec![];
        let calls = tables::calls(&folder.join("edges.csv"), &mut skipped)?;
        let (mut series, outside) = tables::series(&folder.join("metrics.csv"), &case, &mut skipped)?;
        for points in series.values_mut().flat_map(|span| [&mut span.baseline, &mut span.window]) {
            points.sort_by(|one, other| one.at.total_cmp(&other.at));
        }
        Ok(Self { case, calls, series, skipped, outside })
    }

    /// What is to be explained: the subject and its metric.
    pub fn symptom(&self) -> (&RemoteText, &RemoteText) {
        (&self.case.subject, &self.case.metric)
    }

    /// Rows that could not be read, by file.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// How many good rows are neither in the baseline nor in the window.
    pub fn outside(&self) -> usize {
        self.outside
    }

    /// Ranks the causes.
    pub fn rank(&self) -> Ranking {
        let calls: Vec<_> =
            self.calls.iter().map(|(caller, callee)| (caller.as_str(), callee.as_str())).collect();
        let mut natures = BTreeMap::new();
        let series: Vec<_> = self
            .series
            .iter()
            .map(|((subject, metric), span)| Series {
                subject: subject.as_str(),
                metric: metric.as_str(),
                nature: *natures.entry(metric).or_insert_with(|| Nature::of(metric.as_str())),
                baseline: &span.baseline,
                window: &span.window,
            })
            .collect();
        let symptom = Symptom { subject: self.case.subject.as_str(), metric: self.case.metric.as_str() };
        rank(&Question { calls: &calls, symptom, series: &series })
    }
}
