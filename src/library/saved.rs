//! A finished incident, written as a case into the user's folder.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use headwater_engine::case::{Case, skeleton};
use headwater_engine::report::Report;
use thiserror::Error;

use super::Entry;
use crate::config::{config_folder, without_secrets};
use crate::new_files::write_new;

/// Why an incident is not a case now.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The report holds none.
    #[error("nothing to save: no symptom and no suspect was seen; look at an incident first")]
    NoIncident,
    /// There is no place for it.
    #[error("there is no folder for cases: set HOME or XDG_CONFIG_HOME")]
    NoFolder,
    /// The file cannot be written.
    #[error("'{path}' cannot be written ({reason}): check the folder and its rights")]
    File {
        /// The file or the folder.
        path: String,
        /// Why.
        #[source]
        reason: io::Error,
    },
}

/// Writes a report that was written as a case into `$XDG_CONFIG_HOME/headwater/cases`, and returns where. No file is
/// ever replaced.
pub fn save_case(report: &Report) -> Result<PathBuf, SaveError> {
    let own = config_folder().ok_or(SaveError::NoFolder)?;
    save_case_in(&own.join(Case::FOLDER), report)
}

/// The same in a folder, which is made when it is not there.
pub fn save_case_in(folder: &Path, report: &Report) -> Result<PathBuf, SaveError> {
    let day = report.onset().map(|onset| day(onset.at.0)).unwrap_or_default();
    let mut case = skeleton(report, &day).ok_or(SaveError::NoIncident)?;
    // Notes are typed by people in a hurry.
    case.map_texts(without_secrets);
    let failed = |path: &Path, reason| SaveError::File { path: path.display().to_string(), reason };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|reason| failed(folder, reason))?;
    let stem = folder.join(stem(report, &day));
    match write_new(&stem, &[(ENDING, &written(&case))]) {
        Ok(stem) => Ok(format!("{}.{ENDING}", stem.display()).into()),
        Err(reason) => Err(failed(folder, reason)),
    }
}

/// The ending of a case's file.
const ENDING: &str = "toml";

/// `2026-01-02`, in UTC.
fn day(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms);
    at.map(|at| at.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

/// `2026-01-02-shard-bandwidth-features-2`: a name says when and what.
fn stem(report: &Report, day: &str) -> String {
    let what = match report.suspects.first() {
        Some(suspect) => format!("{}-{}", suspect.rule, suspect.subject),
        None => report.name.clone(),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let what: String = what.chars().map(plain).take(80).collect();
    format!("{day}-{what}").trim_matches('-').to_owned()
}

/// The file: what to complete, then the case.
fn written(case: &Case) -> String {
    let body = toml::to_string_pretty(case).expect("a case is plain values");
    format!(
        "# An incident, saved by Headwater. Before it helps anybody: correct 'title' and 'root_cause', move what\n\
         # helped from 'tried' to 'fix', and add 'prevention' and 'avoid', each a list of texts.\n\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use headwater_engine::reading::{ActKind, OperatorAct};
    use headwater_engine::report::Verdict;

    use super::*;
    use crate::library::load_from;
    use crate::report::example::incident;

    fn ended() -> Report {
        let mut snapshot = incident();
        let at = snapshot.at;
        let remedy = ActKind::Remedy {
            subject: "service/ranker".parse().unwrap(),
            text: "local cache, 30 s; token at https://u:hunter2@host/?key=hunter2".into(),
        };
        snapshot.acts = [OperatorAct { at, kind: remedy }].into();
        snapshot.written()
    }

    #[test]
    fn what_is_saved_reads_back_and_names_no_password() {
        let own = tempfile::tempdir().unwrap();
        let folder = own.path().join("cases");
        let path = save_case_in(&folder, &ended()).unwrap();
        assert_eq!(path.file_name().unwrap(), "1970-01-01-shard-bandwidth-redis-features-2.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let (library, faults) = load_from(Some(own.path()));
        assert!(faults.is_empty(), "{faults:?}");
        let case = library.cases.iter().find(|case| case.tags == ["saved"]).unwrap();
        assert!(
            case.root_cause.contains("flat at the link") && case.root_cause.contains("user:profile:8812")
        );
        assert!(case.fix.is_empty(), "what was done is no cure before somebody says so");
        let tried = &case.tried[0];
        assert!(tried.starts_with("at 14:07:05 UTC: ") && tried.contains("local cache, 30 s"), "{tried}");
        assert_eq!(
            (case.findings[0].rule.as_str(), case.findings[0].on.as_deref()),
            ("shard-bandwidth", Some("redis"))
        );
        assert!(case.when.starts_with("1970-01-01, since before 14:06:55 UTC"), "{}", case.when);
    }

    #[test]
    fn a_suspect_is_no_root_cause() {
        let own = tempfile::tempdir().unwrap();
        let mut report = ended();
        for suspect in &mut report.suspects {
            suspect.verdict = Verdict::Suspect;
        }
        let symptom = report.symptom.as_ref().unwrap().sentence.clone();
        save_case_in(&own.path().join("cases"), &report).unwrap();
        let (library, faults) = load_from(Some(own.path()));
        assert!(faults.is_empty(), "{faults:?}");
        let case = library.cases.iter().find(|case| case.tags == ["saved"]).unwrap();
        assert_eq!(case.root_cause, "");
        assert!(case.title.ends_with(&symptom), "{}", case.title);
        assert_eq!(case.findings[0].rule, "shard-bandwidth", "what was seen stays");
    }

    #[test]
    fn no_file_is_replaced_and_no_incident_is_no_case() {
        let folder = tempfile::tempdir().unwrap();
        let report = ended();
        let first = save_case_in(folder.path(), &report).unwrap();
        std::fs::write(&first, "title = \"mine\"\n").unwrap();
        let second = save_case_in(folder.path(), &report).unwrap();
        assert!(second.to_string_lossy().ends_with("-2.toml"), "{second:?}");
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "title = \"mine\"\n");
        let calm = Report { suspects: vec![], symptom: None, ..report };
        assert!(matches!(save_case_in(folder.path(), &calm), Err(SaveError::NoIncident)));
    }
}
