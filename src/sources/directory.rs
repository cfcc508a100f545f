//! Which target is asked at which address: filled by those who find targets, read by those who meet their addresses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_engine::reading::Target;
use headwater_engine::{Kind, RemoteText, Subject};

use super::metrics::MetricsSpec;
use super::metrics::fetch::Address;

/// The targets that are known at present, by who found them. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    known: Arc<Mutex<BTreeMap<Subject, Vec<Target>>>>,
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
        self.lock().insert(finder.clone(), targets);
    }

    /// Who is asked at `host:port`; only one of this component, where one is given.
    pub fn at(&self, place: &str, component: Option<&Subject>) -> Option<Subject> {
        let known = self.lock();
        let is_meant = |target: &&Target| {
            target.place.as_str() == place
                && component.is_none_or(|component| component.contains(&target.subject))
        };
        known.values().flatten().find(is_meant).map(|target| target.subject.clone())
    }

    /// Whether any target is a page of this component.
    pub fn has_page_of(&self, component: &Subject) -> bool {
        self.lock().values().flatten().any(|target| component.contains(&target.subject))
    }

    /// Who else has found a target.
    pub fn found_by_another(&self, target: &Subject, finder: &Subject) -> Option<Subject> {
        let known = self.lock();
        let mut others = known.iter().filter(|(other, _)| *other != finder);
        let found = others.find(|(_, targets)| targets.iter().any(|known| known.subject == *target));
        found.map(|(other, _)| other.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, Vec<Target>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
        directory.clone().tell(&one, vec![]);
        assert!(!directory.has_page_of(&subject("service/a")));
    }
}
