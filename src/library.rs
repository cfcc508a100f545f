//! Runbooks, their actions, and cases: the built-in ones, and the user's in
//! `$XDG_CONFIG_HOME/headwater/{runbooks,remedies,cases}/`.
//!
//! A file that cannot be read is told with its line and costs nothing else: the rest is there. A user's file takes the
//! place of the built-in one of the same name.

mod case_entry;
mod examining;
mod saved;

use std::io;
use std::path::{Path, PathBuf};

use headwater_engine::Library;
use headwater_engine::runbook::{Remedy, Runbook};
use headwater_engine::text::without_controls;
use headwater_panels::screen::Notice;
use serde::de::DeserializeOwned;

use crate::config::{ConfigError, Document, config_folder, text_of};

pub use saved::{SaveError, save_case, save_case_in};

include!(concat!(env!("OUT_DIR"), "/runbook_files.rs"));
include!(concat!(env!("OUT_DIR"), "/case_files.rs"));
include!(concat!(env!("OUT_DIR"), "/remedy_files.rs"));

/// A kind of entry: where its files are, and what is asked of one beyond its shape.
trait Entry: DeserializeOwned + 'static {
    /// The folder's name, in assets and in the user's configuration.
    const FOLDER: &'static str;
    /// The built-in files.
    const BUILT_IN: &'static [(&'static str, &'static str)];

    /// The id: the file's name without its ending.
    fn id(&self) -> &str;

    /// Takes its id, and makes its texts harmless: they are shown on screens, and commands are copied to shells.
    fn name(&mut self, id: &str);

    /// Complains of what its shape alone does not forbid; `known` has what was read before it.
    fn examine(&self, _document: &mut Document<'_>, _known: &Library) {}
}

impl Entry for Runbook {
    const FOLDER: &'static str = "runbooks";
    const BUILT_IN: &'static [(&'static str, &'static str)] = RUNBOOK_FILES;

    fn id(&self) -> &str {
        &self.id
    }

    fn name(&mut self, id: &str) {
        self.id = without_controls(id);
        self.map_texts(without_controls);
    }

    fn examine(&self, document: &mut Document<'_>, known: &Library) {
        examining::runbook(self, document, known);
    }
}

impl Entry for Remedy {
    const FOLDER: &'static str = "remedies";
    const BUILT_IN: &'static [(&'static str, &'static str)] = REMEDY_FILES;

    fn id(&self) -> &str {
        &self.id
    }

    fn name(&mut self, id: &str) {
        self.id = without_controls(id);
        self.map_texts(without_controls);
    }

    fn examine(&self, document: &mut Document<'_>, _known: &Library) {
        examining::remedy(self, document);
    }
}

/// Everything that can be read, and what is wrong with what cannot.
pub fn load() -> (Library, Vec<ConfigError>) {
    load_from(config_folder().as_deref())
}

/// The built-in entries.
pub fn built_in() -> Library {
    load_from(None).0
}

/// The same with the user's entries of this folder.
pub fn load_from(own: Option<&Path>) -> (Library, Vec<ConfigError>) {
    let mut faults = vec![];
    let mut library = Library::default();
    // Runbooks name actions, which are therefore read before them.
    library.remedies = entries(own, &library, &mut faults);
    library.runbooks = entries(own, &library, &mut faults);
    library.cases = entries(own, &library, &mut faults);
    (library, faults)
}

/// Reads a runbook of a user's own, beside everything that can be read; every problem is in the error.
pub fn runbook_of(path: &Path) -> Result<Runbook, ConfigError> {
    let text =
        text_of(path, "'headwater runbook show dependencies-first --format toml' prints one to begin with")?;
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    read(&text, &id, &path.display().to_string(), &load().0)
}

/// The text of the runbook with this id that is in force: the user's where it can be read, else the built-in one. Empty
/// when there is none.
pub fn runbook_text(id: &str, known: &Library) -> String {
    runbook_text_in(config_folder().as_deref(), id, known)
}

fn runbook_text_in(own: Option<&Path>, id: &str, known: &Library) -> String {
    let own = own.map(|own| own.join(Runbook::FOLDER).join(format!("{id}.toml")));
    let own = own.and_then(|path| text_of(&path, "").ok());
    let built_in = || RUNBOOK_FILES.iter().find(|(file, _)| file.trim_end_matches(".toml") == id);
    own.filter(|text| read::<Runbook>(text, id, id, known).is_ok())
        .or_else(|| built_in().map(|(_, text)| (*text).to_owned()))
        .unwrap_or_default()
}

/// What a screen says of broken files; `None` when there are none.
pub(crate) fn notice(broken: &[ConfigError]) -> Option<Notice> {
    let first = broken.first()?.to_string();
    let more =
        if broken.len() > 1 { format!(" (and {} more files)", broken.len() - 1) } else { String::new() };
    let line = first.lines().next().unwrap_or_default();
    Some(Notice::new(format!("left out: {line}{more}"), true))
}

/// Reads one entry's text; `origin` names it in complaints.
fn read<E: Entry>(text: &str, id: &str, origin: &str, known: &Library) -> Result<E, ConfigError> {
    let mut document = Document::new(text);
    let Some(mut entry) = document.read::<E>() else {
        document.finish(origin)?;
        return Err(ConfigError::new(origin, "this file cannot be read"));
    };
    entry.name(id);
    entry.examine(&mut document, known);
    document.finish(origin)?;
    Ok(entry)
}

fn entries<E: Entry>(own: Option<&Path>, known: &Library, faults: &mut Vec<ConfigError>) -> Vec<E> {
    let mut entries: Vec<E> = vec![];
    for (file, text) in E::BUILT_IN {
        let id = file.trim_end_matches(".toml");
        match read(text, id, &format!("assets/{}/{file}", E::FOLDER), known) {
            Ok(entry) => entries.push(entry),
            Err(fault) => faults.push(fault),
        }
    }
    for path in own.map(|own| files(&own.join(E::FOLDER), faults)).unwrap_or_default() {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let origin = path.display().to_string();
        let entry =
            text_of(&path, "the others are there").and_then(|text| read::<E>(&text, &id, &origin, known));
        match entry {
            Ok(entry) => {
                entries.retain(|built_in| built_in.id() != id);
                entries.push(entry);
            }
            Err(fault) => faults.push(fault),
        }
    }
    entries.sort_by(|one, other| one.id().cmp(other.id()));
    entries
}

/// The TOML files of a folder, in order; none when it is not there.
fn files(folder: &Path, faults: &mut Vec<ConfigError>) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut files = listed.unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            let sentence = format!("cannot be read ({error}): check its rights");
            faults.push(ConfigError::new(folder.display().to_string(), sentence));
        }
        vec![]
    });
    files.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    files.sort();
    files
}

#[cfg(test)]
mod actions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_entry_can_be_read() {
        let (library, faults) = load_from(None);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(library.runbooks.len(), RUNBOOK_FILES.len());
        assert_eq!(library.cases.len(), CASE_FILES.len());
    }

    #[test]
    fn the_text_of_a_runbook_is_that_of_the_one_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let (known, _) = load_from(None);
        let built_in = runbook_text_in(None, "hot-shard", &known);
        assert!(built_in.contains("[[step]]"));
        let path = folder.path().join("runbooks/hot-shard.toml");
        std::fs::create_dir(folder.path().join("runbooks")).unwrap();
        let own = format!("# mine\n{built_in}");
        for (written, in_force) in [(own.as_str(), own.as_str()), ("title = 1\n", built_in.as_str())] {
            std::fs::write(&path, written).unwrap();
            assert_eq!(runbook_text_in(Some(folder.path()), "hot-shard", &known), in_force);
        }
    }

    #[test]
    fn a_broken_file_is_told_and_the_rest_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let cases = folder.path().join("cases");
        std::fs::create_dir(&cases).unwrap();
        std::fs::write(cases.join("broken.toml"), "title = 1\n").unwrap();
        let (library, faults) = load_from(Some(folder.path()));
        assert_eq!(library.cases.len(), CASE_FILES.len());
        let told = faults[0].to_string();
        assert!(told.contains("broken.toml:1: ") && told.contains("title"), "{told}");
    }
}
