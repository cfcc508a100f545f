//! The tasks of the targets that are on a list.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::Target;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::sources::Outlet;
use crate::sources::metrics::{MetricsSpec, spawn_metrics};

/// A task for each target.
#[derive(Debug)]
pub(super) struct Tasks {
    interval: Duration,
    outlet: Outlet,
    running: BTreeMap<Target, Running>,
}

/// The task of one target, and the address that it asks.
#[derive(Debug)]
struct Running {
    url: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Tasks {
    /// No task yet; each will ask at this interval, until it or the outlet is stopped.
    pub(super) fn new(interval: Duration, outlet: Outlet) -> Self {
        Self { interval, outlet, running: BTreeMap::new() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.running.len()
    }

    /// Ends the tasks of those that are not among these pages, or have another address there.
    pub(super) async fn end_all_but(&mut self, pages: &BTreeMap<Target, MetricsSpec>) {
        let is_as_before = |target: &Target, running: &Running| {
            pages.get(target).is_some_and(|page| page.url == running.url)
        };
        let (kept, ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.running).into_iter().partition(|(t, running)| is_as_before(t, running));
        self.running = kept;
        for running in ended.values() {
            running.stop.cancel();
        }
        for running in ended.into_values() {
            // Nothing more comes of it after the list that it is not on.
            let _ = running.task.await;
        }
    }

    /// Begins a task for each of these pages that has none.
    pub(super) async fn begin(&mut self, pages: BTreeMap<Target, MetricsSpec>) {
        for (target, page) in pages {
            if self.running.contains_key(&target) {
                continue;
            }
            let stop = self.outlet.stop.child_token();
            let outlet = Outlet { readings: self.outlet.readings.clone(), stop: stop.clone() };
            let url = page.url.clone();
            // What could go wrong was tried with a page that all are made like, and is tried again at the next look.
            if let Ok(task) = spawn_metrics(page, self.interval, outlet) {
                self.running.insert(target, Running { url, stop, task });
            }
            // Preparing many of them takes a while, in which others want to be asked.
            tokio::task::yield_now().await;
        }
    }
}
