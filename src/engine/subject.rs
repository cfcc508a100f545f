//! What a number is about: a service, a shard, a node, a GPU.
//!
//! The written form is the identity and is what users see, so it is also what is stored:
//! `service/ranker`, `service/ranker@10.0.0.5:8000`, `redis/features#2`, `redis/features#2@10.0.3.14:6379`,
//! `edge/ranker>redis/features`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::RemoteText;

/// The family of a [`Subject`], the word before its first `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Whoever sends the requests.
    Client,
    /// A proxy or load balancer in front of services.
    Gateway,
    /// An inference service, or any service of one's own.
    Service,
    /// The queue and batcher of a service.
    Queue,
    /// A Redis or Valkey deployment.
    Redis,
    /// A database, vector store or other dependency known only by free metrics.
    Dependency,
    /// A message log.
    Kafka,
    /// A data pipeline.
    Pipeline,
    /// A GPU or a pool of them.
    Gpu,
    /// A machine.
    Host,
    /// The way between a caller and a callee.
    Edge,
    /// A source that tells what people changed.
    Change,
    /// A source that tells who calls whom.
    Graph,
    /// A source that tells which targets there are.
    Discovery,
    /// A source that asks an address itself, as a caller would.
    Probe,
    /// A log that is followed.
    Log,
    /// Headwater itself.
    Observer,
}

/// Every kind with its word, in the order of a request's way: callers first, hardware last.
pub const KINDS: &[(Kind, &str)] = &[
    (Kind::Client, "client"),
    (Kind::Gateway, "gateway"),
    (Kind::Service, "service"),
    (Kind::Queue, "queue"),
    (Kind::Redis, "redis"),
    (Kind::Dependency, "dependency"),
    (Kind::Kafka, "kafka"),
    (Kind::Pipeline, "pipeline"),
    (Kind::Gpu, "gpu"),
    (Kind::Host, "host"),
    (Kind::Edge, "edge"),
    (Kind::Change, "change"),
    (Kind::Graph, "graph"),
    (Kind::Discovery, "discovery"),
    (Kind::Probe, "probe"),
    (Kind::Log, "log"),
    (Kind::Observer, "observer"),
];

impl Kind {
    /// The word users write for this kind.
    pub fn word(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("dependency", |(_, word)| word)
    }

    /// Whether a source of this kind only tells what people did, who calls whom or which targets there are: it measures
    /// nothing, so its silence hides no component, and what it told stays true.
    pub fn only_tells(self) -> bool {
        matches!(self, Self::Change | Self::Graph | Self::Discovery)
    }

    /// Whether subjects of this kind name a source and no component: what it tells is about others.
    pub fn names_a_source(self) -> bool {
        self.only_tells() || self.looks_from_beside()
    }

    /// Whether a source of this kind looks at what others measure as well: it comes at its own pace and says nothing of
    /// theirs.
    pub fn looks_from_beside(self) -> bool {
        matches!(self, Self::Probe | Self::Log)
    }

    /// The kind of a word, or `None` when the word is not in [`KINDS`].
    pub fn from_word(word: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }
}

/// The identity of a thing that is measured; cheap to clone, ordered by its written form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subject(Arc<str>);

/// Why a text is not a [`Subject`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASubject(String);

impl fmt::Display for NotASubject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = KINDS.iter().map(|(_, word)| *word).collect();
        write!(out, "'{}' is not a subject: write kind/name, with a kind of {}", self.0, words.join(", "))
    }
}

impl std::error::Error for NotASubject {}

impl Subject {
    /// A whole component such as `redis/features`; characters that would be taken for a shard, an instance
    /// or an edge become `-`.
    pub fn component(kind: Kind, name: &str) -> Self {
        let name: String = RemoteText::new(name)
            .as_str()
            .chars()
            .map(|c| if matches!(c, '#' | '@' | '>' | '/') || c.is_whitespace() { '-' } else { c })
            .collect();
        Self(format!("{}/{name}", kind.word()).into())
    }

    /// The shard `index` of this component.
    pub fn shard(&self, index: usize) -> Self {
        Self(format!("{}#{index}", self.without_instance()).into())
    }

    /// One instance or node of this component or shard, by its address.
    pub fn instance(&self, address: &str) -> Self {
        Self(format!("{}@{}", self.without_instance(), RemoteText::new(address).as_str()).into())
    }

    /// The way from a caller to a callee: `edge/ranker>redis/features`.
    pub fn edge(caller: &Self, callee: &Self) -> Self {
        Self(format!("edge/{}>{}", caller.name(), callee.component_str()).into())
    }

    /// The written form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The family this subject belongs to.
    pub fn kind(&self) -> Kind {
        self.0.split_once('/').and_then(|(word, _)| Kind::from_word(word)).unwrap_or(Kind::Dependency)
    }

    /// The component's name without kind, shard and instance: `features`.
    pub fn name(&self) -> &str {
        let component = self.component_str();
        component.split_once('/').map_or(component, |(_, name)| name)
    }

    /// The shard's number, when this is a shard or a node of one.
    pub fn shard_index(&self) -> Option<usize> {
        self.without_instance().rsplit_once('#').and_then(|(_, index)| index.parse().ok())
    }

    /// The address, when this is an instance or a node.
    pub fn address(&self) -> Option<&str> {
        if self.kind() == Kind::Edge {
            return None;
        }
        self.0.split_once('@').map(|(_, address)| address)
    }

    /// The component this subject is or is a part of.
    pub fn component_of(&self) -> Self {
        let component = self.component_str();
        if component.len() == self.0.len() { self.clone() } else { Self(component.into()) }
    }

    /// One step up: a node's shard, a shard's component, an instance's component; `None` for a component.
    pub fn parent(&self) -> Option<Self> {
        if self.kind() == Kind::Edge {
            return None;
        }
        if self.address().is_some() {
            return Some(Self(self.without_instance().into()));
        }
        self.0.contains('#').then(|| Self(self.component_str().into()))
    }

    /// The written forms of this subject and of all that it is a part of: a node's, its shard's, their component's.
    pub fn wholes(&self) -> impl Iterator<Item = &str> {
        let all = [self.component_str(), self.upper_str(), &self.0];
        let is_new = move |place: &usize| *place == 0 || all[*place].len() > all[*place - 1].len();
        (0..all.len()).filter(is_new).map(move |place| all[place])
    }

    /// Whether this is a whole component and not a part of one.
    pub fn is_component(&self) -> bool {
        self.component_str().len() == self.0.len()
    }

    /// Whether `other` is this subject or a part of it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.strip_prefix(&*self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '@']))
    }

    /// The entries of a map whose keys are this subject or a part of it, in order; the others are not walked over,
    /// because a part's written form begins with that of its whole.
    pub fn within<'map, K: Borrow<Self> + Ord, V>(
        &self,
        map: &'map BTreeMap<K, V>,
    ) -> impl Iterator<Item = (&'map Self, &'map V)> + Clone {
        map.range::<Self, _>(self..)
            .map(|(key, value)| (key.borrow(), value))
            .take_while(|(key, _)| key.0.starts_with(&*self.0))
            .filter(|(key, _)| self.contains(key))
    }

    fn upper_str(&self) -> &str {
        if self.0.starts_with("edge/") { &self.0 } else { self.without_instance() }
    }

    fn without_instance(&self) -> &str {
        self.0.split_once('@').map_or(&*self.0, |(rest, _)| rest)
    }

    fn component_str(&self) -> &str {
        if self.0.starts_with("edge/") {
            return &self.0;
        }
        let rest = self.without_instance();
        rest.split_once('#').map_or(rest, |(component, _)| component)
    }
}

impl TryFrom<String> for Subject {
    type Error = NotASubject;

    fn try_from(text: String) -> Result<Self, NotASubject> {
        text.parse()
    }
}

impl std::str::FromStr for Subject {
    type Err = NotASubject;

    fn from_str(text: &str) -> Result<Self, NotASubject> {
        let clean = RemoteText::new(text);
        match clean.as_str().split_once('/') {
            Some((word, name)) if Kind::from_word(word).is_some() && !name.is_empty() => {
                Ok(Self(clean.as_str().into()))
            }
            _ => Err(NotASubject(clean.as_str().to_owned())),
        }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.0.as_ref().to_owned()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_knows_its_shard_and_its_component() {
        let node: Subject = "redis/features#2@10.0.3.14:6379".parse().unwrap();
        assert_eq!(node.kind(), Kind::Redis);
        assert_eq!(node.name(), "features");
        assert_eq!(node.shard_index(), Some(2));
        assert_eq!(node.address(), Some("10.0.3.14:6379"));
        assert_eq!(node.parent().unwrap().as_str(), "redis/features#2");
        assert_eq!(node.parent().unwrap().parent().unwrap().as_str(), "redis/features");
        assert_eq!(node.component_of().parent(), None);
        let wholes = ["redis/features", "redis/features#2", "redis/features#2@10.0.3.14:6379"];
        assert_eq!(node.wholes().collect::<Vec<_>>(), wholes);
        assert_eq!(node.component_of().wholes().collect::<Vec<_>>(), wholes[..1]);
        assert!(node.component_of().is_component());
        assert!(!node.is_component() && !node.parent().unwrap().is_component());
    }

    #[test]
    fn a_part_is_contained_and_a_longer_name_is_not() {
        let shard: Subject = "redis/features#1".parse().unwrap();
        let cluster = shard.component_of();
        assert!(cluster.contains(&shard) && shard.contains(&shard.instance("[::1]:6379")));
        assert!(!shard.contains(&cluster.shard(12)));
        assert!(!cluster.contains(&"redis/features-old".parse().unwrap()));
    }

    #[test]
    fn a_walk_meets_the_parts_and_no_longer_name_between_them() {
        let names =
            ["redis/a", "redis/a#1", "redis/a#1@h:1", "redis/a#12", "redis/a-old", "redis/a@h:2", "redis/b"];
        let map: BTreeMap<Subject, usize> =
            names.iter().enumerate().map(|(place, name)| (name.parse().unwrap(), place)).collect();
        let found = |root: &str| -> Vec<usize> {
            root.parse::<Subject>().unwrap().within(&map).map(|(_, place)| *place).collect()
        };
        assert_eq!(found("redis/a"), [0, 1, 3, 2, 5]);
        assert_eq!(found("redis/a#1"), [1, 2]);
        assert_eq!(found("redis/c"), [0; 0]);
    }

    #[test]
    fn an_edge_is_one_component() {
        let edge = Subject::edge(&"service/ranker".parse().unwrap(), &"redis/features#1".parse().unwrap());
        assert_eq!(edge.as_str(), "edge/ranker>redis/features");
        assert_eq!((edge.kind(), edge.parent()), (Kind::Edge, None));
        assert!(edge.is_component());
    }

    #[test]
    fn names_cannot_pretend_to_be_parts() {
        assert_eq!(Subject::component(Kind::Service, "a#1@b>c/d e").as_str(), "service/a-1-b-c-d-e");
        assert!("ranker".parse::<Subject>().is_err());
        assert!("tree/ranker".parse::<Subject>().is_err());
    }
}
