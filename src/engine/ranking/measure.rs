//! Numbers from series: the strongest of some, gaps between two sides of a call, quotients by requests.

use super::calls::Calls;
use super::nature::{Meaning, Side};
use super::robust::{Deviation, Floor, Near, SCALE_FLOOR, deviation, median, thinned, tolerance};
use super::view::{Seen, View};
use super::{Point, Series, Worse};

/// The series that is worst, in its spreads.
pub(super) fn strongest<'a>(seen: impl Iterator<Item = Seen<'a>>) -> Option<(&'a Series<'a>, Deviation)> {
    first_strongest(seen.filter_map(|seen| Some((seen.series, seen.shift?))))
}

/// The worst of these; of equals the first.
pub(super) fn first_strongest<'a>(
    shifts: impl Iterator<Item = (&'a Series<'a>, Deviation)>,
) -> Option<(&'a Series<'a>, Deviation)> {
    shifts.reduce(|best, next| if next.1.spreads > best.1.spreads { next } else { best })
}

/// The greatest of strengths; 0 of none.
pub(super) fn most(strengths: &[f64]) -> f64 {
    strengths.iter().copied().fold(0.0, f64::max)
}

/// How much slower a candidate answers: the mean over the calls to it, as it sees them itself; else the middle one of
/// its own latencies.
pub(super) fn slower(calls: &Calls<'_>, view: &View<'_>, place: usize) -> f64 {
    let seen: Vec<f64> = calls.callers[place]
        .iter()
        .filter_map(|caller| strongest(view.latencies_of_call((*caller, place), Side::Callee)))
        .map(|(_, shift)| shift.strength())
        .collect();
    if !seen.is_empty() {
        return seen.iter().sum::<f64>() / seen.len() as f64;
    }
    let own = view.whole(place).filter(|seen| seen.means(&[Meaning::Latency]));
    let mut own: Vec<f64> = own.filter_map(|seen| Some(seen.shift?.strength())).collect();
    median(&mut own).unwrap_or_else(|| {
        strongest(view.with(place, &[Meaning::Latency])).map_or(0.0, |(_, shift)| shift.strength())
    })
}

/// How the gap between what a caller waits and what the callee takes has grown.
pub(super) fn gap(view: &View<'_>, call: (usize, usize)) -> Option<Deviation> {
    let caller = view.latencies_of_call(call, Side::Caller).next()?.series;
    let callee = view.latencies_of_call(call, Side::Callee).next()?.series;
    let tolerance = tolerance(caller.baseline, caller.window);
    let difference = |waited: &[Point], took: &[Point]| -> Vec<Point> {
        let mut near = Near::new(took, tolerance);
        let gaps = thinned(waited)
            .into_iter()
            .filter_map(|point| Some(Point { at: point.at, value: point.value - near.at(point.at)? }));
        gaps.collect()
    };
    let mut usual: Vec<f64> = thinned(caller.baseline).iter().map(|point| point.value).collect();
    let floor = Floor { relative: SCALE_FLOOR, absolute: SCALE_FLOOR * median(&mut usual)?.abs() };
    deviation(
        &difference(caller.baseline, callee.baseline),
        &difference(caller.window, callee.window),
        &view.emphasis,
        Worse::Up,
        floor,
    )
}

/// A series for each of the requests that others count.
pub(super) fn quotient(
    view: &View<'_>,
    series: &Series<'_>,
    requests: &[&Series<'_>],
    worse: Worse,
) -> Option<Deviation> {
    let tolerance = tolerance(series.baseline, series.window);
    let divided = |points: &[Point], pick: for<'s, 't> fn(&'s Series<'t>) -> &'s [Point]| -> Vec<Point> {
        let mut near: Vec<Near<'_>> =
            requests.iter().map(|series| Near::new(pick(series), tolerance)).collect();
        let quotients = thinned(points).into_iter().filter_map(|point| {
            let asked = near.iter_mut().map(|near| near.at(point.at)).sum::<Option<f64>>()?;
            (asked > 0.0).then(|| Point { at: point.at, value: point.value / asked })
        });
        quotients.collect()
    };
    deviation(
        &divided(series.baseline, |series| series.baseline),
        &divided(series.window, |series| series.window),
        &view.emphasis,
        worse,
        Floor::RELATIVE,
    )
}

/// How much more a candidate fails. Shares are judged as they are; numbers of failures for each request where the
/// requests are known, and numbers of successes only so: half the traffic succeeds half as often.
pub(super) fn failing<'a>(view: &View<'a>, place: usize) -> Option<Failing<'a>> {
    let requests = view.requests(place);
    let seen = view.with(place, &[Meaning::Success, Meaning::Failures]).filter_map(|seen| {
        let Seen { series, shift } = seen;
        if series.nature.is_share {
            return Some(Failing { series, shift: shift?, is_for_each_request: false });
        }
        match requests {
            Some(requests) => {
                let shift = quotient(view, series, &[requests], series.nature.worse)?;
                Some(Failing { series, shift, is_for_each_request: true })
            }
            None if seen.means(&[Meaning::Failures]) => {
                Some(Failing { series, shift: shift?, is_for_each_request: false })
            }
            None => None,
        }
    });
    seen.reduce(|best, next| if next.shift.spreads > best.shift.spreads { next } else { best })
}

/// A number of failures or successes, against its baseline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing<'a> {
    pub(super) series: &'a Series<'a>,
    pub(super) shift: Deviation,
    /// Whether it was divided by the requests.
    pub(super) is_for_each_request: bool,
}

impl Failing<'_> {
    /// How much it counts.
    pub(super) fn strength(&self) -> f64 {
        self.shift.strength()
    }
}

/// How much less a candidate is called than its callers' traffic asks for.
pub(super) fn silenced<'a>(
    calls: &Calls<'_>,
    view: &View<'a>,
    place: usize,
) -> Option<(&'a Series<'a>, Deviation)> {
    let requests = view.requests(place)?;
    let asked: Option<Vec<&Series<'_>>> =
        calls.callers[place].iter().map(|caller| view.requests(*caller)).collect();
    Some((requests, quotient(view, requests, &asked?, Worse::Down)?))
}

/// What a candidate loses at a step by the middle rise of its percentiles.
pub(super) fn slowness(view: &View<'_>, place: usize) -> Option<f64> {
    let shifts = view.with(place, &[Meaning::Latency]);
    let rises =
        shifts.filter_map(|seen| Some((seen.shift?.seen - seen.shift?.typical) * seen.series.nature.factor));
    Some(median(&mut rises.collect::<Vec<_>>())? * view.mean_requests(place)?)
}
