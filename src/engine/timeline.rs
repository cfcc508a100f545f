//! What was said at earlier moments: a bounded ring of small frames.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::graph::Graph;
use crate::reading::Topology;
use crate::report::{Conclusion, Report};
use crate::settings::DEFAULT_STORE_BUDGET;
use crate::signal::Beside;
use crate::snapshot::{RuleState, SourceState};
use crate::store::BESIDE_HISTORY;
use crate::subject::Subject;
use crate::time::Moment;

/// Every frame of this last span is kept; of older ones, one every [`THINNED_TO`] and each at which the conclusion
/// changed.
const KEPT_WHOLE: Duration = Duration::from_secs(120);
const THINNED_TO: Duration = Duration::from_secs(10);

/// About how many bytes all frames may take: a part of the memory for history, within these bounds.
const LEAST_BYTES: usize = 512 * 1024;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What was said at one moment.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The moment of the evaluation.
    pub at: Moment,
    /// The triage.
    pub report: Arc<Report>,
    /// Every rule's state.
    pub rules: Arc<[RuleState]>,
    /// Every source's state.
    pub sources: Arc<[SourceState]>,
    /// Who called whom.
    pub graph: Arc<Graph>,
    /// Whether the graph is another than that of the frame before.
    pub has_new_graph: bool,
    /// The Redis deployments.
    pub topologies: Arc<[Topology]>,
    /// Shards on which a big-key scan would have told more.
    pub scans_wanted: Arc<[Subject]>,
    /// Shards on which a search for hot keys would have told more.
    pub searches_wanted: Arc<[Subject]>,
    /// What is known of each signal beside its number.
    pub(crate) beside_signals: Arc<[Beside]>,
}

impl Frame {
    /// About how many bytes it takes: rows and their texts.
    fn bytes(&self) -> usize {
        let report = &self.report;
        let rows = report.verdicts.len()
            + report.exonerated.len()
            + report.unknown.len()
            + 8 * report.suspects.len()
            + self.sources.len();
        let details: usize = self.rules.iter().map(|rule| rule.detail.len()).sum();
        let graph = if self.has_new_graph { self.graph.bytes() } else { 0 };
        rows * 160 + details + size_of_val(&*self.rules) + graph
    }
}

/// Frames in the order of their moments.
#[derive(Clone, Debug)]
pub struct Timeline {
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
    most_bytes: usize,
}

impl Default for Timeline {
    /// An empty timeline beside the usual history.
    fn default() -> Self {
        Self::beside(DEFAULT_STORE_BUDGET)
    }
}

impl Timeline {
    /// An empty timeline beside a history of so many bytes.
    pub(crate) fn beside(history_bytes: usize) -> Self {
        let most_bytes = (history_bytes / BESIDE_HISTORY).clamp(LEAST_BYTES, MOST_BYTES);
        Self { frames: VecDeque::new(), bytes: 0, most_bytes }
    }

    /// The frame that stood at a moment: the newest that is not later. `None` before the first that is kept.
    pub fn at(&self, moment: Moment) -> Option<&Frame> {
        let after = self.frames.partition_point(|frame| frame.at <= moment);
        self.frames.get(after.checked_sub(1)?).map(Arc::as_ref)
    }

    /// The frame before the one that stood at a moment.
    pub fn before(&self, moment: Moment) -> Option<&Frame> {
        let reached = self.frames.partition_point(|frame| frame.at < moment);
        self.frames.get(reached.checked_sub(1)?).map(Arc::as_ref)
    }

    /// The first frame after a moment.
    pub fn after(&self, moment: Moment) -> Option<&Frame> {
        let reached = self.frames.partition_point(|frame| frame.at <= moment);
        self.frames.get(reached).map(Arc::as_ref)
    }

    /// The oldest frame that is kept.
    pub fn first(&self) -> Option<&Frame> {
        self.frames.front().map(Arc::as_ref)
    }

    /// All frames, oldest first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &Frame> + '_ {
        self.frames.iter().map(Arc::as_ref)
    }

    /// Appends the newest frame, thins what has grown old and lets go of the oldest above the budget. A frame that is
    /// not newer than the last, after a clock was set back, begins the timeline anew.
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.frames.back().is_some_and(|last| last.at >= frame.at) {
            (self.frames, self.bytes) = (VecDeque::new(), 0);
        }
        self.bytes += frame.bytes();
        self.frames.push_back(Arc::new(frame));
        self.thin();
        while self.bytes > self.most_bytes && self.frames.len() > 1 {
            if let Some(gone) = self.frames.pop_front() {
                self.bytes -= gone.bytes();
            }
        }
    }

    /// Drops the frame that has just grown old, unless it begins a span of its own or something changed at it.
    fn thin(&mut self) {
        let Some(newest) = self.frames.back().map(|frame| frame.at) else { return };
        let old = self.frames.partition_point(|frame| newest.since(frame.at) > KEPT_WHOLE);
        let Some(place) = old.checked_sub(1).filter(|place| *place > 0) else { return };
        let (before, here) = (&self.frames[place - 1], &self.frames[place]);
        let said = |frame: &Frame| -> (Conclusion, Option<String>) {
            let first = frame.report.suspects.first();
            (frame.report.conclusion, first.map(|first| first.subject.as_str().to_owned()))
        };
        if here.at.since(before.at) < THINNED_TO
            && said(here) == said(before)
            && let Some(gone) = self.frames.remove(place)
        {
            self.bytes -= gone.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::reading::Input;
    use crate::settings::{Baselines, Settings};

    /// The timeline of an engine that was told nothing for so many seconds.
    fn after(seconds: i64) -> Timeline {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..seconds {
            engine.take(&Input::Tick(Moment(second * 1_000)));
        }
        engine.snapshot().unwrap().timeline.clone()
    }

    #[test]
    fn recent_frames_are_all_kept_and_older_ones_thinned() {
        let timeline = after(600);
        let of_age = |from: i64, to: i64| {
            timeline.frames().filter(|frame| (from..to).contains(&(599 - frame.at.0 / 1_000))).count()
        };
        assert_eq!(of_age(0, 100), 100);
        let older = of_age(200, 500);
        assert!((28..=32).contains(&older), "{older} frames in 300 s that are old");
    }

    #[test]
    fn a_moment_finds_the_frame_that_stood_then() {
        let timeline = after(10);
        assert_eq!(timeline.at(Moment(4_700)).unwrap().at, Moment(4_000));
        assert_eq!(timeline.before(Moment(4_000)).unwrap().at, Moment(3_000));
        assert_eq!(timeline.after(Moment(4_000)).unwrap().at, Moment(5_000));
        assert!(timeline.at(Moment(-1)).is_none());
        assert!(timeline.after(Moment(9_000)).is_none());
    }

    #[test]
    fn going_back_shows_what_was_said_then_and_says_so() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..10 {
            engine.take(&Input::Tick(Moment(second * 1_000)));
        }
        let now = engine.snapshot().unwrap();
        let then = now.back_to(Moment(3_500)).unwrap();
        assert_eq!((then.at, then.gone_back_from), (Moment(3_000), Some(Moment(9_000))));
        assert_eq!(then.report.at, Moment(3_000));
        assert_eq!(then.back_to(Moment(1_000)).unwrap().gone_back_from, Some(Moment(9_000)));
        assert!(now.back_to(Moment(-1)).is_none());
    }
}
