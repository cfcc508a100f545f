//! How far a window is from its baseline, in spreads of that baseline; robust against a few wild points.

use super::{Point, Worse};

/// The least scale, as a share of the typical value: a series that never moved is not infinitely far when it does.
pub(super) const SCALE_FLOOR: f64 = 0.1;

/// The least scale of a share of failures: a tenth of a per cent.
pub(super) const FAILURE_FLOOR: f64 = 0.001;

/// The scale of a baseline of n points is wider by this over n: two points do not tell how much a series moves.
const FEW_POINTS: f64 = 2.0;

/// Up to this many spreads, a deviation is noise.
pub(super) const NOISE: f64 = 2.0;

/// The strength of a deviation of that many spreads.
const WORTH_OF_NOISE: f64 = 0.01;

/// More spreads than this are as many: a number that never was anything else is no reason for infinity.
const MOST_SPREADS: f64 = 1e6;

/// More points than this tell a quartile no better and cost time: a longer series is thinned evenly.
const ENOUGH_POINTS: usize = 60;

/// How much more a moment of the window can count than another.
const MOST_EMPHASIS: f64 = 100.0;

/// A fall is measured by its factor, as a rise is; below this share of the typical value it is as good as to nothing.
const DEEPEST_FALL: f64 = 0.1;

/// The interquartile range of a normal distribution in its standard deviations.
const IQR_OF_NORMAL: f64 = 1.349;

/// A window against its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deviation {
    /// The median of the baseline.
    pub(super) typical: f64,
    /// The median of the window, each moment with its weight.
    pub(super) seen: f64,
    /// How many spreads it is worse; negative when it is better.
    pub(super) spreads: f64,
}

impl Deviation {
    /// Next to nothing for noise, then the logarithm: 20 spreads say more than 10, but 2000 hardly more than 1000.
    pub(super) fn strength(&self) -> f64 {
        strength(self.spreads)
    }
}

/// Within the noise next to nothing, but not quite: of components that hardly differ, one differs more. Beyond it the
/// logarithm.
pub(super) fn strength(spreads: f64) -> f64 {
    if spreads.is_nan() || spreads <= 0.0 {
        return 0.0;
    }
    let beyond = if spreads > NOISE { ((1.0 + spreads) / (1.0 + NOISE)).ln() } else { 0.0 };
    beyond + WORTH_OF_NOISE * spreads.min(NOISE) / NOISE
}

/// The scale floor of a series: a share of its typical value, and a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    pub(super) relative: f64,
    pub(super) absolute: f64,
}

impl Floor {
    /// The usual one: a share of the typical value.
    pub(super) const RELATIVE: Self = Self { relative: SCALE_FLOOR, absolute: 0.0 };

    /// A value in the unit of the series.
    pub(super) fn absolute(absolute: f64) -> Self {
        Self { relative: 0.0, absolute }
    }
}

/// Compares a window with its baseline; `None` where one of the two has no finite value.
pub(super) fn deviation(
    baseline: &[Point],
    window: &[Point],
    emphasis: &Emphasis,
    worse: Worse,
    floor: Floor,
) -> Option<Deviation> {
    let mut values: Vec<f64> = thinned(baseline).iter().map(|point| point.value).collect();
    let [low, typical, high] = quartiles(&mut values)?;
    let seen = emphasis.median(window)?;
    // The floor is a share of the smaller of the two: a fall to half is then as far as a rise to double.
    let least =
        if seen >= 0.0 && typical > 0.0 { typical.min(seen).max(DEEPEST_FALL * typical) } else { typical };
    let mut scale = ((high - low) / IQR_OF_NORMAL).max(floor.relative * least.abs()).max(floor.absolute);
    if scale <= 0.0 {
        // Always nothing, and now something: there is no scale, so it is taken from what is seen.
        scale = SCALE_FLOOR * seen.abs().max(f64::MIN_POSITIVE);
    }
    scale *= 1.0 + FEW_POINTS / values.len() as f64;
    let change = ((seen - typical) / scale).clamp(-MOST_SPREADS, MOST_SPREADS);
    let spreads = match worse {
        Worse::Up => change,
        Worse::Down => -change,
        Worse::Either => change.abs(),
    };
    Some(Deviation { typical, seen, spreads })
}

/// How much each moment of the window counts: once, and once more for each spread that the symptom is worse then. A
/// window may begin before the fault and end after it; what matters is what differs while the symptom does.
#[derive(Clone, Debug, Default)]
pub(super) struct Emphasis {
    weights: Vec<Point>,
    tolerance: f64,
}

impl Emphasis {
    /// The emphasis by a symptom's own series.
    pub(super) fn of(baseline: &[Point], window: &[Point], worse: Worse, floor: Floor) -> Self {
        let even = Self::default();
        let weights = finite(window).map(|point| {
            let spreads = deviation(baseline, &[point], &even, worse, floor).map_or(0.0, |seen| seen.spreads);
            Point { at: point.at, value: 1.0 + spreads.clamp(0.0, MOST_EMPHASIS) }
        });
        Self { weights: weights.collect(), tolerance: tolerance(baseline, window) }
    }

    /// The weights of these moments.
    fn weights<'a>(&'a self, moments: &'a [Point]) -> impl Iterator<Item = f64> + 'a {
        let mut near = Near::new(&self.weights, self.tolerance);
        moments.iter().map(move |point| near.at(point.at).unwrap_or(1.0))
    }

    /// The weighted median.
    fn median(&self, window: &[Point]) -> Option<f64> {
        let points = thinned(window);
        let mut weighed = Vec::with_capacity(points.len());
        weighed.extend(points.iter().map(|point| point.value).zip(self.weights(&points)));
        weighed.sort_unstable_by(|one: &(f64, f64), other| one.0.total_cmp(&other.0));
        let half = weighed.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let middle = weighed.iter().find(|(_, weight)| {
            sum += weight;
            sum >= half
        });
        middle.or(weighed.last()).map(|(value, _)| *value)
    }

    /// The weighted mean.
    pub(super) fn mean(&self, window: &[Point]) -> Option<f64> {
        let points: Vec<Point> = finite(window).collect();
        let (sum, weights) =
            points.iter().zip(self.weights(&points)).fold((0.0, 0.0), |(sum, weights), (point, weight)| {
                (sum + point.value * weight, weights + weight)
            });
        (weights > 0.0).then(|| sum / weights)
    }
}

/// Walks along a series in time and gives the value nearest to each moment asked for.
#[derive(Debug)]
pub(super) struct Near<'a> {
    points: &'a [Point],
    place: usize,
    tolerance: f64,
}

impl<'a> Near<'a> {
    /// A walk along `points`, which are in order of time, that takes no value further away than `tolerance`.
    pub(super) fn new(points: &'a [Point], tolerance: f64) -> Self {
        Self { points, place: 0, tolerance }
    }

    /// The value nearest to a moment; moments are asked for in order of time.
    pub(super) fn at(&mut self, at: f64) -> Option<f64> {
        while self.points.get(self.place + 1).is_some_and(|next| next.at <= at) {
            self.place += 1;
        }
        let distance = |point: &Point| (point.at - at).abs();
        let before = self.points.get(self.place)?;
        let after = self.points.get(self.place + 1).filter(|after| distance(after) < distance(before));
        let point = after.unwrap_or(before);
        (distance(point) <= self.tolerance && point.value.is_finite()).then_some(point.value)
    }
}

/// How far apart two points may be to count as of one moment: a bit more than half the usual step.
pub(super) fn tolerance(baseline: &[Point], window: &[Point]) -> f64 {
    const FEW: usize = 16;
    let points = if baseline.len() > window.len() { baseline } else { window };
    let mut steps: Vec<f64> =
        points.iter().zip(points.iter().skip(1)).take(FEW).map(|(a, b)| b.at - a.at).collect();
    steps.retain(|step| *step > 0.0);
    0.6 * quartiles(&mut steps).map_or(60.0, |[_, step, _]| step)
}

/// The median of values, which are put in disorder.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    quartiles(values).map(|[_, median, _]| median)
}

/// The finite points.
pub(super) fn finite(points: &[Point]) -> impl Iterator<Item = Point> + '_ {
    points.iter().copied().filter(|point| point.value.is_finite())
}

/// At most so many finite points as a quartile needs, evenly taken.
pub(super) fn thinned(points: &[Point]) -> Vec<Point> {
    let step = thinning(points);
    let mut taken = Vec::with_capacity(points.len().div_ceil(step));
    for chunk in points.chunks(step) {
        taken.extend(chunk.first().filter(|point| point.value.is_finite()));
    }
    taken
}

/// Of how many points one is taken.
pub(super) fn thinning(points: &[Point]) -> usize {
    points.len().div_ceil(ENOUGH_POINTS).max(1)
}

/// Lower quartile, median and upper quartile of finite values, which are put in disorder. Selecting is several times
/// cheaper than sorting, and what is below a quantile need not be looked at again for the next one.
fn quartiles(values: &mut [f64]) -> Option<[f64; 3]> {
    let last = values.len().checked_sub(1)? as f64;
    let mut done = 0;
    let mut quantile = |q: f64| {
        let place = q * last;
        let (low, share) = (place.floor() as usize, place.fract());
        let (_, at, above) = values[done..].select_nth_unstable_by(low - done, f64::total_cmp);
        done = low;
        let next = above.iter().copied().fold(f64::INFINITY, f64::min);
        if share > 0.0 && !above.is_empty() { *at + (next - *at) * share } else { *at }
    };
    Some([quantile(0.25), quantile(0.5), quantile(0.75)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        values.iter().enumerate().map(|(second, value)| Point { at: second as f64, value: *value }).collect()
    }

    fn far(baseline: &[f64], window: &[f64]) -> Option<Deviation> {
        deviation(&points(baseline), &points(window), &Emphasis::default(), Worse::Up, Floor::RELATIVE)
    }

    #[test]
    fn one_wild_point_moves_nothing() {
        let mut baseline = vec![1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.0, 1.0, 1.0];
        let calm = far(&baseline, &[2.0]).unwrap();
        baseline.push(1e9);
        let wild = far(&baseline, &[2.0]).unwrap();
        assert_eq!(calm.typical, wild.typical);
        assert!((calm.spreads - wild.spreads).abs() < 0.5, "{calm:?} {wild:?}");
        assert!(calm.spreads > 8.0, "{calm:?}");
    }

    #[test]
    fn a_flat_series_has_a_scale_and_a_short_one_a_wider_one() {
        let flat = far(&[5.0; 100], &[10.0]).unwrap();
        assert!((flat.spreads - 10.0 / (1.0 + 2.0 / 50.0)).abs() < 1e-9, "{flat:?}");
        assert!(far(&[5.0], &[10.0]).unwrap().spreads < flat.spreads / 2.8);
        let from_nothing = far(&[0.0; 100], &[1e-3]).unwrap();
        assert!((from_nothing.spreads - flat.spreads).abs() < 1e-9, "{from_nothing:?}");
        assert_eq!(far(&[0.0; 100], &[0.0]).unwrap().spreads, 0.0);
    }

    #[test]
    fn a_fall_is_as_far_as_the_rise_by_the_same_factor() {
        let baseline = points(&[6.0; 100]);
        let fall = |to: f64| {
            let window = points(&[to]);
            deviation(&baseline, &window, &Emphasis::default(), Worse::Down, Floor::RELATIVE).unwrap().spreads
        };
        assert!((fall(3.0) - far(&[6.0; 100], &[12.0]).unwrap().spreads).abs() < 1e-9);
        assert!(
            (fall(0.0) - fall(3.0) * 10.0).abs() < 1e-9,
            "to nothing is as to a tenth, and nothing is left"
        );
        let often_silent: Vec<f64> = (0..100).map(|second| f64::from(second % 3 != 0)).collect();
        let silent = deviation(
            &points(&often_silent),
            &points(&[0.0]),
            &Emphasis::default(),
            Worse::Down,
            Floor::RELATIVE,
        );
        assert!(silent.unwrap().strength() <= WORTH_OF_NOISE, "silence is usual there");
    }

    #[test]
    fn nothing_or_nonsense_compares_with_nothing() {
        assert_eq!(far(&[], &[1.0]), None);
        assert_eq!(far(&[1.0], &[]), None);
        assert_eq!(far(&[f64::NAN], &[1.0]), None);
        assert_eq!(far(&[1.0], &[f64::INFINITY]), None);
        assert_eq!(far(&[1.0, f64::NAN, 1.0], &[1.0]).unwrap().spreads, 0.0);
    }

    #[test]
    fn noise_has_hardly_any_strength_and_strength_grows_slowly() {
        assert!(strength(2.0) <= WORTH_OF_NOISE && strength(1.0) < strength(2.0));
        assert_eq!(strength(f64::NAN), 0.0);
        assert_eq!(strength(-50.0), 0.0);
        assert!((strength(8.0) - 3_f64.ln() - WORTH_OF_NOISE).abs() < 1e-12);
        assert!(strength(2_000.0) - strength(1_000.0) < strength(20.0) - strength(8.0));
    }

    #[test]
    fn moments_count_by_what_the_symptom_does_in_them() {
        let symptom = Emphasis::of(
            &points(&[1.0; 30]),
            &points(&[1.0, 1.0, 9.0, 9.0, 1.0]),
            Worse::Up,
            Floor::RELATIVE,
        );
        let (baseline, window) = (points(&[5.0; 30]), points(&[5.0, 5.0, 8.0, 8.0, 5.0]));
        let seen = deviation(&baseline, &window, &symptom, Worse::Up, Floor::RELATIVE).unwrap();
        assert_eq!(seen.seen, 8.0, "two of five moments, but the ones that hurt");
        let even = deviation(&baseline, &window, &Emphasis::default(), Worse::Up, Floor::RELATIVE).unwrap();
        assert_eq!(even.seen, 5.0);
    }

    #[test]
    fn the_nearest_point_is_found_along_the_way_and_none_too_far_away() {
        let series = points(&[10.0, 11.0, 12.0, f64::NAN]);
        let mut near = Near::new(&series, 0.6);
        let found: Vec<_> = [-5.0, 0.1, 1.6, 1.9, 3.0, 9.0].into_iter().map(|at| near.at(at)).collect();
        assert_eq!(found, [None, Some(10.0), Some(12.0), Some(12.0), None, None]);
        assert_eq!(Near::new(&[], 1.0).at(0.0), None);
        assert!((tolerance(&series, &[]) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn quartiles_are_those_of_sorted_values() {
        assert_eq!(quartiles(&mut [4.0, 1.0, 3.0, 2.0, 5.0]), Some([2.0, 3.0, 4.0]));
        assert_eq!(quartiles(&mut [2.0, 1.0]), Some([1.25, 1.5, 1.75]));
        assert_eq!(quartiles(&mut []), None);
        let long: Vec<Point> = points(&vec![1.0; 1_000]);
        assert_eq!(thinned(&long).len(), 59);
    }
}
