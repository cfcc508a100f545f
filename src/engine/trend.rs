//! A straight line through points that a few outliers do not bend.

use crate::store::Seen;

/// Points that a line is drawn through at most: it takes every pair of them.
const MOST_POINTS: usize = 40;

/// The line through points over time by the median of the slopes of all pairs (Theil and Sen), and how steadily they rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The slope, in the unit of the points a second.
    pub per_second: f64,
    /// The share of pairs whose later point is higher, less the share of those whose later point is lower (Kendall's tau):
    /// 1 rises always, -1 falls always, 0 is neither.
    pub steadiness: f64,
    /// The first point of the span.
    pub first: Seen,
    /// The last point of the span.
    pub last: Seen,
}

impl Trend {
    /// The line through points in the order of their time; `None` for less than three of them, or no time between them.
    /// More than forty are drawn together, several neighbours to one.
    pub fn through(points: &[Seen]) -> Option<Self> {
        let (first, last) = (*points.first()?, *points.last()?);
        if last.at <= first.at {
            return None;
        }
        let means = drawn_together(points, first);
        let mut slopes = vec![];
        let (mut up, mut down) = (0.0, 0.0);
        for (place, (from, low)) in means.iter().enumerate() {
            for (to, high) in &means[place + 1..] {
                if to > from {
                    slopes.push((high - low) / (to - from));
                    up += f64::from(u8::from(high > low));
                    down += f64::from(u8::from(high < low));
                }
            }
        }
        if means.len() < 3 || slopes.is_empty() {
            return None;
        }
        let middle = slopes.len() / 2;
        let (_, per_second, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
        let per_second = *per_second;
        Some(Self { per_second, steadiness: (up - down) / slopes.len() as f64, first, last })
    }

    /// The time between the first and the last point, seconds.
    pub fn seconds(&self) -> f64 {
        self.last.at.seconds_after(self.first.at)
    }
}

/// Means of neighbours, as seconds after the first point and values.
fn drawn_together(points: &[Seen], first: Seen) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |chunk: &[Seen]| {
        let count = chunk.len() as f64;
        let sum = chunk.iter().fold((0.0, 0.0), |(time, value), seen| {
            (time + seen.at.seconds_after(first.at), value + seen.value)
        });
        (sum.0 / count, sum.1 / count)
    };
    points.chunks(each).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Moment;

    fn points(of: impl Fn(f64) -> f64, count: i64) -> Vec<Seen> {
        (0..count).map(|second| Seen { value: of(second as f64), at: Moment(second * 1_000) }).collect()
    }

    #[test]
    fn outliers_do_not_bend_it() {
        let bent = |second: f64| if second % 10.0 == 3.0 { 9_000.0 } else { 100.0 + 2.0 * second };
        let trend = Trend::through(&points(bent, 100)).unwrap();
        assert!((1.5..2.5).contains(&trend.per_second), "{trend:?}");
        let straight = Trend::through(&points(|second| 100.0 + 2.0 * second, 100)).unwrap();
        assert!((straight.per_second - 2.0).abs() < 1e-9 && straight.steadiness > 0.999, "{straight:?}");
        assert_eq!(straight.seconds(), 99.0);
    }

    #[test]
    fn what_swings_or_stands_still_does_not_rise() {
        let swinging = Trend::through(&points(|second| (second * 1.3).sin() * 50.0, 90)).unwrap();
        assert!(swinging.steadiness.abs() < 0.3, "{swinging:?}");
        let flat = Trend::through(&points(|_| 7.0, 30)).unwrap();
        assert_eq!((flat.per_second, flat.steadiness), (0.0, 0.0));
        assert_eq!(Trend::through(&points(|second| second, 2)), None);
    }
}
