//! Earlier results: one file for each model and driver, so that another card or another release starts anew.

use std::io;
use std::path::{Path, PathBuf};

use super::kernel::KERNELS;
use super::report::{BenchReport, KernelResult, SCHEMA};
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

/// Kernels that one baseline holds at most: each size of a table and each work of a kernel is one of its own.
const MOST_KEPT: usize = 64;

/// What is kept of a report beside what was saved before: kernels that it did not time, or not with this work, keep their earlier
/// values, each with its own age.
fn merged(now: &BenchReport, earlier: Option<&BenchReport>) -> BenchReport {
    let mut kept = now.clone();
    // What is no median is nothing to hold others against.
    kept.kernels.retain(KernelResult::has_median);
    for kernel in &mut kept.kernels {
        // It is compared with nothing: others are with it.
        (kernel.baseline, kernel.baseline_at, kernel.baseline_noise) = (None, None, None);
        (kernel.ratio, kernel.change) = (None, None);
    }
    let Some(earlier) = earlier else { return kept };
    let mut others: Vec<KernelResult> = earlier.kernels.clone();
    others.retain(|other| !kept.kernels.iter().any(|kernel| kernel.is_of_the_same(other)));
    for other in &mut others {
        other.at.get_or_insert_with(|| earlier.at.clone());
    }
    others.sort_by(|one, other| other.at.cmp(&one.at));
    others.truncate(MOST_KEPT.saturating_sub(kept.kernels.len()));
    kept.kernels.append(&mut others);
    let place = |kernel: &KernelResult| KERNELS.iter().position(|known| known.name == kernel.name);
    kept.kernels.sort_by_key(place);
    kept.skipped.retain(|skipped| kept.kernels.iter().all(|kernel| kernel.name != skipped.name));
    kept
}

/// Saves a report as the baseline of its model and driver, beside what was saved of other kernels, and says where. A damaged
/// baseline is replaced. Written beside and moved into place, so that nobody reads half of it.
pub fn save(report: &BenchReport) -> Result<PathBuf, BaselineError> {
    if report.wrong().next().is_some() {
        return Err(BaselineError::Wrong);
    }
    let path = file_of(report).ok_or(BaselineError::NoHome)?;
    let kept = merged(report, read(&path).ok().as_ref());
    let written = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        io::Write::write_all(&mut owner_file(&beside)?, kept.json().as_bytes())?;
        std::fs::rename(&beside, &path)
    };
    written().map_err(|reason| BaselineError::File { path: path.clone(), reason })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::Skipped;
    use crate::bench::report::examples::{kernel, report};

    fn saved(report: &BenchReport) -> Vec<(&str, f64, Option<&str>)> {
        let kernels = report.kernels.iter();
        kernels.map(|kernel| (kernel.name.as_str(), kernel.median, kernel.at.as_deref())).collect()
    }

    #[test]
    fn what_is_not_timed_again_keeps_its_earlier_value_and_its_age() {
        let at = |day: u32| format!("2026-01-0{day}T00:00:00Z");
        let of = |day, kernels| BenchReport { at: at(day), ..report(kernels) };
        let first = merged(&of(1, vec![kernel("launch", 1e-6, 0.0), kernel("copy", 1e-3, 64e6)]), None);
        assert_eq!(saved(&first), [("launch", 1e-6, None), ("copy", 1e-3, None)]);

        let mut now = of(2, vec![kernel("launch", 2e-6, 0.0), kernel("gather", 5e-5, 8e6)]);
        now.skipped = ["copy", "gemm"]
            .map(|name| Skipped { name: name.to_owned(), why: String::new(), for_lack_of_time: false })
            .into();
        now.compare_with(&first);
        let second = merged(&now, Some(&first));
        let day_one = at(1);
        let copy = ("copy", 1e-3, Some(day_one.as_str()));
        assert_eq!(saved(&second), [("launch", 2e-6, None), copy, ("gather", 5e-5, None)]);
        assert!(second.kernels.iter().all(|kernel| kernel.baseline.is_none() && kernel.ratio.is_none()));
        let skipped: Vec<&str> = second.skipped.iter().map(|skipped| skipped.name.as_str()).collect();
        assert_eq!((second.at.clone(), skipped), (at(2), vec!["gemm"]));

        // Other work is another value beside it, and ages do not become younger.
        let third = merged(&of(3, vec![kernel("copy", 2e-3, 128e6)]), Some(&second));
        let day_two = at(2);
        let expected = [
            ("launch", 2e-6, Some(day_two.as_str())),
            ("copy", 2e-3, None),
            copy,
            ("gather", 5e-5, Some(day_two.as_str())),
        ];
        assert_eq!(saved(&third), expected);
    }

    #[test]
    fn what_is_no_median_replaces_none() {
        let first = merged(&report(vec![kernel("gemm", 1e-3, 1e9)]), None);
        let mut hurried = report(vec![kernel("gemm", 9e-3, 1e9), kernel("launch", 1e-6, 0.0)]);
        hurried.kernels[0].batches = 2;
        let kept = merged(&hurried, Some(&first));
        assert_eq!(saved(&kept), [("launch", 1e-6, None), ("gemm", 1e-3, Some(first.at.as_str()))]);
    }

    #[test]
    fn a_baseline_does_not_grow_for_ever() {
        let of = |megabytes: u32| report(vec![kernel("copy", 1e-3, f64::from(megabytes))]);
        let kept = (1..200).fold(of(0), |kept, work| merged(&of(work), Some(&kept)));
        assert_eq!(kept.kernels.len(), MOST_KEPT);
        assert!(kept.kernels.iter().any(|kernel| kernel.work == 199.0), "the newest is there");
    }
}
