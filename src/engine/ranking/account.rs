//! The account of what the symptom lost: time and failures add up along calls, so they can be charged.
//!
//! What a component loses is `(mean now - mean usually) * requests`. Its callers wait for its losses, so from each
//! caller's loss that of its callees is taken away; what is left is its own. The parts of all candidates together are
//! the loss of the symptom, and a candidate's share of it says how much of the symptom it explains. A thin stream of
//! slow requests loses little, however slow they are.

use super::calls::Calls;
use super::nature::Meaning;
use super::robust::{
    Deviation, FAILURE_FLOOR, Floor, Near, SCALE_FLOOR, deviation, finite, thinned, thinning, tolerance,
};
use super::view::{Seen, View, whole_of};
use super::{Point, Series, Worse};

/// What is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Time that requests took longer than usual.
    Time,
    /// Requests that failed.
    Requests,
}

/// What a candidate lost beyond what its dependencies explain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own<'a> {
    /// The series from which it was reckoned.
    pub(super) series: &'a Series<'a>,
    /// That series against its baseline.
    pub(super) shift: Deviation,
    /// The own loss against its baseline.
    pub(super) deviation: Deviation,
    /// The mean own loss at a step, above the usual one.
    pub(super) lost: f64,
}

/// One account: of those candidates whose numbers are alike.
#[derive(Debug)]
pub(super) struct Account<'a> {
    /// By candidate.
    pub(super) own: Vec<Option<Own<'a>>>,
    /// What the symptom's subject lost, its dependencies included.
    pub(super) symptom_lost: Option<f64>,
}

/// A candidate's loss over time.
struct Ledger<'a> {
    seen: Seen<'a>,
    shift: Deviation,
    baseline: Vec<Point>,
    window: Vec<Point>,
    tolerance: f64,
    /// The usual mean, as a loss of one request.
    usual: f64,
}

impl<'a> Account<'a> {
    /// Reckons the account. Only what is measured alike adds up: candidates whose metrics have the names that most of
    /// them have.
    pub(super) fn of(loss: Loss, calls: &Calls<'_>, view: &View<'a>) -> Self {
        let wanted = most_common(
            (0..calls.len()).filter_map(|place| measure(loss, view, place)).map(|seen| seen.series),
        );
        let requests = most_common((0..calls.len()).filter_map(|place| view.requests(place)));
        let ledgers: Vec<Option<Ledger<'a>>> = (0..calls.len())
            .map(|place| {
                let seen = measure(loss, view, place).filter(|seen| Some(seen.series.metric) == wanted)?;
                let asked = view.requests(place).filter(|series| Some(series.metric) == requests)?;
                Ledger::of(loss, seen, asked)
            })
            .collect();
        let own = (0..calls.len()).map(|place| own(loss, place, &ledgers, calls, view)).collect();
        let symptom_lost = ledgers
            .first()
            .and_then(Option::as_ref)
            .and_then(|ledger| view.emphasis.mean(&ledger.window))
            .filter(|lost| *lost > 0.0);
        Self { own, symptom_lost }
    }
}

/// The series of a candidate from which its loss can be reckoned.
fn measure<'a>(loss: Loss, view: &View<'a>, place: usize) -> Option<Seen<'a>> {
    view.whole(place).find(|seen| match loss {
        Loss::Time => seen.means(&[Meaning::Latency]) && seen.series.nature.is_mean,
        Loss::Requests => seen.means(&[Meaning::Success, Meaning::Failures]) && seen.series.nature.is_share,
    })
}

/// The metric that most series have; of equally common ones the first by name.
fn most_common<'a>(series: impl Iterator<Item = &'a Series<'a>>) -> Option<&'a str> {
    let mut names: Vec<&str> = series.map(|series| series.metric).collect();
    names.sort_unstable();
    names.chunk_by(|one, other| one == other).rev().max_by_key(|same| same.len()).map(|same| same[0])
}

impl<'a> Ledger<'a> {
    fn of(loss: Loss, seen: Seen<'a>, requests: &Series<'_>) -> Option<Self> {
        let series = seen.series;
        let shift = seen.shift?;
        let whole = whole_of(series).unwrap_or(1.0);
        let cost = |value: f64| match (loss, series.nature.meaning) {
            (Loss::Time, _) => value,
            (Loss::Requests, Meaning::Success) => 1.0 - value / whole,
            (Loss::Requests, _) => value / whole,
        };
        let usual = cost(shift.typical);
        let tolerance = tolerance(series.baseline, series.window);
        let lost = |points: Vec<Point>, requests: &[Point]| -> Vec<Point> {
            let mut near = Near::new(requests, tolerance);
            let losses = points.into_iter().filter_map(|point| {
                Some(Point { at: point.at, value: (cost(point.value) - usual) * near.at(point.at)? })
            });
            losses.collect()
        };
        let baseline = lost(thinned(series.baseline), requests.baseline);
        let window = lost(finite(series.window).collect(), requests.window);
        (!baseline.is_empty() && !window.is_empty()).then_some(Self {
            seen,
            shift,
            baseline,
            window,
            tolerance,
            usual,
        })
    }

    /// How far apart two points of thinned baselines may be to count as of one moment.
    fn tolerance_of_baseline(&self) -> f64 {
        self.tolerance * thinning(self.seen.series.baseline) as f64
    }
}

fn own<'a>(
    loss: Loss,
    place: usize,
    ledgers: &[Option<Ledger<'a>>],
    calls: &Calls<'_>,
    view: &View<'a>,
) -> Option<Own<'a>> {
    let ledger = ledgers[place].as_ref()?;
    let mut baseline = ledger.baseline.clone();
    let mut window = ledger.window.clone();
    let charge = |points: &mut [Point], of_callee: &[Point], tolerance: f64, share: f64| {
        let mut near = Near::new(of_callee, tolerance);
        for point in points {
            point.value -= near.at(point.at).unwrap_or(0.0).max(0.0) * share;
        }
    };
    for callee in &calls.callees[place] {
        let Some(below) = ledgers[*callee].as_ref() else { continue };
        let share = view.share_of_caller(place, *callee, calls);
        charge(&mut baseline, &below.baseline, below.tolerance_of_baseline(), share);
        charge(&mut window, &below.window, below.tolerance, share);
    }
    let requests = view.mean_requests(place)?;
    let floor = match loss {
        Loss::Time => SCALE_FLOOR * ledger.usual.abs() * requests,
        Loss::Requests => FAILURE_FLOOR * requests,
    };
    let deviation = deviation(&baseline, &window, &view.emphasis, Worse::Up, Floor::absolute(floor))?;
    Some(Own {
        series: ledger.seen.series,
        shift: ledger.shift,
        deviation,
        lost: (view.emphasis.mean(&window)? - deviation.typical).max(0.0),
    })
}
