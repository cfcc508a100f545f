//! The way from view to view, to one shard and back, and which shard actions are about.

use headwater_engine::report::Verdict;
use headwater_engine::{Snapshot, Subject};

use super::pane::{Looked, Pane, ViewRow};
use super::{Keyspace, VIEWS};
use crate::big_key_scan::shard_of;
use crate::panel::{Outcome, View};

/// The places of views that are led to by name.
pub(super) const SHARDS: usize = 0;
pub(super) const BIG: usize = 1;

pub(super) fn place_of(name: &str) -> usize {
    VIEWS.iter().position(|row| row.name == name).unwrap_or(SHARDS)
}

impl Keyspace {
    pub(super) fn new() -> Self {
        let panes = VIEWS.iter().map(|row| (row.make)()).collect();
        Self { panes, at: SHARDS, of: None, typed: vec![], is_led: false }
    }

    pub(super) fn row(&self) -> &'static ViewRow {
        VIEWS.get(self.at).unwrap_or(&VIEWS[SHARDS])
    }

    /// Runs with the pane that is open and what it looks at.
    pub(super) fn with<T>(
        &mut self,
        view: &View<'_>,
        run: impl FnOnce(&mut dyn Pane, &Looked<'_>) -> T,
    ) -> T {
        self.lead(view);
        let about = self.about(view);
        let looked = Looked { view, of: self.of.as_ref(), about: about.as_ref(), typed: &self.typed };
        run(self.panes[self.at].as_mut(), &looked)
    }

    /// The same without changing anything.
    pub(super) fn seeing<T>(&self, view: &View<'_>, run: impl FnOnce(&dyn Pane, &Looked<'_>) -> T) -> T {
        let about = self.about(view);
        let looked = Looked { view, of: self.of.as_ref(), about: about.as_ref(), typed: &self.typed };
        run(self.panes[self.at].as_ref(), &looked)
    }

    /// The shard that actions are about: the one that was opened, else the one under the cursor of the list.
    pub(super) fn about(&self, view: &View<'_>) -> Option<Subject> {
        if self.of.is_some() {
            return self.of.clone();
        }
        let looked = Looked { view, of: None, about: None, typed: &[] };
        self.panes[SHARDS].selected(&looked).and_then(|id| id.parse().ok())
    }

    /// Puts the cursor of the list on the shard that is accused most, until somebody moves it.
    pub(super) fn lead(&mut self, view: &View<'_>) {
        if self.is_led {
            return;
        }
        if let Some(worst) = accused(view.snapshot) {
            self.panes[SHARDS].select(worst.as_str());
        }
    }

    pub(super) fn turn(&mut self, to_the_right: bool) -> Outcome {
        self.panes[self.at].close();
        let step = if to_the_right { 1 } else { VIEWS.len() - 1 };
        self.at = (self.at + step) % VIEWS.len();
        Outcome::Done
    }

    pub(super) fn back(&mut self) -> Outcome {
        if self.panes[self.at].has_page() {
            self.panes[self.at].close();
        } else if self.of.take().is_some() || self.at != SHARDS {
            self.at = SHARDS;
        } else {
            return Outcome::Ignored;
        }
        Outcome::Done
    }

    /// The shard whose scan and searches are steered: the one that actions are about, and where nothing runs there, the
    /// only one on which something does.
    pub(super) fn steered(&self, view: &View<'_>) -> Option<Subject> {
        let snapshot = view.snapshot;
        let about = self.about(view);
        if about.as_ref().is_some_and(|shard| is_searched(snapshot, shard)) {
            return about;
        }
        let mut running =
            snapshot.scans.iter().map(|(_, scan)| &scan.shard).filter(|shard| is_searched(snapshot, shard));
        match (running.next(), running.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => about,
        }
    }
}

/// Whether something runs on a shard.
pub(super) fn is_searched(snapshot: &Snapshot, shard: &Subject) -> bool {
    snapshot.scans.iter().any(|(_, scan)| scan.shard == *shard && !scan.state.has_ended())
        || snapshot.searches.iter().any(|(_, search)| search.shard == *shard && !search.state.has_ended())
}

/// The shard that is accused most.
fn accused(snapshot: &Snapshot) -> Option<Subject> {
    let rows = snapshot.report.verdicts.iter();
    let mut accused = rows.take_while(|row| row.verdict <= Verdict::Suspect).map(|row| &row.subject);
    accused.find(|subject| shard_of(snapshot, subject).is_some()).cloned()
}
