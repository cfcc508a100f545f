//! Earlier results: one file for each model and driver, so that another card or another release starts anew.

use std::io;
use std::path::{Path, PathBuf};

use super::report::{BenchReport, SCHEMA};
use crate::config::{plain_file_name, state_folder};
use crate::recording::owner_file;

/// Why an earlier result cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read or written.
    #[error("'{}' cannot be used: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// It is no result of a benchmark.
    #[error("'{}' is no result of 'headwater bench' ({reason}): make one with '--format json'", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no folder for what Headwater keeps.
    #[error("there is no home directory to keep a baseline in: set HOME or XDG_STATE_HOME")]
    NoHome,
    /// Results that are wrong are nothing to compare with.
    #[error("a run with wrong results is not saved as a baseline")]
    Wrong,
}

/// Where the baseline of this model and driver is kept: `$XDG_STATE_HOME/headwater/kernels/MODEL-DRIVER.json`. `None` without a
/// home directory.
pub fn file_of(report: &BenchReport) -> Option<PathBuf> {
    let driver = report.driver.as_deref().map(|driver| format!("-{driver}")).unwrap_or_default();
    let name = plain_file_name(&format!("{}-{}{driver}", report.backend, report.device));
    Some(state_folder()?.join("kernels").join(format!("{name}.json")))
}

/// The saved baseline of this report's model and driver; `None` when there is none yet.
pub fn saved(report: &BenchReport) -> Result<Option<BenchReport>, BaselineError> {
    let Some(path) = file_of(report) else { return Ok(None) };
    match read(&path) {
        Err(BaselineError::File { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads a saved result.
pub fn read(path: &Path) -> Result<BenchReport, BaselineError> {
    let broken = |reason: String| BaselineError::Broken { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|reason| BaselineError::File { path: path.to_owned(), reason })?;
    let report: BenchReport = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
    if report.schema != SCHEMA {
        return Err(broken(format!("schema {} instead of {SCHEMA}", report.schema)));
    }
    Ok(report)
}

/// Saves a report as the baseline of its model and driver, and says where. Written beside and moved into place, so that nobody
/// reads half of it.
pub fn save(report: &BenchReport) -> Result<PathBuf, BaselineError> {
    if report.wrong().next().is_some() {
        return Err(BaselineError::Wrong);
    }
    let path = file_of(report).ok_or(BaselineError::NoHome)?;
    let written = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        io::Write::write_all(&mut owner_file(&beside)?, report.json().as_bytes())?;
        std::fs::rename(&beside, &path)
    };
    written().map_err(|reason| BaselineError::File { path: path.clone(), reason })?;
    Ok(path)
}
