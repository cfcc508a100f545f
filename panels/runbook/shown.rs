//! What is shown of which runbook: told by the acts that were recorded, and by where somebody looks.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{ActKind, Found};
use headwater_engine::runbook::{
    Asks, Clock, Offer, Progress, Runbook, Step, clock, offers, progress, ranked,
};
use headwater_engine::snapshot::ActsUntil;
use headwater_engine::{Moment, Snapshot};

use super::RunbookPanel;
use crate::panel::View;

/// A progress and the snapshot that it was told by.
pub(super) struct Known {
    runbook: String,
    at: Moment,
    is_past: bool,
    acts: ActsUntil,
    progress: Arc<Progress>,
}

impl Known {
    /// The moment of the snapshot.
    pub(super) fn at(&self) -> Moment {
        self.at
    }
}

/// How long after it was let begin a scan is waited for: the next snapshot shows it.
const SCAN_BEGINS_WITHIN: Duration = Duration::from_secs(5);

/// A step as it is shown.
pub(super) struct Shown<'a> {
    pub(super) runbook: &'a Runbook,
    pub(super) place: usize,
    pub(super) step: &'a Step,
    pub(super) progress: Arc<Progress>,
    pub(super) offers: Vec<Offer<'a>>,
    /// The offer under the cursor.
    pub(super) action: usize,
    pub(super) is_explained: bool,
    /// Whether a scan was let begin just now.
    pub(super) is_scan_awaited: bool,
    /// What became of the report in which everything stands that was answered; `None` where there is none.
    pub(super) written: Option<String>,
}

/// The first action that is not recorded yet.
pub(super) fn untaken(offers: &[Offer<'_>]) -> Option<usize> {
    offers.iter().position(|offer| offer.done.is_none())
}

impl Shown<'_> {
    /// Whether the runbook asks if callers have recovered, and what that comes to now.
    pub(super) fn recovery(&self) -> Option<Found> {
        let place = self.runbook.steps.iter().position(|step| step.asks(Asks::Recovery))?;
        Some(self.progress.found(place))
    }

    /// How the clock of the runbook stands at the moment that is shown.
    pub(super) fn clock(&self, view: &View<'_>) -> Option<Clock> {
        clock(self.runbook, &self.progress, view.snapshot.at)
    }
}

impl RunbookPanel {
    /// What is shown, told anew when the snapshot is another one.
    pub(super) fn shown<'a>(&mut self, view: &View<'a>) -> Option<Shown<'a>> {
        let runbook = self.runbook(view)?;
        let snapshot = view.snapshot;
        let is_told = |known: &Known| {
            known.runbook == runbook.id
                && known.at == snapshot.at
                && known.is_past == snapshot.gone_back_from.is_some()
                && known.acts == snapshot.acts_until()
        };
        if !self.known.as_ref().is_some_and(is_told) {
            self.known = Some(Known {
                runbook: runbook.id.clone(),
                at: snapshot.at,
                is_past: snapshot.gone_back_from.is_some(),
                acts: snapshot.acts_until(),
                progress: Arc::new(progress(runbook, snapshot)),
            });
        }
        self.follow(runbook, snapshot.acts_until());
        self.peek(view)
    }

    /// Goes to the step that is due once more acts are recorded, and at no other time.
    fn follow(&mut self, runbook: &Runbook, acts: ActsUntil) {
        let is_followed = |(at, id): &(ActsUntil, String)| *at == acts && runbook.step(id).is_some();
        if self.followed.as_ref().is_some_and(is_followed) {
            return;
        }
        let due = self.known.as_ref().and_then(|known| known.progress.due);
        let step = due.and_then(|due| runbook.steps.get(due)).or(runbook.steps.last());
        self.followed = step.map(|step| (acts, step.id.clone()));
    }

    /// The same by what was told last; `None` before that.
    pub(super) fn peek<'a>(&self, view: &View<'a>) -> Option<Shown<'a>> {
        let runbook = self.runbook(view)?;
        let known = self.known.as_ref().filter(|known| known.runbook == runbook.id)?;
        let progress = Arc::clone(&known.progress);
        let followed = self.followed.as_ref().map(|(_, id)| id.as_str());
        let looked_at = self.looked_at.as_deref().or(followed).and_then(|id| runbook.step(id));
        let place = looked_at.or(progress.due).unwrap_or(runbook.steps.len().saturating_sub(1));
        let step = runbook.steps.get(place)?;
        let offers = offers(step, &view.library.remedies, view.snapshot);
        let action = self.action.unwrap_or_else(|| untaken(&offers).unwrap_or(0));
        let action = action.min(offers.len().saturating_sub(1));
        let is_newest = |at: &ActsUntil| *at == view.snapshot.acts_until();
        let written = self.written.as_ref().filter(|(at, _)| is_newest(at)).map(|(_, told)| told.clone());
        Some(Shown {
            runbook,
            place,
            step,
            progress,
            offers,
            action,
            is_explained: self.is_explained,
            is_scan_awaited: self
                .scan_began
                .is_some_and(|at| view.snapshot.at.since(at) < SCAN_BEGINS_WITHIN),
            written,
        })
    }

    /// The runbook that was chosen, else the one that was begun last, else the one that always applies.
    fn runbook<'a>(&self, view: &View<'a>) -> Option<&'a Runbook> {
        let of = |id: &str| view.library.runbooks.iter().find(|runbook| runbook.id == id);
        let chosen = self.chosen.as_deref().and_then(of);
        let begun = || {
            view.snapshot.acts.iter().rev().find_map(|act| match &act.kind {
                ActKind::Runbook(id) => of(id.as_str()),
                _ => None,
            })
        };
        let usual = || {
            let ranked = ranked(&view.library.runbooks, view.snapshot);
            ranked.iter().find(|runbook| runbook.when.is_empty()).or(ranked.first()).copied()
        };
        chosen.or_else(begun).or_else(usual)
    }
}

/// Whether what is shown is what is there now: gone back, frozen, or nothing evaluated any more is not.
pub(super) fn is_present(view: &View<'_>) -> bool {
    let snapshot: &Snapshot = view.snapshot;
    snapshot.gone_back_from.is_none() && view.now.since(snapshot.at) <= snapshot.settings.stale_after()
}
