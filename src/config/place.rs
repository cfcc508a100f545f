//! Where in a configuration file something is wrong: every complaint names the line, the key and the value.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use headwater_engine::RemoteText;
use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shown::{shown_address, shown_addresses};

/// Everything that is wrong with a configuration; each problem is one line that names the place and the fix.
#[derive(Clone, Debug, Error)]
pub struct ConfigError {
    /// The file, or `command line`.
    pub origin: String,
    /// The problems in the order of their lines.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1, when the origin is a file.
    pub line: Option<usize>,
    /// What is wrong, and the fix.
    pub sentence: String,
}

impl ConfigError {
    /// One problem that has no line.
    pub fn new(origin: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { origin: origin.into(), problems: vec![Problem { line: None, sentence: sentence.into() }] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            match problem.line {
                Some(line) => write!(out, "{}:{line}: {}", self.origin, problem.sentence)?,
                None => write!(out, "{}: {}", self.origin, problem.sentence)?,
            }
        }
        Ok(())
    }
}

/// The longest text of a configuration, a theme, a runbook.
const LONGEST_TEXT: usize = 8 * 1024 * 1024;

/// The text of a file; `hint` says where a right one comes from.
pub(crate) fn text_of(path: &Path, hint: &str) -> Result<String, ConfigError> {
    let text = bytes_of(path, LONGEST_TEXT).and_then(|bytes| {
        String::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    });
    text.map_err(|error| {
        let origin = path.display().to_string();
        ConfigError::new(origin, format!("cannot be read ({error}): check the path; {hint}"))
    })
}

/// The bytes of a plain file, at most so many: a device or a pipe would be read for ever, and a giant would fill the
/// memory before anybody saw how long it is.
pub(crate) fn bytes_of(path: &Path, longest: usize) -> io::Result<Vec<u8>> {
    // Asked before it is opened: opening a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = vec![];
    std::fs::File::open(path)?.take(longest as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > longest {
        return Err(io::Error::other(format!("it is longer than {} MiB", longest / 1024 / 1024)));
    }
    Ok(bytes)
}

/// The text of a TOML file with the places of its keys, and the problems found so far.
pub(crate) struct Document<'t> {
    text: &'t str,
    tree: Option<Spanned<DeTable<'t>>>,
    problems: Vec<Problem>,
}

impl<'t> Document<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, tree: DeTable::parse(text).ok(), problems: vec![] }
    }

    /// Reads the whole text as a `T`; `None` leaves a problem behind.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        match toml::from_str(self.text) {
            Ok(value) => Some(value),
            Err(error) => {
                let problem = self.explain(&error);
                self.problems.push(problem);
                None
            }
        }
    }

    /// Complains about the value at a path: "'url' = 'x' is not ...".
    pub(crate) fn wrong(&mut self, path: &[&str], complaint: impl fmt::Display) {
        let found = self.find(path);
        // An item of a list is named by the list's key.
        let is_name = |step: &&&str| step.parse::<usize>().is_err();
        let key = path.iter().rev().find(is_name).copied().unwrap_or_default();
        let value = found.clone().map(|span| format!(" = {}", self.value(span))).unwrap_or_default();
        self.push(found, format!("'{}'{value} {complaint}", clean(key)));
    }

    /// Complains about the table or key at a path, without its value.
    pub(crate) fn complain(&mut self, path: &[&str], sentence: impl Into<String>) {
        let found = self.find(path);
        self.push(found, sentence.into());
    }

    fn push(&mut self, span: Option<Range<usize>>, sentence: String) {
        let line = span.map(|span| self.line(span.start));
        self.problems.push(Problem { line, sentence });
    }

    /// All problems, or nothing when there are none.
    pub(crate) fn finish(mut self, origin: &str) -> Result<(), ConfigError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(ConfigError { origin: origin.to_owned(), problems: self.problems })
    }

    fn line(&self, offset: usize) -> usize {
        self.text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
    }

    /// The written value, without quotes, without secrets, bounded.
    fn value(&self, span: Range<usize>) -> String {
        let written = self.text.get(span).unwrap_or_default().trim();
        let is_list = written.starts_with(['[', '{']);
        let written = written.trim_matches(['"', '\'']);
        // A password may hold a quote, at which a text with several addresses in it would be cut.
        let shown = if is_list { shown_addresses(written) } else { shown_address(written).into_owned() };
        let mut shown: String = clean(&shown).chars().take(60).collect();
        if shown.len() < written.len() && written.chars().count() > 60 {
            shown.push('…');
        }
        format!("'{shown}'")
    }

    fn find(&self, path: &[&str]) -> Option<Range<usize>> {
        let (first, rest) = path.split_first()?;
        let mut here = self.tree.as_ref()?.get_ref().get(*first)?;
        for step in rest {
            here = match here.get_ref() {
                DeValue::Array(list) => list.get(step.parse::<usize>().ok()?)?,
                DeValue::Table(table) => table.get(*step)?,
                _ => return None,
            };
        }
        Some(here.span())
    }

    fn explain(&self, error: &toml::de::Error) -> Problem {
        let span = error.span();
        let line = span.clone().map(|span| self.line(span.start));
        let message = error.message();
        let sentence = if let Some(rest) = message.strip_prefix("unknown field ") {
            unknown_key(rest)
        } else if let Some(key) = message.strip_prefix("missing field ") {
            format!("'{}' is missing", clean(key.trim_matches('`')))
        } else if self.tree.is_none() {
            format!("this is not TOML ({}): look for a missing quote or bracket", clean(message))
        } else {
            let place =
                span.as_ref().and_then(|span| self.tree.as_ref().and_then(|t| deepest(t.get_ref(), span)));
            let (key, kind, span) = match place {
                Some((key, value)) => (key, Some(value.get_ref()), value.span()),
                None => ("?", None, span.unwrap_or(0..0)),
            };
            match (message.strip_prefix("is not "), message.rsplit_once(", expected ")) {
                (Some(what), _) => format!("'{}' = {} is not {what}", clean(key), self.value(span)),
                (None, Some((_, "a sequence"))) if matches!(kind, Some(DeValue::Table(_))) => {
                    format!("'{0}' is a list of tables: write [[{0}]] in double brackets", clean(key))
                }
                (None, Some((_, expected))) => {
                    format!(
                        "'{}' = {} is not {}",
                        clean(key),
                        self.value(span),
                        expected_in_words(expected).replace('`', "'")
                    )
                }
                (None, None) => format!("'{}': {}", clean(key), clean(message)),
            }
        };
        Problem { line, sentence }
    }
}

/// The deepest key whose value holds this span, with its value.
fn deepest<'a>(table: &'a DeTable<'_>, span: &Range<usize>) -> Option<(&'a str, &'a Spanned<DeValue<'a>>)> {
    table.iter().find_map(|(key, value)| inside(key.get_ref(), value, span))
}

fn inside<'a>(
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
    span: &Range<usize>,
) -> Option<(&'a str, &'a Spanned<DeValue<'a>>)> {
    let deeper = match value.get_ref() {
        DeValue::Table(table) => deepest(table, span),
        DeValue::Array(list) => list.iter().find_map(|item| match item.get_ref() {
            DeValue::Table(table) => deepest(table, span),
            _ => None,
        }),
        _ => None,
    };
    let own = value.span();
    deeper.or_else(|| (own.start <= span.start && span.end <= own.end).then_some((key, value)))
}

/// What serde's words for an expected form mean to the reader of a configuration.
fn expected_in_words(expected: &str) -> &str {
    const WORDS: &[(&str, &str)] = &[
        ("a sequence", "a list: write [\"...\", \"...\"]"),
        ("a map", "a table: write { name = value }"),
        ("a boolean", "a yes or no: write true or false"),
        ("a string", "a text: write it in quotes"),
        ("f64", "a number: write for example 0.7"),
    ];
    WORDS.iter().find(|(serde, _)| *serde == expected).map_or(expected, |(_, words)| words)
}

/// Keys that people try, and what to write instead.
const TRIED_KEYS: &[(&str, &str)] = &[
    (
        "password",
        "secrets do not stand in this file: write password_env = \"NAME\" for an environment variable or password_file = \"PATH\"",
    ),
    (
        "bearer",
        "secrets do not stand in this file: write bearer_env = \"NAME\" for an environment variable or bearer_file = \"PATH\"",
    ),
    ("components", "write [[component]]"),
    ("metric", "write [[metrics]]"),
    ("host", "write url = \"redis://HOST:PORT\""),
    ("port", "write url = \"redis://HOST:PORT\""),
];

/// From serde's "`key`, expected one of `a`, `b`" to a sentence with a suggestion.
fn unknown_key(rest: &str) -> String {
    let mut names = rest.split('`').skip(1).step_by(2);
    let key = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    if let Some((_, fix)) = TRIED_KEYS.iter().find(|(tried, _)| *tried == key) {
        return format!("unknown key '{}': {fix}", clean(key));
    }
    unknown_name("key", key, &known)
}

/// "unknown WHAT 'x': did you mean 'y'?", or all known names when none is near.
pub(crate) fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(candidate) => format!("unknown {what} '{}': did you mean '{candidate}'?", clean(name)),
        None => format!("unknown {what} '{}': use one of {}", clean(name), known.join(", ")),
    }
}

/// The known name that a wrong one was probably meant to be.
pub(crate) fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .filter(|(likeness, _)| *likeness > 0.8)
        .map(|(_, candidate)| candidate)
}

fn clean(text: &str) -> String {
    RemoteText::new(text).as_str().to_owned()
}
