//! When a server's past is asked for: once its targets are known, and again for those that come later or of which it could
//! not be told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::reading::History;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::history::{Memory, remember};
use super::instance::{Clock, InstanceKey, Remembered};
use super::page::Types;
use super::turns::{Failures, MOST_TARGETS};
use super::{MOST_INSTANCES, PrometheusSpec};
use crate::sources::{Outlet, now};

/// How soon after a look into the past the next one may begin.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(300);

/// What looks into a server's past have brought so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Targets of which all was told that the server remembers.
    pub(super) targets: BTreeSet<InstanceKey>,
    /// Of which components no more will be told of all instances together.
    pub(super) components: BTreeSet<Subject>,
    /// The others of which some instances were read, and how often all of them may be asked for together.
    pub(super) open: BTreeMap<Subject, u32>,
    /// Whether anything was told of the past.
    pub(super) has_told: bool,
    /// Targets that were too many, of those whose component is known.
    pub(super) left_out: usize,
    /// What could not be read so far.
    pub(super) failures: Failures,
    /// Whether it was said that something could not be told.
    pub(super) is_lacking: bool,
}

impl Known {
    /// The open components of which no target that is there lacks any more, with all of their targets.
    pub(super) fn ready(&self, targets: &[Remembered]) -> Vec<(Subject, Vec<Remembered>)> {
        let of = |component: &Subject| -> Vec<Remembered> {
            let of = targets.iter().filter(|target| target.component == *component);
            of.take(MOST_TARGETS).cloned().collect()
        };
        let all = self.open.keys().map(|component| (component.clone(), of(component)));
        let is_read = |target: &Remembered| self.targets.contains(&target.key);
        all.filter(|(_, of)| !of.is_empty() && of.iter().all(is_read)).collect()
    }
}

/// What a look has to know of the server.
pub(super) struct Server<'a> {
    pub(super) spec: &'a PrometheusSpec,
    pub(super) types: &'a Types,
    pub(super) clock: Clock,
    pub(super) outlet: &'a Outlet,
}

/// The looks into one server's past, one at a time.
#[derive(Debug)]
pub(super) struct LooksBack {
    memory: Memory,
    known: Known,
    under_way: Option<JoinHandle<Known>>,
    began: Option<Instant>,
}

impl LooksBack {
    /// Nothing was asked yet.
    pub(super) fn new(memory: Memory) -> Self {
        Self { memory, known: Known::default(), under_way: None, began: None }
    }

    /// Begins to ask for the past of those among these targets of which it is not known, unless a look is under way or was
    /// so lately.
    pub(super) async fn go_on(&mut self, targets: Vec<Remembered>, server: Server<'_>) {
        if let Some(look) = self.under_way.take_if(|look| look.is_finished()) {
            // One that panicked has told nothing, and would again.
            match look.await {
                Ok(known) => self.known = known,
                Err(_) => {
                    self.known.open.clear();
                    self.known.targets.extend(targets.iter().map(|target| target.key.clone()));
                }
            }
        }
        let is_early = self.began.is_some_and(|began| began.elapsed() < self.memory.again_after);
        // What was usual so long ago is compared with nothing; whoever asks for it as the first thing hears so.
        let is_over = self.began.is_some() && !History::speaks(self.memory.before, now());
        if self.under_way.is_some() || is_early || is_over {
            return;
        }
        if self.known.targets.len() > 2 * MOST_INSTANCES {
            // Those that have left.
            let there: BTreeSet<&InstanceKey> = targets.iter().map(|target| &target.key).collect();
            self.known.targets.retain(|target| there.contains(target));
        }
        let is_known = |target: &Remembered| self.known.targets.contains(&target.key);
        if targets.iter().all(is_known) && self.known.ready(&targets).is_empty() {
            return;
        }
        self.began = Some(Instant::now());
        let Server { spec, types, clock, outlet } = server;
        let (spec, memory, types, known) =
            (spec.clone(), self.memory.clone(), types.clone(), self.known.clone());
        let outlet = outlet.clone();
        self.under_way = Some(tokio::spawn(async move {
            let (stop, before) = (outlet.stop.clone(), known.clone());
            tokio::select! {
                () = stop.cancelled() => before,
                known = remember(&spec, memory, targets, (types, clock), known, &outlet) => known,
            }
        }));
    }
}
