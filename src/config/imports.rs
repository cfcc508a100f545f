//! The `[[graph]]` tables: where other tools tell who calls whom.

use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_engine::reading::Call;
use headwater_engine::{Kind, Subject};

use super::file::GraphTable;
use super::http_access::http_access;
use super::place::{ConfigError, Document, unknown_name};
use super::resolve::bare_subject;
use super::target::metrics_place;
use crate::imports::{self, FORMATS, Format};
use crate::sources::calls;
use crate::sources::metrics::MetricsSpec;

/// One import of who calls whom.
#[derive(Debug)]
pub struct Import {
    /// Who tells: `graph/NAME`.
    pub subject: Subject,
    /// How it is read.
    pub format: &'static Format,
    /// Where it is.
    pub place: Place,
}

/// Where an import is.
#[derive(Debug)]
pub enum Place {
    /// A file, with what was in it when the configuration was read.
    File(PathBuf, imports::Import),
    /// A server that is asked again and again.
    Server(Box<MetricsSpec>),
}

impl Place {
    /// Whether both are one file, or one address.
    fn is_that_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one, _), Self::File(other, _)) => one == other,
            (Self::Server(one), Self::Server(other)) => one.url == other.url,
            _ => false,
        }
    }
}

impl Import {
    /// The calls that are known from the start: those of a file.
    pub fn calls(&self) -> &[Call] {
        match &self.place {
            Place::File(_, import) => &import.calls,
            Place::Server(_) => &[],
        }
    }

    /// How often it is read; `None` for a file, which is read with the configuration.
    pub fn every(&self) -> Option<Duration> {
        matches!(self.place, Place::Server(_)).then_some(calls::EVERY)
    }

    /// How many problems of a file are only counted.
    pub fn left_out(&self) -> usize {
        match &self.place {
            Place::File(_, import) => import.left_out,
            Place::Server(_) => 0,
        }
    }

    /// What is wrong with a file; the rest of it counts all the same.
    pub fn fault(&self) -> Option<ConfigError> {
        match &self.place {
            Place::File(path, import) => import.fault(&path.display().to_string()),
            Place::Server(_) => None,
        }
    }
}

/// The imports of these tables; files are found from the folder of the configuration, `origin`.
pub(super) fn resolve(tables: &[GraphTable], origin: &Path, document: &mut Document<'_>) -> Vec<Import> {
    let folder = origin.parent().unwrap_or(Path::new(""));
    let mut imports: Vec<Import> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(mut import) = import(table, &index, folder, document) else { continue };
        if imports.iter().any(|known| known.place.is_that_of(&import.place)) {
            let key = if table.file.is_some() { "file" } else { "url" };
            document.wrong(&["graph", &index, key], "stands twice: remove one");
        }
        // These files are called the same everywhere, and a server may have several graphs.
        let name = import.subject.name().to_owned();
        for number in 2.. {
            if !imports.iter().any(|known| known.subject == import.subject) {
                break;
            }
            import.subject = Subject::component(Kind::Graph, &format!("{name}-{number}"));
        }
        imports.push(import);
    }
    imports
}

fn import(table: &GraphTable, index: &str, folder: &Path, document: &mut Document<'_>) -> Option<Import> {
    let here = |key: &'static str| ["graph", index, key];
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let Some(name) = table.format.as_deref() else {
        let sentence = format!("[[graph]] has no 'format': write one of {}", names.join(", "));
        document.complain(&["graph", index], sentence);
        return None;
    };
    let Some(format) = imports::format(name) else {
        document.complain(&here("format"), unknown_name("format", name, &names));
        return None;
    };
    match (&table.file, &table.url) {
        (Some(file), None) => {
            if let Some(key) = table.access().first_given() {
                document.complain(&here(key), format!("'{key}' is for a url: remove it"));
            }
            let path = folder.join(file);
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let subject = Subject::component(Kind::Graph, &format!("{name}-{stem}"));
            let read = imports::Import::of_file(format, &path);
            Some(Import { subject, format, place: Place::File(path, read) })
        }
        (None, Some(url)) => {
            if format.ask.is_none() {
                let sentence = format!("is a url, and '{name}' is read from a file: write file = \"PATH\"");
                document.wrong(&here("url"), sentence);
                return None;
            }
            let place = match metrics_place(url) {
                Ok(place) => place,
                Err(_) => {
                    let what =
                        "is not an address: write for example http://127.0.0.1:16686, tokens in bearer_env";
                    document.wrong(&here("url"), what);
                    return None;
                }
            };
            let mut spec = MetricsSpec::new(url);
            http_access(table.access(), here, document).enter(&mut spec);
            let subject = bare_subject(Kind::Graph, &format!("{name}-{place}"));
            Some(Import { subject, format, place: Place::Server(Box::new(spec)) })
        }
        (Some(_), Some(_)) => {
            document.complain(&here("url"), "'file' and 'url' exclude each other: keep one of them");
            None
        }
        (None, None) => {
            let sentence = format!("[[graph]] '{name}' has no 'file' and no 'url': write file = \"PATH\"");
            document.complain(&["graph", index], sentence);
            None
        }
    }
}
