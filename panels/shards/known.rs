//! What rows of shards and nodes are read from: the numbers, verdicts and sources of one moment.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::freshness::Rhythms;
use headwater_engine::report::{Report, SubjectVerdict, Verdict};
use headwater_engine::snapshot::SourceState;
use headwater_engine::store::History;
use headwater_engine::{Moment, Settings, Snapshot, Subject};

use super::line::NUMBERS;
use crate::data_state::DataState;

/// A whole screen of numbers changes no more often than this: who reads them needs a moment, and each change is sent to
/// the terminal.
const NUMBERS_EVERY: Duration = Duration::from_secs(2);

/// Who has just begun to look sees every number as it comes.
const FIRST_LOOKS: Duration = Duration::from_secs(30);

/// What rows are read from; they look up what they are asked for, because most of a thousand are never in sight.
#[derive(Debug)]
pub(super) struct Known {
    /// The moment of the numbers.
    pub(super) shown_at: Moment,
    /// Every number over time.
    pub(super) history: History,
    /// Where the last node had each number among its series.
    pub(super) places: [Cell<usize>; NUMBERS],
    now: Moment,
    settings: Arc<Settings>,
    rhythms: Rhythms,
    sources: Arc<[SourceState]>,
    /// Where the last source was found: the next one that is asked for mostly follows it.
    last_source: Cell<usize>,
    report: Arc<Report>,
    /// The places of verdicts in the report.
    verdicts: OnceCell<HashMap<Subject, usize>>,
}

impl Known {
    /// What is known in a snapshot, with the numbers of a moment.
    pub(super) fn new(snapshot: &Snapshot, shown_at: Moment) -> Self {
        Self {
            shown_at,
            history: snapshot.history.clone(),
            places: Default::default(),
            now: snapshot.at,
            settings: Arc::clone(&snapshot.settings),
            rhythms: snapshot.rhythms.clone(),
            sources: Arc::clone(&snapshot.sources),
            last_source: Cell::new(0),
            report: Arc::clone(&snapshot.report),
            verdicts: OnceCell::new(),
        }
    }

    /// The verdict on a subject; `None` when nobody judged it.
    pub(super) fn verdict(&self, subject: &Subject) -> Option<&SubjectVerdict> {
        let rows = &self.report.verdicts;
        let places = || rows.iter().enumerate().map(|(place, row)| (row.subject.clone(), place)).collect();
        rows.get(*self.verdicts.get_or_init(places).get(subject)?)
    }

    /// Who is accused, the worst first.
    pub(super) fn accused(&self) -> impl Iterator<Item = &Subject> {
        let rows = self.report.verdicts.iter();
        rows.take_while(|row| row.verdict <= Verdict::Suspect).map(|row| &row.subject)
    }

    /// How the data of a node stands.
    pub(super) fn data(&self, node: &Subject) -> DataState {
        DataState::at(self.source(node), self.now, &self.settings)
    }

    /// The moment from which numbers of a node are what is going on now; what was seen before it failed is not, be it
    /// ever so young.
    pub(super) fn present_from(&self, node: &Subject) -> Moment {
        let fresh = self.now - self.rhythms.stale_after(&self.settings, node);
        let failed = self.source(node).and_then(|state| Some(state.fault.as_ref()?.0));
        failed.map_or(fresh, |since| fresh.max(since + Duration::from_millis(1)))
    }

    fn source(&self, node: &Subject) -> Option<&SourceState> {
        // Sources stand in the order of their names and shards in that of their numbers, which is mostly the same.
        let next = self.last_source.get() + 1;
        let is_it = |place: &usize| self.sources.get(*place).is_some_and(|state| state.source == *node);
        let near = (next..next + 2).find(is_it);
        let place = near.or_else(|| self.sources.binary_search_by(|state| state.source.cmp(node)).ok())?;
        self.last_source.set(place);
        self.sources.get(place)
    }
}

/// How often the numbers of a list change; `None` where they change with every evaluation: at the first looks, in the
/// past, where one wants those of the very moment, and where targets are asked less often anyway.
pub(super) fn numbers_every(snapshot: &Snapshot) -> Option<Duration> {
    let is_present = snapshot.gone_back_from.is_none();
    let is_known_for_long = snapshot.at.since(snapshot.began) > FIRST_LOOKS;
    let is_often = snapshot.settings.interval * 2 <= NUMBERS_EVERY;
    (is_present && is_known_for_long && is_often).then_some(NUMBERS_EVERY)
}

/// The moment whose numbers a list shows: that of the newest evaluation, or of one shortly before.
pub(super) fn moment_of_list(snapshot: &Snapshot) -> Moment {
    let Some(every) = numbers_every(snapshot) else { return snapshot.at };
    let interval = snapshot.settings.interval.as_millis().max(1);
    let evaluations = u128::from(snapshot.at.0.max(0).unsigned_abs()) / interval;
    let since_change = evaluations % (every.as_millis() / interval);
    snapshot.at - snapshot.settings.interval * u32::try_from(since_change).unwrap_or(0)
}
