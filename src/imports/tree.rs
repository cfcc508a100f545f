//! YAML, and JSON as the part of YAML that it is, as a tree that knows its lines.

use std::fmt;

use headwater_engine::RemoteText;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

use super::Import;

/// A value with the line on which it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value; numbers and yes or no are texts here, because names may look like them.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Nothing,
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// The value of a key, when this is a table that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text, when this is one and not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        }
    }

    /// What it is, for complaints.
    pub(super) fn what(&self) -> String {
        match &self.value {
            Value::Nothing => "empty".to_owned(),
            Value::Text(text) => {
                let shown: String = RemoteText::new(text).as_str().chars().take(40).collect();
                format!("'{shown}'")
            }
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// The documents of a text, one after the other; one that cannot be read is a problem and costs only itself.
pub(super) fn documents(text: &str, import: &mut Import) -> Vec<Node> {
    let mut nodes = vec![];
    for (first_line, document) in split(text) {
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(&document, shallow()) {
            Ok(root) => nodes.push(node(root, first_line)),
            Err(error) => {
                let line = error.location().map_or(1, |location| line_of(location.line()));
                let reason = error.without_snippet().to_string();
                let reason = RemoteText::new(reason.lines().next().unwrap_or_default());
                import.complain(
                    Some(first_line + line),
                    format!("this cannot be read ({reason}): look for a missing quote, bracket or indent"),
                );
            }
        }
    }
    nodes
}

/// No format nests half as deep, and each level takes a piece of the reader's stack: a thread must not run out of it.
const DEEPEST: usize = 24;

fn shallow() -> Options {
    serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: DEEPEST } }
}

/// The documents between lines of `---`, each with the number of lines before it; those without content are left out.
fn split(text: &str) -> Vec<(usize, String)> {
    let mut documents = vec![(0, String::new())];
    for (place, line) in text.lines().enumerate() {
        if line == "---" || line.starts_with("--- ") {
            documents.push((place + 1, String::new()));
        } else if let Some((_, document)) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    let has_content = |document: &str| {
        document.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', '%']))
    };
    documents.retain(|(_, document)| has_content(document));
    documents
}

fn line_of(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).max(1)
}

/// Gives each value its line in the whole text.
fn node(raw: Spanned<Raw>, lines_before: usize) -> Node {
    let line = lines_before + line_of(raw.referenced.line());
    let value = match raw.value {
        Raw::Nothing => Value::Nothing,
        Raw::Text(text) => Value::Text(text),
        Raw::List(items) => Value::List(items.into_iter().map(|item| node(item, lines_before)).collect()),
        Raw::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, value)| (key, node(value, lines_before))).collect())
        }
    };
    Node { line, value }
}

/// A value as the parser gives it.
enum Raw {
    Nothing,
    Text(String),
    List(Vec<Spanned<Raw>>),
    Table(Vec<(String, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nothing)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Raw, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut items = vec![];
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut entries = vec![];
        while let Some(key) = from.next_key()? {
            entries.push((key, from.next_value()?));
        }
        Ok(Raw::Table(entries))
    }
}
