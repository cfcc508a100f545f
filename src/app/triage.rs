//! One headless pass: run for a while, say the verdict when it comes, scan and search the shards that ask for it.

mod searches;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_engine::metric::Unit;
use headwater_engine::quantity;
use headwater_engine::reading::FaultKind;
use headwater_engine::report::{Conclusion, Verdict};
use headwater_engine::rules::{Nature, by_id};
use headwater_engine::snapshot::RuleState;
use headwater_engine::{Kind, Moment, Snapshot, Subject};

use super::hot_search::Permit;
use super::scan_progress::ScanProgress;
use super::{App, Step};
use crate::sources::redis::{ScanBudget, ScanHandle};
use searches::Searches;

/// How long a scan of a guilty shard may go on after the pass should have ended.
const SCAN_GRACE: Duration = Duration::from_secs(5);

/// The longest that a pass goes on after its end for rules that are about to be sure.
const STIRRING_GRACE: Duration = Duration::from_secs(15);

/// A tick this much before the end is the last one: ticks fall a little later than the second they stand for.
const SLACK: Duration = Duration::from_millis(100);

/// How a headless pass runs.
#[derive(Clone, Debug)]
pub struct TriageOptions {
    /// How long to look.
    pub length: Duration,
    /// The budget of automatic scans for big keys; `None` forbids them.
    pub scan: Option<ScanBudget>,
    /// How automatic searches for hot keys may be made.
    pub search: Permit,
    /// When the process started: progress counts from there.
    pub started: Instant,
}

/// Runs the loop until the pass is over or `interrupted` is done, and gives the last snapshot; `None` when it
/// was interrupted before the first evaluation. Progress goes to `progress`, a line each; a closed one is no
/// error.
pub async fn triage(
    app: &mut App,
    options: &TriageOptions,
    progress: &mut impl Write,
    interrupted: impl Future<Output = ()>,
) -> Option<Arc<Snapshot>> {
    let end = Instant::now() + options.length;
    let mut pass = Pass {
        options,
        end,
        convicted: None,
        scans: BTreeMap::new(),
        searches: Searches::new(options.search),
        progress: ScanProgress::default(),
        waits_for_scan: false,
        waits_for_rules: None,
    };
    let mut interrupted = std::pin::pin!(interrupted);
    let mut last = None;
    loop {
        let step = tokio::select! {
            biased;
            () = &mut interrupted => break,
            step = app.step() => step,
        };
        if let Some(error) = app.recording_error() {
            let _ = writeln!(progress, "{error}");
        }
        let Step::Evaluated(snapshot) = step else { continue };
        pass.tell_verdict(&snapshot, progress);
        pass.scan_what_asks(app, &snapshot, progress);
        pass.tell_scans(&snapshot, progress);
        pass.searches.tell(&snapshot, progress);
        pass.searches.start(app, &snapshot, progress);
        let is_over = pass.is_over(&snapshot, progress);
        last = Some(snapshot);
        if is_over {
            break;
        }
    }
    pass.cancel_scans();
    if let Some(snapshot) = &last {
        pass.searches.tell_unnamed(snapshot, progress);
    }
    pass.searches.end().await;
    last
}

struct Pass<'a> {
    options: &'a TriageOptions,
    end: Instant,
    convicted: Option<Subject>,
    scans: BTreeMap<Subject, ScanHandle>,
    searches: Searches,
    progress: ScanProgress,
    waits_for_scan: bool,
    /// Until when rules are waited for that are about to be sure; known once the pass should have ended.
    waits_for_rules: Option<Instant>,
}

impl Pass<'_> {
    fn tell_verdict(&mut self, snapshot: &Snapshot, progress: &mut impl Write) {
        let first = snapshot.report.suspects.first().filter(|suspect| suspect.verdict == Verdict::Guilty);
        if let Some(guilty) = first
            && self.convicted.as_ref() != Some(&guilty.subject)
        {
            let after = self.options.started.elapsed().as_secs_f64();
            let _ = writeln!(
                progress,
                "verdict after {after:.1} s: guilty {} by {}",
                guilty.subject, guilty.rule
            );
            self.convicted = Some(guilty.subject.clone());
        }
    }

    fn scan_what_asks(&mut self, app: &App, snapshot: &Snapshot, progress: &mut impl Write) {
        let Some(budget) = self.options.scan else { return };
        for shard in &snapshot.scans_wanted {
            if self.scans.contains_key(shard) {
                continue;
            }
            if let Some(handle) = app.scan(shard, budget) {
                let share = quantity::show(budget.core_share, Unit::Ratio);
                let _ = writeln!(
                    progress,
                    "scanning {shard} for big keys: reads only, at most {share} of a core (--no-scan forbids it)"
                );
                self.progress.started(shard);
                self.scans.insert(shard.clone(), handle);
            }
        }
    }

    fn tell_scans(&mut self, snapshot: &Snapshot, progress: &mut impl Write) {
        for (_, scan) in &snapshot.scans {
            if self.scans.contains_key(&scan.shard)
                && let Some(line) = self.progress.line(scan)
            {
                let _ = writeln!(progress, "{line}");
            }
        }
    }

    fn is_over(&mut self, snapshot: &Snapshot, progress: &mut impl Write) -> bool {
        if nobody_lets_us_in(snapshot) {
            return true;
        }
        let now = Instant::now() + SLACK;
        if now < self.end {
            return false;
        }
        if self.waits_for_rules.is_none() {
            let grace = settles_within(snapshot).min(STIRRING_GRACE);
            if !grace.is_zero() {
                let seconds = grace.as_secs_f64().ceil();
                let _ =
                    writeln!(progress, "something is about to be found: waiting up to {seconds} s for it");
            }
            self.waits_for_rules = Some(self.end + grace);
        }
        if self.waits_for_rules.is_some_and(|until| now < until) && !settles_within(snapshot).is_zero() {
            return false;
        }
        let concerns = |shard: &Subject| {
            self.convicted.as_ref().is_some_and(|guilty| guilty.contains(shard) || shard.contains(guilty))
        };
        if self.searches.are_waited_for(concerns, now - self.end, progress) {
            return false;
        }
        let unfinished =
            self.scans.iter().find(|(shard, _)| concerns(shard) && !self.progress.is_end_told(shard));
        let Some((shard, scan)) = unfinished else { return true };
        if scan.task.is_finished() && self.waits_for_scan {
            return true;
        }
        if now >= self.end + SCAN_GRACE {
            let _ = writeln!(
                progress,
                "the scan of {shard} is not done: 'headwater keys big --shard {shard}' goes on to its end"
            );
            return true;
        }
        if !self.waits_for_scan {
            self.waits_for_scan = true;
            let _ = writeln!(
                progress,
                "the scan of {shard} goes on: waiting up to {} s for it",
                SCAN_GRACE.as_secs()
            );
        }
        false
    }

    fn cancel_scans(&self) {
        for scan in self.scans.values() {
            scan.cancel.cancel();
        }
    }
}

/// How long rules that name a mechanism and are past their limits need to be sure, while callers suffer: each looks at so
/// many observations, which come as often as its subject is told of. Zero where none is.
fn settles_within(snapshot: &Snapshot) -> Duration {
    if !snapshot.callers_suffer() {
        return Duration::ZERO;
    }
    let needs = |state: &RuleState| {
        let rule = by_id(state.rule).filter(|rule| rule.nature == Nature::Mechanism)?;
        let every = snapshot.rhythms.of(&state.subject).unwrap_or(snapshot.settings.interval);
        Some(every * rule.hold)
    };
    snapshot.rules.iter().filter(|state| state.state == "pending").filter_map(needs).max().unwrap_or_default()
}

/// Whether every target has refused the credentials: they are tried again seldom or never, so there is nothing to
/// wait for.
fn nobody_lets_us_in(snapshot: &Snapshot) -> bool {
    let mut targets =
        snapshot.sources.iter().filter(|source| source.source.kind() != Kind::Observer).peekable();
    let is_refused = |fault: &Option<(Moment, headwater_engine::reading::Fault)>| {
        fault.as_ref().is_some_and(|(_, fault)| fault.kind == FaultKind::Auth)
    };
    snapshot.report.conclusion == Conclusion::NoTarget
        && targets.peek().is_some()
        && targets.all(|source| source.last_data.is_none() && is_refused(&source.fault))
}
