//! Searches for hot keys in a headless pass: one at a time on a shard, the best that is offered and allowed first.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use headwater_engine::reading::KeyMethod;
use headwater_engine::{Snapshot, Subject};

use crate::app::App;
use crate::app::hot_search::{Permit, SearchProgress, best, flag, offers_of, to_name_it};
use crate::app::suspension::Suspension;
use crate::sources::redis::ScanHandle;

/// How long searches of a guilty shard may go on after the pass should have ended: HOTKEYS counts for 10 s.
const GRACE: Duration = Duration::from_secs(12);

/// How long the searches that are left at the end may take to end what they have begun at a server.
const ENDING: Duration = Duration::from_secs(2);

/// The searches of one pass.
#[derive(Debug)]
pub(super) struct Searches {
    permit: Permit,
    started: BTreeMap<(Subject, KeyMethod), ScanHandle>,
    progress: SearchProgress,
    are_awaited: bool,
    suspension: Suspension,
}

impl Searches {
    pub(super) fn new(permit: Permit) -> Self {
        Self {
            permit,
            started: BTreeMap::new(),
            progress: SearchProgress::default(),
            are_awaited: false,
            suspension: Suspension::default(),
        }
    }

    /// Starts what the snapshot wants and nobody has forbidden.
    pub(super) fn start(&mut self, app: &App, snapshot: &Snapshot, progress: &mut impl Write) {
        if self.permit == Permit::default() {
            return;
        }
        for shard in &snapshot.searches_wanted {
            if self.started.keys().any(|(known, method)| known == shard && self.is_going_on(shard, *method)) {
                continue;
            }
            let offers = offers_of(snapshot, shard);
            let is_tried = |method| self.started.contains_key(&(shard.clone(), method));
            let Some(method) = best(offers, &self.permit, is_tried) else { continue };
            if let Some(handle) = app.search(shard, method, self.permit.budget()) {
                let row = method.row();
                let by =
                    flag(method).map_or(" (--no-scan forbids it)".to_owned(), |flag| format!(" ({flag})"));
                let _ =
                    writeln!(progress, "searching {shard} for hot keys by {}: {}{by}", row.name, row.cost);
                if row.needs_consent {
                    self.suspension.ends_first(&handle);
                }
                self.progress.started(shard, method);
                self.started.insert((shard.clone(), method), handle);
            }
        }
    }

    /// Says how the searches stand.
    pub(super) fn tell(&mut self, snapshot: &Snapshot, progress: &mut impl Write) {
        for (_, search) in &snapshot.searches {
            if self.started.contains_key(&(search.shard.clone(), search.method))
                && let Some(line) = self.progress.line(search)
            {
                let _ = writeln!(progress, "{line}");
            }
        }
    }

    /// Whether the pass goes on for searches of shards that matter, so long after its end.
    pub(super) fn are_waited_for(
        &mut self,
        concerns: impl Fn(&Subject) -> bool,
        late: Duration,
        progress: &mut impl Write,
    ) -> bool {
        let unfinished =
            self.started.keys().find(|(shard, method)| concerns(shard) && self.is_going_on(shard, *method));
        let Some((shard, method)) = unfinished.filter(|_| late < GRACE) else { return false };
        if !self.are_awaited {
            let name = method.row().name;
            let _ = writeln!(
                progress,
                "the search of {shard} by {name} goes on: waiting up to {} s for it",
                GRACE.as_secs()
            );
        }
        self.are_awaited = true;
        true
    }

    /// Says at the end on which shards nothing was allowed that could tell the share of a key, and what could.
    pub(super) fn tell_unnamed(&self, snapshot: &Snapshot, progress: &mut impl Write) {
        let has_looked = |shard: &Subject| {
            self.started.keys().any(|(known, method)| known == shard && method.row().gives_shares)
        };
        let wanted = snapshot.searches_wanted.iter().filter(|_| self.permit != Permit::default());
        for shard in wanted.filter(|shard| !has_looked(shard)) {
            let how = to_name_it(offers_of(snapshot, shard), &self.permit);
            let _ = writeln!(progress, "a hot key of {shard} is likely; to name it: {how}");
        }
    }

    /// Ends every search, and waits until what they began at a server is ended too.
    pub(super) async fn end(self) {
        let ending = self.started.into_values().map(|search| {
            search.cancel.cancel();
            search.task
        });
        let _ = tokio::time::timeout(ENDING, futures::future::join_all(ending)).await;
    }

    fn is_going_on(&self, shard: &Subject, method: KeyMethod) -> bool {
        !self.progress.is_end_told(shard, method)
    }
}
