//! The series of a question, sorted to whom they belong.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Calls, Owner};
use super::nature::{Meaning, Side};
use super::robust::{Deviation, Emphasis, FAILURE_FLOOR, Floor, deviation, finite};
use super::{Point, Question, Series};

/// Every series with its owner, and how much each moment counts.
#[derive(Debug)]
pub(super) struct View<'a> {
    whole: Vec<Vec<&'a Series<'a>>>,
    parts: Vec<Vec<&'a Series<'a>>>,
    edges: BTreeMap<(usize, usize), Vec<&'a Series<'a>>>,
    mean_requests: Vec<Option<f64>>,
    /// The symptom's own series, where it is there.
    pub(super) symptom: Option<&'a Series<'a>>,
    /// How much each moment of the window counts.
    pub(super) emphasis: Emphasis,
    /// Subjects out of the symptom's reach.
    pub(super) beyond: usize,
}

impl<'a> View<'a> {
    /// Sorts the series of a question.
    pub(super) fn of(question: &Question<'a>, calls: &Calls<'_>) -> Self {
        let mut view = Self {
            whole: vec![vec![]; calls.len()],
            parts: vec![vec![]; calls.len()],
            edges: BTreeMap::new(),
            mean_requests: vec![],
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
            match owner {
                Some(Owner::Whole(place)) => view.whole[place].push(series),
                Some(Owner::Part(place)) => view.parts[place].push(series),
                Some(Owner::Edge(caller, callee)) => {
                    view.edges.entry((caller, callee)).or_default().push(series)
                }
                None => {
                    beyond.insert(series.subject);
                }
            }
        }
        view.beyond = beyond.len();
        for series in view.whole.iter_mut().chain(&mut view.parts).chain(view.edges.values_mut()) {
            series.sort_by(|one, other| (one.metric, one.subject).cmp(&(other.metric, other.subject)));
        }
        view.symptom = view.whole[0].iter().copied().find(|series| series.metric == question.symptom.metric);
        if let Some(symptom) = view.symptom {
            view.emphasis =
                Emphasis::of(symptom.baseline, symptom.window, symptom.nature.worse, floor_of(symptom));
        }
        view.mean_requests = (0..calls.len()).map(|place| mean(view.requests(place)?.window)).collect();
        view
    }

    /// The series of a candidate itself, by metric.
    pub(super) fn whole(&self, place: usize) -> impl Iterator<Item = &'a Series<'a>> + '_ {
        self.whole[place].iter().copied()
    }

    /// The series of a candidate and of its parts.
    pub(super) fn all(&self, place: usize) -> impl Iterator<Item = &'a Series<'a>> + '_ {
        self.whole[place].iter().chain(&self.parts[place]).copied()
    }

    /// The latencies of a call, as one of its sides sees them.
    pub(super) fn latencies_of_call(
        &self,
        call: (usize, usize),
        side: Side,
    ) -> impl Iterator<Item = &'a Series<'a>> + '_ {
        self.edges.get(&call).into_iter().flatten().copied().filter(move |series| {
            series.nature.meaning == Meaning::Latency && series.nature.side == Some(side)
        })
    }

    /// Whether any number tells of a candidate, be it of a call from or to it.
    pub(super) fn tells_of(&self, place: usize) -> bool {
        let is_comparable = |series: &&Series<'_>| {
            finite(series.baseline).next().is_some() && finite(series.window).next().is_some()
        };
        let is_end = |(caller, callee): &(usize, usize)| *caller == place || *callee == place;
        let mut of_calls = self.edges.iter().filter(|(ends, _)| is_end(ends)).flat_map(|(_, series)| series);
        self.all(place).any(|series| is_comparable(&series)) || of_calls.any(is_comparable)
    }

    /// How much a candidate is asked.
    pub(super) fn requests(&self, place: usize) -> Option<&'a Series<'a>> {
        self.whole(place).find(|series| series.nature.meaning == Meaning::Requests)
    }

    /// How much a candidate is asked in the window, on average.
    pub(super) fn mean_requests(&self, place: usize) -> Option<f64> {
        self.mean_requests[place]
    }

    /// The share of a callee's requests that come from one caller: by the requests of the call where they are
    /// measured for every caller, else by the callers' own, else an even one.
    pub(super) fn share_of_caller(&self, caller: usize, callee: usize, calls: &Calls<'_>) -> f64 {
        let callers = &calls.callers[callee];
        let measured = |from: usize| {
            let series = self.edges.get(&(from, callee))?;
            mean(series.iter().find(|series| series.nature.meaning == Meaning::Requests)?.window)
        };
        let by_call: Option<Vec<f64>> = callers.iter().map(|from| measured(*from)).collect();
        let by_caller = || callers.iter().map(|from| self.mean_requests[*from].unwrap_or(0.0)).collect();
        let weights: Vec<f64> = by_call.unwrap_or_else(by_caller);
        let (total, place) = (weights.iter().sum::<f64>(), callers.iter().position(|from| *from == caller));
        match place {
            Some(place) if total > 0.0 => weights[place] / total,
            _ => 1.0 / callers.len().max(1) as f64,
        }
    }

    /// A series against its baseline.
    pub(super) fn shift(&self, series: &Series<'_>) -> Option<Deviation> {
        deviation(series.baseline, series.window, &self.emphasis, series.nature.worse, floor_of(series))
    }
}

/// The scale floor of a series: a share of what is usual, and for shares of success or failure a fixed one, because a
/// tenth of 100 % would hide a fifth of all requests failing.
pub(super) fn floor_of(series: &Series<'_>) -> Floor {
    if series.nature.is_share && matches!(series.nature.meaning, Meaning::Success | Meaning::Failures) {
        let whole = if finite(series.baseline).any(|point| point.value > 1.5) { 100.0 } else { 1.0 };
        return Floor::absolute(FAILURE_FLOOR * whole);
    }
    Floor::RELATIVE
}

fn mean(points: &[Point]) -> Option<f64> {
    let (sum, count) =
        finite(points).fold((0.0, 0_u32), |(sum, count), point| (sum + point.value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
