//! The live feed: the app loop as a task, steered by orders.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::reading::{HotSearch, KeyMethod, Scan, ScanState};
use headwater_engine::{Snapshot, Subject, quantity};

use headwater_panels::Status;
use tokio::task::{JoinError, JoinHandle};

use super::{Feed, Learned, Order, Outlet};
use crate::app::hot_search::search_line;
use crate::app::scan_progress::scan_line;
use crate::app::{App, Step};
use crate::bench::plan::USUAL_BUDGET;
use crate::sources::redis::{ScanBudget, ScanHandle, SearchBudget};

/// How long searches may take to end what they have begun at a server.
const ENDING: Duration = Duration::from_secs(1);

/// Starts the feed of a running application.
pub fn live(app: App, status: Status) -> Feed {
    let waiting_for = app.awaited();
    Feed::start(Status { waiting_for, ..status }, |outlet| {
        Live { app, outlet, scans: BTreeMap::new(), searches: BTreeMap::new(), timing: None }.run()
    })
}

/// The end of what is under way; `None` at once while nothing is.
async fn ended<T>(task: &mut Option<JoinHandle<T>>) -> Option<Result<T, JoinError>> {
    match task {
        Some(task) => Some(task.await),
        None => None,
    }
}

struct Live {
    app: App,
    outlet: Outlet,
    /// The scans that were ordered and have not ended.
    scans: BTreeMap<Subject, ScanHandle>,
    /// The searches for hot keys that were ordered and have not ended.
    searches: BTreeMap<(Subject, KeyMethod), ScanHandle>,
    /// The timing of kernels that was ordered and has not ended.
    timing: Option<JoinHandle<(String, bool)>>,
}

impl Live {
    async fn run(mut self) -> Learned {
        loop {
            tokio::select! {
                biased;
                order = self.outlet.orders.recv() => match order {
                    None | Some(Order::Stop) => break,
                    Some(Order::EndSearches) => {
                        self.end_searches(|method| method.row().needs_consent).await;
                        self.outlet.ended.send_modify(|times| *times += 1);
                    }
                    Some(order) => self.take(order),
                },
                Some(ended) = ended(&mut self.timing) => {
                    self.timing = None;
                    if let Ok((line, is_bad)) = ended {
                        self.outlet.say(line, is_bad);
                    }
                }
                step = self.app.step() => self.after(step),
            }
        }
        self.scans.values().for_each(|scan| scan.cancel.cancel());
        self.end_searches(|_| true).await;
        let learned = self.app.learned();
        self.app.stop().await;
        learned
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Act(act) => {
                self.app.act(act);
                self.outlet.snapshots.send_replace(self.app.snapshot());
            }
            Order::Scan(shard) => self.scan(shard),
            Order::PauseScan(shard) => self.pause(&shard),
            Order::CancelScan(shard) => match self.running(&shard).as_slice() {
                [] => self.outlet.say(format!("no scan of {shard} is running"), false),
                all => all.iter().for_each(|(_, handle)| handle.cancel.cancel()),
            },
            Order::Search(shard, method) => self.search(shard, method),
            Order::TimeKernels(gpu) => self.time_kernels(gpu.as_ref()),
            Order::Play(_) => self.outlet.say("what happens now cannot be played faster or again", false),
            // The loop ends with the one, and waits for the other.
            Order::Stop | Order::EndSearches => {}
        }
    }

    fn time_kernels(&mut self, gpu: Option<&Subject>) {
        match self.app.time_kernels(gpu) {
            Ok(timing) => {
                let budget = quantity::show(USUAL_BUDGET.as_secs_f64(), Unit::Seconds);
                let line = format!("timing kernels for at most {budget}, in a process of their own");
                self.outlet.say(line, false);
                self.timing = Some(timing);
            }
            Err(why) => self.outlet.say(why, true),
        }
    }

    /// Ends searches, and waits until what they began at a server is ended too.
    async fn end_searches(&mut self, which: impl Fn(KeyMethod) -> bool) {
        let searches = self.searches.iter_mut().filter(|((_, method), _)| which(*method));
        let ending = searches.filter(|(_, handle)| !handle.task.is_finished()).map(|(_, handle)| {
            handle.cancel.cancel();
            &mut handle.task
        });
        let _ = tokio::time::timeout(ENDING, futures::future::join_all(ending)).await;
    }

    fn scan(&mut self, shard: Subject) {
        if self.scans.contains_key(&shard) {
            return self.outlet.say(format!("a scan of {shard} is running already"), false);
        }
        let budget = ScanBudget::default();
        let share = quantity::show(budget.core_share, Unit::Ratio);
        if let Some(handle) = self.app.resume_scan(&shard, budget) {
            self.outlet.say(
                format!("the scan of {shard} goes on where it was stopped, at most {share} of a core"),
                false,
            );
            self.scans.insert(shard, handle);
            return;
        }
        match self.app.scan(&shard, budget) {
            Some(handle) => {
                self.outlet.say(
                    format!("scanning {shard} for big keys: reads only, at most {share} of a core"),
                    false,
                );
                self.scans.insert(shard, handle);
            }
            None => self.outlet.say(format!("{shard} is not known yet and cannot be scanned"), true),
        }
    }

    fn search(&mut self, shard: Subject, method: KeyMethod) {
        let row = method.row();
        if self.searches.contains_key(&(shard.clone(), method)) {
            return self.outlet.say(format!("a search of {shard} by {} is running already", row.name), false);
        }
        match self.app.search(&shard, method, SearchBudget::default()) {
            Some(handle) => {
                self.outlet
                    .say(format!("searching {shard} for hot keys by {}: {}", row.name, row.cost), false);
                self.searches.insert((shard, method), handle);
            }
            None => self.outlet.say(format!("{shard} cannot be searched by {}", row.name), true),
        }
    }

    /// Pauses the scan and the searches of a shard, or lets them go on when all of them are paused already.
    fn pause(&self, shard: &Subject) {
        let running = self.running(shard);
        if running.is_empty() {
            return self.outlet.say(format!("no scan of {shard} is running"), false);
        }
        let are_paused = running.iter().all(|(_, handle)| *handle.pause.borrow());
        let word = if are_paused { "goes on" } else { "is paused" };
        for (what, handle) in running {
            if handle.pause.send_replace(!are_paused) == are_paused {
                self.outlet.say(format!("{what} {word}"), false);
            }
        }
    }

    /// What goes on at a shard, in words.
    fn running(&self, shard: &Subject) -> Vec<(String, &ScanHandle)> {
        let scan = self.scans.get(shard).map(|handle| (format!("the scan of {shard}"), handle));
        let searches = self.searches.iter().filter(|((known, _), _)| known == shard);
        let named = |((_, method), handle): (&(Subject, KeyMethod), _)| {
            (format!("the search of {shard} by {}", method.row().name), handle)
        };
        scan.into_iter().chain(searches.map(named)).collect()
    }

    fn after(&mut self, step: Step) {
        if let Some(error) = self.app.recording_error() {
            self.outlet.say(error.to_string(), true);
            self.outlet.status.send_modify(|status| status.recording = None);
        }
        let Step::Evaluated(snapshot) = step else { return self.tell_awaited() };
        self.tell_ended_scans(&snapshot);
        self.tell_ended_searches(&snapshot);
        self.outlet.snapshots.send_replace(Some(snapshot));
    }

    fn tell_awaited(&self) {
        // Targets only ever leave the list, and readings are many.
        if self.outlet.status.borrow().waiting_for.len() == self.app.awaited_count() {
            return;
        }
        let awaited = self.app.awaited();
        self.outlet.status.send_if_modified(|status| {
            let is_new = status.waiting_for != awaited;
            status.waiting_for = awaited;
            is_new
        });
    }

    fn tell_ended_scans(&mut self, snapshot: &Snapshot) {
        let outlet = &self.outlet;
        self.scans.retain(|shard, handle| {
            // What the task sent last may be in the next snapshot only.
            let ended = |scan: &&Scan| scan.shard == *shard && scan.state.has_ended();
            let scan =
                snapshot.scans.iter().map(|(_, scan)| scan).find(ended).filter(|_| handle.task.is_finished());
            if let Some(scan) = scan {
                outlet.say(scan_line(scan), matches!(scan.state, ScanState::Stopped(_)));
            }
            scan.is_none()
        });
    }

    fn tell_ended_searches(&mut self, snapshot: &Snapshot) {
        let outlet = &self.outlet;
        self.searches.retain(|(shard, method), handle| {
            let ended = |search: &&HotSearch| {
                search.shard == *shard && search.method == *method && search.state.has_ended()
            };
            let search = snapshot
                .searches
                .iter()
                .map(|(_, search)| search)
                .find(ended)
                .filter(|_| handle.task.is_finished());
            if let Some(search) = search {
                outlet.say(search_line(search), matches!(search.state, ScanState::Stopped(_)));
            }
            search.is_none()
        });
    }
}
