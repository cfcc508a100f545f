//! One scan of one node: what is asked in each turn, and when the next one may be.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::reading::{Event, Scan, ScanState};
use headwater_engine::{RemoteText, Subject};
use tokio::time::Instant;

use super::super::allowed::Command;
use super::super::connection::Connection;
use super::super::info::Info;
use super::super::pulse::Pulse;
use super::super::reply::text;
use super::super::trouble::Trouble;
use super::found::Found;
use super::pace::{FIGURES, Pace, figures_of};
use super::turn::count;
use super::{CANCELLED, Job, SCAN};

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// How long a scan that was cancelled may go on describing what it has found.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How far a scan has come: enough to go on from there.
#[derive(Clone, Debug)]
pub(in crate::sources::redis) struct Progress {
    /// The run of the server that the cursor belongs to.
    pub(super) run_id: String,
    /// Where the keys are found that come next.
    pub(super) cursor: u64,
    pub(super) scanned: u64,
    pub(super) total: u64,
    pub(super) orphans: u64,
    pub(super) commands: u64,
    pub(super) hits: u64,
    pub(super) cpu_s: f64,
    pub(super) found: Found,
}

impl Progress {
    /// What is told of it.
    pub(super) fn to_scan(&self, job: &Job, node: &Subject, state: ScanState) -> Scan {
        let (biggest, longest) = self.found.rows(job.clustered);
        Scan {
            scanned: self.scanned,
            total: self.total.max(self.scanned),
            state,
            biggest,
            longest,
            patterns: self.found.patterns.rows(),
            expiries: self.found.expiries.expiries(),
            commands: self.commands,
            cpu_s: self.cpu_s,
            hits: self.hits,
            orphans: self.orphans,
            ..Scan::begun(job.shard.clone(), node.clone())
        }
    }
}

/// Why a scan is over.
pub(super) enum End {
    /// Every key was looked at.
    Complete,
    /// Somebody or something ended it; it can go on from there.
    Early(String),
    /// It cannot go on where an earlier one was.
    Anew(&'static str),
    /// The node is lost, or refuses.
    Lost(Trouble),
}

/// Why keys are looked at no longer after this long, of which so much was spent waiting.
pub(in crate::sources::redis) fn time_is_over(longest: Duration, waited: Duration) -> String {
    let waited = match waited.as_secs() {
        0 => String::new(),
        waited => format!(", {waited} s of them spent waiting until the node is calm"),
    };
    format!("{} s are over, the longest that was allowed{waited}", longest.as_secs())
}

/// Why no more keys than these are looked at.
pub(in crate::sources::redis) fn keys_are_spent(looked_at: u64) -> String {
    format!("{looked_at} keys looked at, the most that was allowed")
}

/// A scan at work.
pub(super) struct Run<'a> {
    job: &'a Job,
    node: &'a Subject,
    pulse: &'a Pulse,
    pub(super) connection: Connection,
    pub(super) progress: Progress,
    /// Commands sent, by name.
    pub(super) calls: BTreeMap<&'static str, u64>,
    /// The sections that INFO is asked for.
    figures: &'static [&'static str],
    /// Whether a size was answered, or was refused for a reason of its key.
    pub(super) may_weigh: bool,
    /// Whether it was said that the scan waits.
    waits: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        job: &'a Job,
        node: &'a Subject,
        pulse: &'a Pulse,
        connection: Connection,
        progress: Option<Progress>,
    ) -> Self {
        let progress = progress.unwrap_or_else(|| Progress {
            run_id: String::new(),
            cursor: 0,
            scanned: 0,
            total: 0,
            orphans: 0,
            commands: 0,
            hits: 0,
            cpu_s: 0.0,
            found: Found::new(job.budget.keep.max(1), 0),
        });
        Self {
            job,
            node,
            pulse,
            connection,
            progress,
            calls: BTreeMap::new(),
            figures: FIGURES,
            may_weigh: false,
            waits: false,
        }
    }

    /// Scans until the end, whatever it is.
    pub(super) async fn scan(&mut self) -> End {
        let cancel = self.job.cancel.clone();
        let mut pace = Pace::new(self.job.budget.core_share, Instant::now());
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => End::Early(CANCELLED.to_owned()),
            end = self.all_keys(&mut pace) => end.unwrap_or_else(End::Lost),
        };
        self.go_on().await;
        if !matches!(end, End::Lost(_)) {
            // What is kept is described also after a cancel, though a node that hangs is not waited for then.
            tokio::select! {
                biased;
                () = self.describe(&mut pace) => {}
                () = async {
                    cancel.cancelled().await;
                    tokio::time::sleep(LAST_WORDS).await;
                } => {}
            }
        }
        end
    }

    /// Asks what is still unknown of the keys that are kept, and what all this has cost; a node that refuses leaves types
    /// unknown.
    async fn describe(&mut self, pace: &mut Pace) {
        self.progress.found.ask_the_rest();
        while self.progress.found.has_questions() && self.turn(&[], None).await.is_ok() {}
        let _ = self.measure(pace).await;
    }

    /// Keys looked at so far.
    pub(super) fn scanned(&self) -> u64 {
        self.progress.scanned
    }

    /// What is needed to go on later.
    pub(super) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Tells how far the scan is, with all that it has found.
    pub(super) async fn tell(&self, state: ScanState) {
        self.job.send(self.node, self.progress.to_scan(self.job, self.node, state)).await;
    }

    async fn all_keys(&mut self, pace: &mut Pace) -> Result<End, Trouble> {
        let started = Instant::now();
        if let Some(end) = self.greet().await? {
            return Ok(end);
        }
        let mut told: Option<Instant> = None;
        let mut waited = Duration::ZERO;
        let mut end = started + self.job.budget.longest;
        let mut allowed = self.job.budget.most_keys;
        let mut keys: Vec<Vec<u8>> = vec![];
        let mut next = Some(self.progress.cursor);
        loop {
            if pace.wants_measure(Instant::now()) {
                self.measure(pace).await?;
            }
            // One way there and back for the sizes of the last keys and the names of the next.
            let asked = next.map(|cursor| (cursor, pace.batch()));
            let names = self.turn(&keys, asked).await?;
            pace.spent(keys.len());
            allowed = allowed.saturating_sub(keys.len() as u64);
            if next.is_none() {
                return Ok(End::Complete);
            }
            let Some((then, names)) = names else {
                return Ok(End::Early("SCAN is answered with something else".to_owned()));
            };
            self.progress.found.expiries.pick(&names);
            (keys, next) = (names, (then != 0).then_some(then));
            if told.is_none_or(|told| told.elapsed() >= PROGRESS_EVERY) && self.progress.scanned > 0 {
                told = Some(Instant::now());
                self.tell(ScanState::Running).await;
            }
            if allowed == 0 {
                return Ok(End::Early(keys_are_spent(self.progress.scanned)));
            }
            if Instant::now() >= end {
                return Ok(End::Early(time_is_over(self.job.budget.longest, waited)));
            }
            loop {
                end += self.while_paused().await;
                waited += self.until_calm(end).await;
                tokio::select! {
                    () = tokio::time::sleep_until(pace.next_at()) => break,
                    () = self.job.hold.begins() => {}
                }
            }
        }
    }

    /// Learns which run of the server this is, how many keys it has, and how its INFO can be asked. A scan that goes on
    /// ends where the run is another one.
    async fn greet(&mut self) -> Result<Option<End>, Trouble> {
        let questions = [Command::Info(&["server"]), Command::DbSize];
        let answers = self.ask_all(&questions).await?;
        let [info, keys] = answers.as_slice() else { return Ok(None) };
        let info = info.as_ref().ok().and_then(text).unwrap_or_default();
        let info = Info::parse(&info);
        self.figures = figures_of(info.release());
        let run_id = info.text("run_id").unwrap_or_default();
        if self.progress.scanned == 0 {
            let keys = keys.as_ref().ok().and_then(count).unwrap_or(0);
            self.progress.total = keys;
            self.progress.found = Found::new(self.job.budget.keep.max(1), keys);
            self.progress.run_id = run_id.to_owned();
        } else if self.progress.run_id != run_id {
            let why = "the server has restarted, and a cursor means nothing to another run: scan anew";
            return Ok(Some(End::Anew(why)));
        }
        Ok(None)
    }

    /// Asks the server what all this has cost; a refusal leaves the first guess.
    async fn measure(&mut self, pace: &mut Pace) -> Result<(), Trouble> {
        let answer = self.ask_all(&[Command::Info(self.figures)]).await?.pop();
        if let Some(Ok(reply)) = answer
            && let Some(text) = text(&reply)
        {
            self.progress.cpu_s += pace.measure(&Info::parse(&text), &self.calls, Instant::now());
        }
        Ok(())
    }

    /// Waits while the operator has the scan stand still, and says so; returns for how long.
    async fn while_paused(&mut self) -> Duration {
        let began = Instant::now();
        if !self.job.hold.is_on() {
            return Duration::ZERO;
        }
        self.tell(ScanState::Paused).await;
        self.job.hold.ends().await;
        self.tell(ScanState::Running).await;
        began.elapsed()
    }

    /// Waits while the node suffers, at most until the scan has to end, and says so; returns for how long.
    async fn until_calm(&mut self, end: Instant) -> Duration {
        let began = Instant::now();
        if self.pulse.spared_until().min(end) <= began {
            return Duration::ZERO;
        }
        self.waits = true;
        let why = RemoteText::new("the node is near its limit: the scan goes on when it is calm");
        self.job.tell(self.node, Event::Unavailable { what: RemoteText::new(SCAN), why }).await;
        self.pulse.spared(end).await;
        self.go_on().await;
        began.elapsed()
    }

    /// Takes back that the scan waits, also when it ends while it does.
    async fn go_on(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.job.tell(self.node, Event::Available { what: RemoteText::new(SCAN) }).await;
        }
    }
}
