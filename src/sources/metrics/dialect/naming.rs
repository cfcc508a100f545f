//! Subjects and parts that the labels of a series name.
//!
//! A dialect's table `[subject.ROLE]` says which labels name the subjects of that role. Without it the role is the
//! target's own: its queue, its GPU, the host that it runs on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use headwater_engine::graph::named;
use headwater_engine::{Kind, Subject};
use serde::Deserialize;

use super::pattern::Labels;
use super::{DialectError, SubjectRole, wrong};
use crate::config::shown_word;
use crate::sources::metrics::exposition::Label;

/// What a name may be made of besides labels: who is asked.
#[derive(Clone, Debug)]
pub(in crate::sources::metrics) struct Asked {
    /// The component that the configuration says the target is.
    pub(in crate::sources::metrics) component: Subject,
    /// Its address without the port.
    pub(in crate::sources::metrics) host: String,
}

/// A `[subject.ROLE]` table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sources::metrics) struct NamingEntry {
    /// The name: text in which `{label|other_label}` stands for a label's value, `{@name}` for the name of the
    /// configured component where it is of this role's kind, `{@host}` for the host that was asked. What stands in
    /// brackets is left out where a place in it stays empty.
    name: Option<String>,
    /// The address of an instance, written as the name is; none where the subject is no instance.
    instance: Option<String>,
    /// A family whose first series has the labels, where the series themselves do not name the subject.
    from: Option<String>,
    /// The label by which a series finds the one of `from` that names its subject; the first names all otherwise. A
    /// series that finds none has to name its subject itself.
    joined_by: Option<String>,
    /// Of a way: the label that names the caller.
    caller: Option<String>,
    /// Of a way: the label that names the callee.
    callee: Option<String>,
    /// Of a way: the label that tells the kind of the callee.
    kind: Option<String>,
    /// Our kinds by the values of that label; a callee of any other value is a service.
    #[serde(default)]
    kinds: BTreeMap<String, String>,
}

/// How the subjects of one role are named.
#[derive(Debug)]
pub(in crate::sources::metrics) struct Naming {
    kind: Kind,
    by: By,
    /// The family whose series have the labels.
    pub(in crate::sources::metrics) from: Option<super::Pattern>,
    joined_by: Option<String>,
}

#[derive(Debug)]
enum By {
    Name { name: Template, instance: Option<Template> },
    Ends { caller: Labels, callee: Labels, kind: Option<Labels>, kinds: BTreeMap<String, String> },
}

impl NamingEntry {
    pub(super) fn check(self, file: &str, role: SubjectRole) -> Result<Naming, DialectError> {
        let Some(kind) = role.kind() else {
            return Err(wrong(file, "subject", "itself", "is the target: its labels do not name it"));
        };
        let by = match (self.name, self.caller, self.callee) {
            (None, Some(caller), Some(callee)) if role == SubjectRole::Edge => By::Ends {
                caller: Labels::new(&caller),
                callee: Labels::new(&callee),
                kind: self.kind.as_deref().map(Labels::new),
                kinds: self.kinds,
            },
            (Some(name), None, None) if role != SubjectRole::Edge => {
                By::Name { name: Template::new(&name), instance: self.instance.as_deref().map(Template::new) }
            }
            _ => {
                let fix = "needs 'caller' and 'callee' for edges, and 'name' for everything else";
                return Err(wrong(file, "subject", kind.word(), fix));
            }
        };
        if let (Some(label), None) = (&self.joined_by, &self.from) {
            return Err(wrong(
                file,
                "joined_by",
                label,
                "stands without 'from': name the family with the labels",
            ));
        }
        let from = self.from.as_deref().map(super::Pattern::family);
        Ok(Naming { kind, by, from, joined_by: self.joined_by })
    }
}

impl Naming {
    /// Whether each series finds the labels of its own subject elsewhere.
    pub(in crate::sources::metrics) fn is_joined(&self) -> bool {
        self.joined_by.is_some()
    }

    /// The value by which a series and the one that names its subject find each other.
    pub(in crate::sources::metrics) fn joint<'p>(&self, labels: &'p [Label<'_>]) -> Option<&'p str> {
        Labels::one(labels, self.joined_by.as_deref()?).filter(|value| !value.is_empty())
    }

    /// The subject that a series is about; `None` where a label is missing or empty.
    pub(in crate::sources::metrics) fn subject(
        &self,
        labels: &[Label<'_>],
        asked: &Asked,
    ) -> Option<Subject> {
        match &self.by {
            By::Name { name, instance } => {
                let fill = |name: &Template| name.fill(labels, asked, self.kind);
                let whole = Subject::component(self.kind, &shown_word(&fill(name)?));
                match instance {
                    Some(instance) => Some(whole.instance(&shown_word(&fill(instance)?))),
                    None => Some(whole),
                }
            }
            By::Ends { caller, callee, kind, kinds } => {
                let of = |names: &Labels| names.of(labels).filter(|value| !value.trim().is_empty());
                let (caller, callee) = (of(caller)?, of(callee)?);
                let kind = kind.as_ref().and_then(of).and_then(|value| kinds.get(value));
                let kind = kind.and_then(|word| Kind::from_word(word)).unwrap_or(Kind::Service);
                let named = |kind, value| named(kind, &shown_word(value));
                Some(Subject::edge(&named(Kind::Service, caller), &named(kind, callee)))
            }
        }
    }
}

/// The part of a metric that a series is about.
#[derive(Debug)]
pub(in crate::sources::metrics) enum PartName {
    /// The value of a label, whatever it is.
    Label(Labels),
    /// A text, mostly with the values of labels in it.
    Text { written: String, template: Template },
}

impl PartName {
    pub(super) fn text(written: String) -> Self {
        Self::Text { template: Template::new(&written), written }
    }

    /// What tells the parts of this row from those of rows with another text.
    pub(in crate::sources::metrics) fn written(&self) -> Option<&str> {
        match self {
            Self::Label(_) => None,
            Self::Text { written, .. } => Some(written),
        }
    }

    /// The part that a series is about; of an address what may be shown.
    pub(in crate::sources::metrics) fn of<'p>(
        &self,
        labels: &'p [Label<'_>],
        asked: &Asked,
    ) -> Option<Cow<'p, str>> {
        match self {
            Self::Label(names) => names.of(labels).map(shown_word),
            Self::Text { template, .. } => {
                let filled = template.fill(labels, asked, asked.component.kind())?;
                Some(Cow::Owned(shown_word(&filled).into_owned()))
            }
        }
    }
}

/// A text with places for values, and optional parts: `{Hostname|hostname|@host}:{gpu}[-mig-{GPU_I_ID}]`.
#[derive(Debug)]
pub(in crate::sources::metrics) struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    /// The first of these that is there and not empty.
    Place(Vec<String>),
    /// Left out where a place in it stays empty.
    Optional(Template),
}

impl Template {
    fn new(text: &str) -> Self {
        let mut pieces = vec![];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            let (inside, tail) = after.split_once(']').unwrap_or((after, ""));
            pieces.extend(plain_pieces(before));
            pieces.push(Piece::Optional(Self(plain_pieces(inside))));
            rest = tail;
        }
        pieces.extend(plain_pieces(rest));
        Self(pieces)
    }

    /// The text with all its places filled, or `None` where one stays empty.
    fn fill(&self, labels: &[Label<'_>], asked: &Asked, kind: Kind) -> Option<String> {
        let value = |name: &String| match name.as_str() {
            "@host" => Some(asked.host.as_str()),
            "@name" => Some(asked.component.name()).filter(|_| asked.component.kind() == kind),
            label => Labels::one(labels, label),
        };
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place(names) => {
                    filled.push_str(names.iter().filter_map(value).find(|value| !value.trim().is_empty())?);
                }
                Piece::Optional(part) => {
                    filled.push_str(&part.fill(labels, asked, kind).unwrap_or_default());
                }
            }
        }
        Some(filled)
    }
}

fn plain_pieces(text: &str) -> Vec<Piece> {
    let mut pieces = vec![];
    for (number, piece) in text.split('{').enumerate() {
        let (place, text) = if number == 0 { (None, piece) } else { split_place(piece) };
        pieces.extend(place.map(|place| Piece::Place(place.split('|').map(str::to_owned).collect())));
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
    }
    pieces
}

fn split_place(piece: &str) -> (Option<&str>, &str) {
    piece.split_once('}').map_or((None, piece), |(place, text)| (Some(place), text))
}
