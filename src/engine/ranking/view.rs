//! The series of a question, sorted to whom they belong.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Calls, Owner};
use super::nature::{Meaning, Side};
use super::robust::{Deviation, Emphasis, FAILURE_FLOOR, Floor, deviation, finite};
use super::{Point, Question, Series};
use crate::metric::Unit;

/// Every series with its owner, and how much each moment counts.
#[derive(Debug)]
pub(super) struct View<'a> {
    whole: Vec<Vec<Seen<'a>>>,
    parts: Vec<Vec<Seen<'a>>>,
    edges: BTreeMap<(usize, usize), Vec<Seen<'a>>>,
    mean_requests: Vec<Option<f64>>,
    shares: Vec<Vec<f64>>,
    /// The symptom's own series, where it is there.
    pub(super) symptom: Option<Seen<'a>>,
    /// How much each moment of the window counts.
    pub(super) emphasis: Emphasis,
    /// Subjects out of the symptom's reach.
    pub(super) beyond: usize,
}

/// A series, and how far it is from its baseline. Traffic and what follows it is judged for each request only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) series: &'a Series<'a>,
    pub(super) shift: Option<Deviation>,
}

impl Seen<'_> {
    pub(super) fn means(&self, meanings: &[Meaning]) -> bool {
        meanings.contains(&self.series.nature.meaning)
    }
}

impl<'a> View<'a> {
    /// Sorts the series of a question.
    pub(super) fn of(question: &Question<'a>, calls: &Calls<'_>) -> Self {
        let mut view = Self {
            whole: vec![vec![]; calls.len()],
            parts: vec![vec![]; calls.len()],
            edges: BTreeMap::new(),
            mean_requests: vec![],
            shares: vec![],
            symptom: None,
            emphasis: Emphasis::default(),
            beyond: 0,
        };
        let mut beyond = BTreeSet::new();
        let mut last: Option<(&str, Option<Owner>)> = None;
        for series in question.series {
            // Series of one subject usually follow each other.
            let owner = match last {
                Some((subject, owner)) if subject == series.subject => owner,
                _ => calls.owner(series.subject),
            };
            last = Some((series.subject, owner));
            let seen = Seen { series, shift: None };
            match owner {
                Some(Owner::Whole(place)) => view.whole[place].push(seen),
                Some(Owner::Part(place)) => view.parts[place].push(seen),
                Some(Owner::Edge(caller, callee)) => {
                    view.edges.entry((caller, callee)).or_default().push(seen)
                }
                None => {
                    beyond.insert(series.subject);
                }
            }
        }
        view.beyond = beyond.len();
        let is_symptom = |seen: &&Seen<'a>| seen.series.metric == question.symptom.metric;
        if let Some(Seen { series, .. }) = view.whole[0].iter().find(is_symptom) {
            view.emphasis =
                Emphasis::of(series.baseline, series.window, series.nature.worse, floor_of(series));
        }
        for seen in view.whole.iter_mut().chain(&mut view.parts).chain(view.edges.values_mut()) {
            for seen in seen.iter_mut().filter(|seen| !seen.means(&[Meaning::Requests, Meaning::Activity])) {
                let Series { baseline, window, nature, .. } = seen.series;
                seen.shift = deviation(baseline, window, &view.emphasis, nature.worse, floor_of(seen.series));
            }
            let name = |seen: &Seen<'a>| (seen.series.metric, seen.series.subject);
            seen.sort_by(|one, other| name(one).cmp(&name(other)));
        }
        view.symptom = view.whole[0].iter().find(is_symptom).copied();
        view.mean_requests = (0..calls.len()).map(|place| mean(view.requests(place)?.window)).collect();
        view.shares = (0..calls.len()).map(|place| view.shares_of_callers(place, calls)).collect();
        view
    }

    /// The series of a candidate itself, by metric.
    pub(super) fn whole(&self, place: usize) -> impl Iterator<Item = Seen<'a>> + '_ {
        self.whole[place].iter().copied()
    }

    /// The series of a candidate and of its parts.
    pub(super) fn all(&self, place: usize) -> impl Iterator<Item = Seen<'a>> + '_ {
        self.whole[place].iter().chain(&self.parts[place]).copied()
    }

    /// Those of them with one of these meanings.
    pub(super) fn with<'v>(
        &'v self,
        place: usize,
        meanings: &'v [Meaning],
    ) -> impl Iterator<Item = Seen<'a>> + 'v {
        self.all(place).filter(move |seen| seen.means(meanings))
    }

    /// The latencies of a call, as one of its sides sees them.
    pub(super) fn latencies_of_call(
        &self,
        call: (usize, usize),
        side: Side,
    ) -> impl Iterator<Item = Seen<'a>> + '_ {
        self.edges
            .get(&call)
            .into_iter()
            .flatten()
            .copied()
            .filter(move |seen| seen.means(&[Meaning::Latency]) && seen.series.nature.side == Some(side))
    }

    /// Whether any number tells of a candidate, be it of a call from or to it.
    pub(super) fn tells_of(&self, place: usize) -> bool {
        let is_comparable = |seen: &Seen<'_>| {
            finite(seen.series.baseline).next().is_some() && finite(seen.series.window).next().is_some()
        };
        let is_end = |(caller, callee): &(usize, usize)| *caller == place || *callee == place;
        let mut of_calls = self.edges.iter().filter(|(ends, _)| is_end(ends)).flat_map(|(_, series)| series);
        self.all(place).any(|seen| is_comparable(&seen)) || of_calls.any(is_comparable)
    }

    /// How much a candidate is asked.
    pub(super) fn requests(&self, place: usize) -> Option<&'a Series<'a>> {
        self.whole(place).find(|seen| seen.means(&[Meaning::Requests])).map(|seen| seen.series)
    }

    /// How much a candidate is asked in the window, on average.
    pub(super) fn mean_requests(&self, place: usize) -> Option<f64> {
        self.mean_requests[place]
    }

    /// The share of a callee's requests that come from one caller.
    pub(super) fn share_of_caller(&self, caller: usize, callee: usize, calls: &Calls<'_>) -> f64 {
        let place = calls.callers[callee].iter().position(|from| *from == caller);
        place.map_or(0.0, |place| self.shares[callee][place])
    }

    /// The shares of a callee's callers: by the requests of the calls where they are measured for every caller, else by
    /// the callers' own, else even ones.
    fn shares_of_callers(&self, callee: usize, calls: &Calls<'_>) -> Vec<f64> {
        let callers = &calls.callers[callee];
        let measured = |from: &usize| {
            let seen = self.edges.get(&(*from, callee))?;
            mean(seen.iter().find(|seen| seen.means(&[Meaning::Requests]))?.series.window)
        };
        let by_call: Option<Vec<f64>> = callers.iter().map(measured).collect();
        let by_caller = || callers.iter().map(|from| self.mean_requests[*from].unwrap_or(0.0)).collect();
        let weights: Vec<f64> = by_call.unwrap_or_else(by_caller);
        let total = weights.iter().sum::<f64>();
        let even = 1.0 / callers.len().max(1) as f64;
        weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { even }).collect()
    }
}

/// What everything is in a share of success or failure: 1 or 100; `None` of a metric that is no such share. Where the
/// name does not say it, all values do, those of the incident too: 0.3 may be percent, 12 after it tells.
pub(super) fn whole_of(series: &Series<'_>) -> Option<f64> {
    let nature = series.nature;
    if !nature.is_share || !matches!(nature.meaning, Meaning::Success | Meaning::Failures) {
        return None;
    }
    if nature.unit == Some(Unit::Ratio) {
        return Some(1.0 / nature.factor);
    }
    let is_percent = finite(series.baseline).chain(finite(series.window)).any(|point| point.value > 1.5);
    Some(if is_percent { 100.0 } else { 1.0 })
}

/// The scale floor of a series: a share of what is usual, and for shares of success or failure a fixed one, because a
/// tenth of 100 % would hide a fifth of all requests failing.
fn floor_of(series: &Series<'_>) -> Floor {
    whole_of(series).map_or(Floor::RELATIVE, |whole| Floor::absolute(FAILURE_FLOOR * whole))
}

fn mean(points: &[Point]) -> Option<f64> {
    let (sum, count) =
        finite(points).fold((0.0, 0_u32), |(sum, count), point| (sum + point.value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
