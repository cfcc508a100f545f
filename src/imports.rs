//! Who calls whom, as other tools know it: files and answers that become calls of the graph.
//!
//! A format is a row of [`FORMATS`]: how it is called, how its text is read, and how a server of it is asked. Reading
//! never fails: what cannot be read is a problem with its line, and the rest is there.

mod backstage;
mod compose;
mod traces;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use headwater_engine::reading::Call;

use crate::config::{ConfigError, Problem, bytes_of};

/// The longest file or answer that is read, in bytes: some ten thousand calls.
pub const LONGEST: usize = 8 * 1024 * 1024;

/// Calls that one import may bring: a graph that is larger is nothing that a person could look at.
pub const MOST_CALLS: usize = 5_000;

/// Problems that are told of one import; more say nothing new.
const MOST_PROBLEMS: usize = 20;

/// One row of [`FORMATS`].
#[derive(Debug)]
pub struct Format {
    /// The name that configurations write.
    pub name: &'static str,
    /// What it is, for messages.
    pub what: &'static str,
    /// Reads a text.
    read: fn(&str, &mut Import),
    /// How a server is asked; `None` for what is only a file.
    pub ask: Option<Ask>,
}

/// How a server is asked for its dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The path when the address has none.
    pub path: &'static str,
    /// The parameter that takes the present moment, in milliseconds, when the address does not give it.
    pub until: Option<&'static str>,
    /// The parameter that takes how far to look back, in milliseconds.
    pub back: Option<&'static str>,
}

/// Every format.
pub static FORMATS: &[Format] = &[
    Format {
        name: "jaeger",
        what: "the dependencies of Jaeger, JSON",
        read: traces::read,
        ask: Some(Ask { path: "/api/dependencies", until: Some("endTs"), back: Some("lookback") }),
    },
    Format {
        name: "zipkin",
        what: "the dependencies of Zipkin, JSON",
        read: traces::read,
        ask: Some(Ask { path: "/api/v2/dependencies", until: Some("endTs"), back: Some("lookback") }),
    },
    Format { name: "compose", what: "a compose file, YAML", read: compose::read, ask: None },
    Format {
        name: "backstage",
        what: "a catalogue of Backstage, YAML",
        read: backstage::read,
        ask: Some(Ask { path: "/catalog-info.yaml", until: None, back: None }),
    },
];

/// The format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What came of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// The calls, in order, each once.
    pub calls: Vec<Call>,
    /// What could not be read, in the order of the lines.
    pub problems: Vec<Problem>,
    /// Problems beyond those, which are only counted.
    pub left_out: usize,
}

impl Import {
    /// Reads a text of this format.
    pub fn of(format: &Format, text: &str) -> Self {
        let mut import = Self::default();
        if text.len() > LONGEST {
            import
                .complain(None, format!("is longer than {} MiB: give a smaller one", LONGEST / 1024 / 1024));
            return import;
        }
        (format.read)(text.trim_start_matches('\u{feff}'), &mut import);
        let each: BTreeSet<Call> = import.calls.drain(..).collect();
        if each.len() > MOST_CALLS {
            let sentence = format!("holds {} calls: only {MOST_CALLS} are taken", each.len());
            import.complain(None, sentence);
        }
        import.calls = each.into_iter().take(MOST_CALLS).collect();
        import.problems.sort_by_key(|problem| problem.line);
        import
    }

    /// Reads a file of this format.
    pub fn of_file(format: &Format, path: &Path) -> Self {
        match bytes_of(path, LONGEST) {
            Ok(bytes) => Self::of(format, &String::from_utf8_lossy(&bytes)),
            Err(error) => Self::broken(&format!("cannot be read ({error}): check the path and its rights")),
        }
    }

    /// Nothing could be read, for this reason.
    pub fn broken(reason: &str) -> Self {
        let mut import = Self::default();
        import.complain(None, reason);
        import
    }

    /// What could not be read, as the problems of this file; `None` when everything could.
    pub fn fault(&self, origin: &str) -> Option<ConfigError> {
        let mut problems = self.problems.clone();
        if self.left_out > 0 {
            problems.push(Problem { line: None, sentence: format!("and {} more problems", self.left_out) });
        }
        (!problems.is_empty()).then(|| ConfigError { origin: origin.to_owned(), problems })
    }

    fn complain(&mut self, line: Option<usize>, sentence: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { line, sentence: sentence.into() });
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests;
