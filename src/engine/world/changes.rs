//! What people changed, as far as it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::reading::Change;
use crate::settings::{Component, Settings};
use crate::subject::Subject;
use crate::text::RemoteText;

/// Changes that are kept; of more the newest.
const KEPT: usize = 2_000;

/// What people changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Oldest first.
    kept: Arc<[Change]>,
    /// Components by their other names.
    aliases: BTreeMap<Subject, Subject>,
}

impl Changes {
    /// No changes yet, of components that may have other names.
    pub(super) fn new(settings: &Settings) -> Self {
        let names = |one: &Component| -> Vec<(Subject, Subject)> {
            one.aliases.iter().map(|alias| (alias.clone(), one.subject.clone())).collect()
        };
        Self { kept: Arc::default(), aliases: settings.components.iter().flat_map(names).collect() }
    }

    /// All that are kept, oldest first.
    pub(super) fn all(&self) -> &Arc<[Change]> {
        &self.kept
    }

    /// The subject by the name that its component was declared with.
    fn declared(&self, told: &Subject) -> Option<Subject> {
        let component = told.component_of();
        let declared = self.aliases.get(&component)?;
        let part = &told.as_str()[component.as_str().len()..];
        format!("{declared}{part}").parse().ok()
    }

    /// Keeps a change, once however often it is told.
    pub(super) fn take(&mut self, source: &Subject, change: &Change) {
        // Two sources may number alike.
        let id = RemoteText::new(&format!("{}:{}", source.name(), change.id));
        let mut change = Change { id, ..change.clone() };
        if let Some(declared) = change.component.as_ref().and_then(|told| self.declared(told)) {
            change.component = Some(declared);
        }
        if self.kept.contains(&change) {
            return;
        }
        let mut changes: Vec<Change> =
            self.kept.iter().filter(|known| known.id != change.id).cloned().collect();
        let place = changes.partition_point(|known| known.at <= change.at);
        changes.insert(place, change);
        let surplus = changes.len().saturating_sub(KEPT);
        self.kept = changes.split_off(surplus).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::ChangeKind;
    use crate::time::Moment;

    fn change(id: &str, at: i64, title: &str) -> Change {
        Change {
            id: id.into(),
            at: Moment(at),
            component: None,
            kind: ChangeKind::Deploy,
            title: title.into(),
        }
    }

    #[test]
    fn changes_stand_in_the_order_of_time_and_once_whatever_is_told_again() {
        let (git, flags) = ("change/git".parse().unwrap(), "change/flags".parse().unwrap());
        let mut changes = Changes::default();
        changes.take(&git, &change("1", 2_000, "second"));
        changes.take(&git, &change("2", 1_000, "first"));
        changes.take(&git, &change("1", 2_000, "second, reworded"));
        changes.take(&flags, &change("1", 3_000, "third"));
        let titles: Vec<&str> = changes.all().iter().map(|change| change.title.as_str()).collect();
        assert_eq!(titles, ["first", "second, reworded", "third"]);
    }

    #[test]
    fn a_change_told_by_another_name_is_one_of_the_declared_component() {
        let mut declared = Component::new("dependency/pg".parse().unwrap());
        declared.aliases = vec!["dependency/postgres".parse().unwrap()];
        let settings = Settings { components: vec![declared], ..Settings::default() };
        let mut changes = Changes::new(&settings);
        for (id, told) in [("1", "dependency/postgres"), ("2", "dependency/postgres@h:1"), ("3", "service/a")]
        {
            let told = Change { component: Some(told.parse().unwrap()), ..change(id, 1_000, "x") };
            changes.take(&"change/git".parse().unwrap(), &told);
        }
        let of: Vec<&str> =
            changes.all().iter().filter_map(|change| Some(change.component.as_ref()?.as_str())).collect();
        assert_eq!(of, ["dependency/pg", "dependency/pg@h:1", "service/a"]);
    }

    #[test]
    fn of_too_many_the_newest_are_kept() {
        let source = "change/git".parse().unwrap();
        let mut changes = Changes::default();
        for at in 0..2_010 {
            changes.take(&source, &change(&at.to_string(), at, "x"));
        }
        assert_eq!((changes.all().len(), changes.all()[0].at), (KEPT, Moment(10)));
    }
}
