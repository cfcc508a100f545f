//! Where snapshots come from: live targets or a recording, as a task of its own behind one interface.
//!
//! The task owns the engine. So an evaluation of a thousand nodes never delays a key, and the screen needs not to know
//! whether what it shows is going on or is replayed.

pub mod live;
pub mod replay;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{KeyMethod, OperatorAct};
use headwater_engine::{Baselines, Snapshot, Subject};
use headwater_panels::screen::Notice;
use headwater_panels::{Play, Status};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Orders and notices that may wait; a screen sends one at a time and reads what comes back at once.
const WAITING: usize = 64;

/// How long a feed may take to end: sources are told to stop and are not waited for longer than this.
const LONGEST_END: Duration = Duration::from_secs(2);

/// A running source of snapshots, as the screen holds it.
#[derive(Debug)]
pub struct Feed {
    /// The newest snapshot; `None` before the first. Older ones are skipped by whoever is slow.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// What is to be said of the feed itself; the theme and who has the mouse are not its to know.
    pub status: watch::Receiver<Status>,
    /// What became of orders, and whatever else the operator should know, a line each.
    pub notices: mpsc::Receiver<Notice>,
    /// Counts how often [`Order::EndSearches`] was carried out.
    pub ended: watch::Receiver<u64>,
    /// What the feed is asked to do.
    pub orders: mpsc::Sender<Order>,
    /// Done when the feed has ended, with what it learned.
    pub task: JoinHandle<Learned>,
}

/// The healthy values of the whole run, or `None` when something was wrong in it or nothing can be learned from it.
pub type Learned = Option<Baselines>;

/// The other end of a [`Feed`], as its task holds it.
#[derive(Debug)]
pub struct Outlet {
    /// Where each new snapshot goes.
    pub snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    /// Where a change of what is said of the feed goes.
    pub status: watch::Sender<Status>,
    /// Where notices go.
    pub notices: mpsc::Sender<Notice>,
    /// Counts how often [`Order::EndSearches`] was carried out.
    pub ended: watch::Sender<u64>,
    /// What the screen asks for; `None` from it means that the screen is gone.
    pub orders: mpsc::Receiver<Order>,
}

/// What a feed can be asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Takes a mark or a note.
    Act(OperatorAct),
    /// Starts a scan for big keys of a shard.
    Scan(Subject),
    /// Pauses the scan of a shard, or lets it go on.
    PauseScan(Subject),
    /// Ends the scan of a shard.
    CancelScan(Subject),
    /// Searches a shard for hot keys in this way.
    Search(Subject, KeyMethod),
    /// Times kernels once on a GPU of this machine, or on the one that is there.
    TimeKernels(Option<Subject>),
    /// Ends the searches that slow a server, before nobody listens to it for a while.
    EndSearches,
    /// Steers a replay.
    Play(Play),
    /// Ends the feed.
    Stop,
}

impl Feed {
    /// Starts a feed: `run` is given the other end and goes on until an [`Order::Stop`] comes or the orders end. Must
    /// be called within a tokio runtime.
    pub fn start<Run>(status: Status, run: impl FnOnce(Outlet) -> Run) -> Self
    where
        Run: Future<Output = Learned> + Send + 'static,
    {
        let (snapshots, newest) = watch::channel(None);
        let (status, said) = watch::channel(status);
        let (ended, has_ended) = watch::channel(0);
        let (notices, told) = mpsc::channel(WAITING);
        let (orders, ordered) = mpsc::channel(WAITING);
        let task = tokio::spawn(run(Outlet { snapshots, status, notices, ended, orders: ordered }));
        Self { snapshots: newest, status: said, notices: told, ended: has_ended, orders, task }
    }

    /// Ends the feed and gives what it learned; one that does not end in time, or ended by a panic, has learned nothing.
    pub async fn stop(self) -> Learned {
        // A feed that has ended takes no orders, and is at its end all the same.
        let _ = self.orders.try_send(Order::Stop);
        drop(self.orders);
        tokio::time::timeout(LONGEST_END, self.task).await.ok()?.ok()?
    }
}

impl Outlet {
    /// Says one line to the operator. It is lost when more lines wait than anyone will read.
    pub fn say(&self, text: impl Into<String>, is_error: bool) {
        let _ = self.notices.try_send(Notice::new(text, is_error));
    }
}
