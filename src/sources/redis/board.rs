//! What the nodes of one target share: whose turn it is to tell the shape, and the way to tell it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::reading::NodeHealth;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::Dial;
use super::topology::SeenShard;
use super::trouble::Trouble;

/// How often the shape is asked for, of one node.
pub(super) const SHAPE_EVERY: Duration = Duration::from_secs(10);

/// The shortest time between two questions for the shape, when something has just happened.
const SHAPE_SOON: Duration = Duration::from_secs(2);

/// What a node tells its target.
#[derive(Debug)]
pub(super) enum Report {
    /// A cluster's shape.
    Cluster {
        /// The host under which the node that tells it was asked.
        asked_host: String,
        /// The shards.
        shards: Vec<SeenShard>,
    },
    /// A standalone primary with the replicas that it knows.
    Standalone {
        /// The node that tells it.
        primary: Dial,
        /// Host and port of each replica.
        replicas: Vec<(String, u16)>,
    },
    /// A primary and its replicas as Sentinels tell them.
    Watched {
        /// The primary.
        primary: Dial,
        /// Host, port and health of each replica.
        replicas: Vec<(String, u16, NodeHealth)>,
    },
    /// The credentials were refused.
    Refused(Trouble),
}

/// The shared board.
#[derive(Debug)]
pub(super) struct Board {
    turn: Mutex<Turn>,
    reports: mpsc::Sender<Report>,
}

#[derive(Debug)]
struct Turn {
    last: Instant,
    next: Instant,
    /// When a node was lost last.
    lost: Option<Instant>,
}

impl Board {
    /// A board whose shape has just been told.
    pub(super) fn new(reports: mpsc::Sender<Report>) -> Self {
        let last = Instant::now();
        Self { turn: Mutex::new(Turn { last, next: last + SHAPE_EVERY, lost: None }), reports }
    }

    /// Takes the turn to tell the shape; false when it is not due or another node has it.
    pub(super) fn claim(&self) -> bool {
        let now = Instant::now();
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let due = now >= turn.next;
        if due {
            *turn = Turn { last: now, next: now + SHAPE_EVERY, ..*turn };
        }
        due
    }

    /// Lets the shape be asked for soon, because a node was lost.
    pub(super) fn hasten(&self) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        turn.next = turn.next.min(turn.last + SHAPE_SOON);
        turn.lost = Some(Instant::now());
    }

    /// When a node was lost last.
    pub(super) fn lost(&self) -> Option<Instant> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).lost
    }

    /// Tells the target; with a full queue the news is old and the next turn will bring newer.
    pub(super) fn tell(&self, report: Report) {
        let _ = self.reports.try_send(report);
    }
}
