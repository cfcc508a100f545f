//! The write-up as files: Markdown for a ticket, JSON for programs.

use std::io;
use std::path::{Path, PathBuf};

use headwater_engine::Snapshot;
use headwater_engine::writeup::{Versions, WriteUp};

use super::writeup::{json, markdown};
use crate::config::state_folder;
use crate::new_files::write_new;

/// Writes the write-up of a snapshot into the working folder, or into Headwater's own where that cannot be written, and
/// says where it is, or why it is nowhere. No file is ever replaced.
pub fn export(snapshot: &Snapshot, versions: Versions) -> Result<String, String> {
    let own = state_folder().map(|folder| folder.join("reports"));
    let written_up = WriteUp::of(snapshot, versions);
    let mut reason = None;
    for folder in [Some(PathBuf::new()), own].into_iter().flatten() {
        match write_into(&folder, snapshot, &written_up) {
            Ok(stem) => return Ok(written(&stem)),
            Err(error) => reason = Some(error),
        }
    }
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    Err(format!("the report cannot be written{reason}: start Headwater in a folder that can be written"))
}

/// `written to reports: headwater-NAME-TIME.md and .json`: the folder once, because names are long.
pub fn written(stem: &Path) -> String {
    let name = stem.file_name().unwrap_or_default().display();
    let folder = stem.parent().filter(|folder| !folder.as_os_str().is_empty());
    let place = folder.map_or_else(|| "this folder".to_owned(), |folder| folder.display().to_string());
    format!("written to {place}: {name}.md and .json")
}

/// Writes both files into a folder, which is made when it is not there, and returns their path without their endings.
/// Fails when the folder cannot be written, or holds a hundred write-ups of the same moment.
pub fn write_into(folder: &Path, snapshot: &Snapshot, written_up: &WriteUp) -> io::Result<PathBuf> {
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    let texts = (markdown(snapshot, written_up), json(written_up));
    write_new(&folder.join(stem(snapshot)), &[("md", &texts.0), ("json", &texts.1)])
}

/// `headwater-NAME-20260102T030405`, by the snapshot's own time.
fn stem(snapshot: &Snapshot) -> String {
    let name = &snapshot.report.name;
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '-' }).take(60).collect();
    let time = jiff::Timestamp::from_millisecond(snapshot.at.0)
        .map(|at| at.strftime("%Y%m%dT%H%M%SZ").to_string())
        .unwrap_or_default();
    format!("headwater-{name}-{time}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use headwater_engine::{Baselines, Engine, Input, Moment, Settings};

    use super::*;

    fn exported(folder: &Path, name: &str) -> io::Result<PathBuf> {
        let snapshot = snapshot(name);
        write_into(folder, &snapshot, &WriteUp::of(&snapshot, crate::report::writeup::versions(None)))
    }

    fn snapshot(name: &str) -> std::sync::Arc<Snapshot> {
        let settings = Settings { name: name.to_owned(), ..Settings::default() };
        let mut engine = Engine::new(settings, Baselines::default());
        engine.take(&Input::Tick(Moment(1_000)));
        engine.snapshot().unwrap()
    }

    #[test]
    fn a_report_is_written_twice_beside_itself_and_never_over_another() {
        let folder = tempfile::TempDir::new().unwrap();
        let first = exported(folder.path(), "a/b").unwrap();
        let second = exported(folder.path(), "a/b").unwrap();
        assert_eq!(first, folder.path().join("headwater-a-b-19700101T000001Z"));
        assert_eq!(second, folder.path().join("headwater-a-b-19700101T000001Z-2"));
        for stem in [first, second] {
            for ending in ["md", "json"] {
                let file = std::fs::File::open(format!("{}.{ending}", stem.display())).unwrap();
                assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
                assert!(file.metadata().unwrap().len() > 0);
            }
        }
    }

    #[test]
    fn what_is_said_names_the_folder_once() {
        let said = [written(Path::new("a b/headwater-x")), written(Path::new("headwater-x"))];
        assert_eq!(
            said,
            ["written to a b: headwater-x.md and .json", "written to this folder: headwater-x.md and .json"]
        );
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(exported(file.path(), "a").is_err());
    }
}
