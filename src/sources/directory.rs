//! Which target is asked at which address: filled by those who find targets, read by those who meet their addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_engine::reading::Target;
use headwater_engine::{Kind, RemoteText, Subject};

use super::metrics::MetricsSpec;
use super::metrics::fetch::Address;

/// The targets that are known at present, by who found them. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    known: Arc<Mutex<Known>>,
}

/// What is known, in every order in which it is looked for: a list may have thousands.
#[derive(Debug, Default)]
struct Known {
    by_finder: BTreeMap<Subject, Told>,
    /// Finders and their targets at a place.
    by_place: BTreeMap<RemoteText, BTreeSet<(Subject, Subject)>>,
    /// Who has found a target.
    finders: BTreeMap<Subject, BTreeSet<Subject>>,
    /// How often something changed.
    changes: u64,
}

/// What one finder names, and how often that changed.
#[derive(Debug, Default)]
struct Told {
    targets: BTreeSet<Target>,
    changes: u64,
}

impl Directory {
    /// A directory that knows the pages that a configuration names.
    pub fn of_pages(specs: &[MetricsSpec]) -> Self {
        let pages = specs.iter().filter_map(|spec| {
            let place = RemoteText::new(Address::parse(&spec.url).ok()?.host_and_port());
            Some(Target { subject: spec.subject().ok()?, place })
        });
        let directory = Self::default();
        directory.tell(&Subject::component(Kind::Observer, "headwater"), pages.collect());
        directory
    }

    /// Replaces what was known of this finder's targets.
    pub fn tell(&self, finder: &Subject, targets: Vec<Target>) {
        let targets: BTreeSet<Target> = targets.into_iter().collect();
        let mut known = self.lock();
        let known = &mut *known;
        let told = known.by_finder.entry(finder.clone()).or_default();
        if told.targets == targets {
            return;
        }
        told.changes += 1;
        known.changes += 1;
        for gone in told.targets.difference(&targets) {
            remove(&mut known.by_place, &gone.place, &(finder.clone(), gone.subject.clone()));
            remove(&mut known.finders, &gone.subject, finder);
        }
        for target in &targets {
            let at = known.by_place.entry(target.place.clone()).or_default();
            at.insert((finder.clone(), target.subject.clone()));
            known.finders.entry(target.subject.clone()).or_default().insert(finder.clone());
        }
        told.targets = targets;
    }

    /// How often what others have found has changed.
    pub(super) fn changes_beside(&self, finder: &Subject) -> u64 {
        let known = self.lock();
        known.changes - known.by_finder.get(finder).map_or(0, |told| told.changes)
    }

    /// Who is asked at `host:port`; only one of this component, where one is given.
    pub fn at(&self, place: &str, component: Option<&Subject>) -> Option<Subject> {
        let known = self.lock();
        let mut at =
            known.by_place.get(&RemoteText::new(place)).into_iter().flatten().map(|(_, target)| target);
        at.find(|target| component.is_none_or(|component| component.contains(target))).cloned()
    }

    /// Whether any target is a page of this component.
    pub fn has_page_of(&self, component: &Subject) -> bool {
        self.lock().finders.keys().any(|target| component.contains(target))
    }

    /// Who else has found a target.
    pub fn found_by_another(&self, target: &Subject, finder: &Subject) -> Option<Subject> {
        self.lock().finders.get(target)?.iter().find(|other| *other != finder).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a value out of the set of a key, and the key out with the last of them.
fn remove<K: Ord, V: Ord>(sets: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_known_by_its_address_until_its_finder_names_it_no_more() {
        let subject = |text: &str| text.parse::<Subject>().unwrap();
        let target = |text: &str, place: &str| Target { subject: subject(text), place: place.into() };
        let directory = Directory::default();
        let (one, other) = (subject("discovery/one"), subject("discovery/other"));
        directory.tell(&one, vec![target("service/a@pod-1", "h:1")]);
        directory.tell(&other, vec![target("gateway/edge@h:1", "h:1")]);
        let at = |component: Option<&str>| {
            let component = component.map(subject);
            directory.at("h:1", component.as_ref()).map(|found| found.to_string())
        };
        assert_eq!(at(None).as_deref(), Some("service/a@pod-1"));
        assert_eq!(at(Some("gateway/edge")).as_deref(), Some("gateway/edge@h:1"));
        assert_eq!(at(Some("service/b")), None);
        assert!(
            directory.has_page_of(&subject("service/a")) && !directory.has_page_of(&subject("service/b"))
        );
        assert_eq!(directory.found_by_another(&subject("service/a@pod-1"), &other), Some(one.clone()));
        assert_eq!(directory.found_by_another(&subject("service/a@pod-1"), &one), None);
        let before = [&one, &other].map(|finder| directory.changes_beside(finder));
        directory.tell(&one, vec![target("service/a@pod-1", "h:1")]);
        assert_eq!([&one, &other].map(|finder| directory.changes_beside(finder)), before, "nothing is new");
        directory.clone().tell(&one, vec![target("service/a@pod-1", "h:2")]);
        assert_eq!(
            [&one, &other].map(|finder| directory.changes_beside(finder)),
            [before[0], before[1] + 1],
            "one's own news are none beside it"
        );
        assert_eq!(at(None).as_deref(), Some("gateway/edge@h:1"));
        assert_eq!(directory.found_by_another(&subject("service/a@pod-1"), &other), Some(one.clone()));
        directory.tell(&one, vec![]);
        assert!(!directory.has_page_of(&subject("service/a")));
        assert_eq!(directory.found_by_another(&subject("service/a@pod-1"), &other), None);
        assert_eq!(at(None).as_deref(), Some("gateway/edge@h:1"));
    }
}
