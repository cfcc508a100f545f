//! Whom an import means: other names of one component, names with a namespace, addresses.

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::Settings;
use crate::subject::{Kind, Subject};

/// What people put before and after a service's name; a name differs from a known one by these alone.
const BEFORE: &[&str] = &["svc-", "service-", "app-"];
const AFTER: &[&str] = &["-svc", "-service", "-app"];

/// Kinds that an import can mean; a queue has the name of its service and is never meant.
const MEANT: &[Kind] =
    &[Kind::Service, Kind::Redis, Kind::Dependency, Kind::Kafka, Kind::Gateway, Kind::Pipeline, Kind::Client];

/// What service graphs call a caller that they have not seen.
const UNSEEN_CALLER: &str = "user";

/// A component as an import names it: the namespace before it, the domain of its cluster behind it and the port of a
/// name are no part of it.
pub fn named(kind: Kind, name: &str) -> Subject {
    Subject::component(kind, plain(name))
}

/// The name without namespace, domain and port; an address stays whole.
fn plain(name: &str) -> &str {
    let name = name.trim();
    let name = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name);
    if is_address(name) {
        return name;
    }
    let name = match name.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => name,
    };
    match name.split_once('.') {
        Some((first, rest)) if rest.ends_with(".svc") || rest.contains(".svc.") => first,
        _ => name,
    }
}

/// Whether a text is an IP address, with a port or without.
fn is_address(text: &str) -> bool {
    let host = text.rsplit_once(':').map_or(text, |(host, _)| host);
    [host, text].iter().any(|one| one.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok())
}

/// Which components are known, by all their names.
pub(super) struct Names<'a> {
    aliases: BTreeMap<&'a Subject, &'a Subject>,
    known: BTreeSet<&'a Subject>,
    by_name: BTreeMap<&'a str, &'a Subject>,
    /// Components by the addresses of their nodes and instances.
    by_place: BTreeMap<&'a str, Subject>,
}

impl<'a> Names<'a> {
    /// The names of what was declared and of what was seen, which `places` are subjects with an address.
    pub(super) fn new(
        settings: &'a Settings,
        seen: &'a BTreeSet<Subject>,
        places: impl IntoIterator<Item = &'a Subject>,
    ) -> Self {
        let declared = || settings.components.iter();
        let aliases: BTreeMap<&Subject, &Subject> =
            declared().flat_map(|one| one.aliases.iter().map(move |alias| (alias, &one.subject))).collect();
        let known: BTreeSet<&Subject> = declared()
            .map(|one| &one.subject)
            .chain(declared().flat_map(|one| &one.depends_on))
            .chain(aliases.keys().copied())
            .chain(seen.iter().filter(|subject| subject.kind() != Kind::Edge))
            .collect();
        let mut by_name: BTreeMap<&str, &Subject> = BTreeMap::new();
        for kind in MEANT {
            for subject in known.iter().filter(|subject| subject.kind() == *kind) {
                by_name.entry(subject.name()).or_insert(subject);
            }
        }
        let by_place = places
            .into_iter()
            .filter(|subject| MEANT.contains(&subject.kind()))
            .filter_map(|subject| Some((subject.address()?, subject.component_of())))
            .collect();
        Self { aliases, known, by_name, by_place }
    }

    /// The component of which this is another name, or itself.
    pub(super) fn canonical(&self, subject: &Subject) -> Subject {
        self.aliases.get(subject).map_or(subject, |declared| *declared).clone()
    }

    /// The component that an import means by this one: itself where it is known, else a known one of that name, else
    /// what has that address.
    pub(super) fn resolved(&self, subject: &Subject) -> Subject {
        if self.known.contains(subject) {
            return self.canonical(subject);
        }
        let name = subject.name();
        if let Some(found) = self.by_place.get(name) {
            return self.canonical(found);
        }
        match self.of_name(name) {
            Some(known) => self.canonical(known),
            None => subject.clone(),
        }
    }

    fn of_name(&self, name: &str) -> Option<&'a Subject> {
        let known = |name: &str| self.by_name.get(name).copied();
        if let Some(exact) = known(name) {
            return Some(exact);
        }
        if is_address(name) {
            return None;
        }
        let labels =
            || [name, name.rsplit('.').next().unwrap_or(name), name.split('.').next().unwrap_or(name)];
        labels().into_iter().find_map(|label| {
            let bare = |text: &'_ str| -> Option<&'a Subject> {
                let before = BEFORE.iter().find_map(|word| text.strip_prefix(word));
                let after = AFTER.iter().find_map(|word| text.strip_suffix(word));
                known(text).or_else(|| known(before?)).or_else(|| known(after?))
            };
            let longer = || BEFORE.iter().find_map(|word| known(&format!("{word}{label}")));
            let and_longer = || AFTER.iter().find_map(|word| known(&format!("{label}{word}")));
            bare(label).or_else(longer).or_else(and_longer)
        })
    }

    /// Caller and callee of an edge's subject, `edge/CALLER>CALLEE`, with a kind each or without.
    pub(super) fn ends(&self, edge: &Subject) -> Option<(Subject, Subject)> {
        let (caller, callee) = edge.name().split_once('>')?;
        if caller.is_empty() || callee.is_empty() {
            return None;
        }
        let service = |name: &str| name.parse().unwrap_or_else(|_| named(Kind::Service, name));
        let mut caller = self.resolved(&service(caller));
        if caller.name() == UNSEEN_CALLER && !self.known.contains(&caller) {
            caller = Subject::component(Kind::Client, UNSEEN_CALLER);
        }
        Some((caller, self.resolved(&service(callee))))
    }
}
