//! What people changed, as far as it is kept.

use std::sync::Arc;

use crate::reading::Change;
use crate::subject::Subject;
use crate::text::RemoteText;

/// Changes that are kept; of more the newest.
const KEPT: usize = 2_000;

/// What people changed, oldest first.
#[derive(Debug, Default)]
pub(super) struct Changes(Arc<[Change]>);

impl Changes {
    /// All that are kept.
    pub(super) fn all(&self) -> &Arc<[Change]> {
        &self.0
    }

    /// Keeps a change, once however often it is told.
    pub(super) fn take(&mut self, source: &Subject, change: &Change) {
        // Two sources may number alike.
        let id = RemoteText::new(&format!("{}:{}", source.name(), change.id));
        let change = Change { id, ..change.clone() };
        if self.0.contains(&change) {
            return;
        }
        let mut changes: Vec<Change> = self.0.iter().filter(|known| known.id != change.id).cloned().collect();
        let place = changes.partition_point(|known| known.at <= change.at);
        changes.insert(place, change);
        let surplus = changes.len().saturating_sub(KEPT);
        self.0 = changes.split_off(surplus).into();
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
    fn of_too_many_the_newest_are_kept() {
        let source = "change/git".parse().unwrap();
        let mut changes = Changes::default();
        for at in 0..2_010 {
            changes.take(&source, &change(&at.to_string(), at, "x"));
        }
        assert_eq!((changes.all().len(), changes.all()[0].at), (KEPT, Moment(10)));
    }
}
