//! Cumulative histograms as targets expose them, their differences, and percentiles of these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Cumulative buckets at one moment: `counts[i]` events were at most `bounds[i]`. Without bounds it is a count and a
/// sum, as summaries have them: they give a mean and no percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Histogram {
    /// Upper bounds in the metric's unit, ascending, without `+Inf`; shared between scrapes.
    pub bounds: Arc<[f64]>,
    /// Cumulative counts, one a bound.
    pub counts: Box<[f64]>,
    /// All events, those above the last bound included.
    pub count: f64,
    /// Sum of all values, when the target gives it.
    pub sum: Option<f64>,
}

/// A histogram as a recording holds it: whoever wrote that may have miscounted.
#[derive(Deserialize)]
struct Unchecked {
    bounds: Arc<[f64]>,
    counts: Box<[f64]>,
    count: f64,
    sum: Option<f64>,
}

impl TryFrom<Unchecked> for Histogram {
    type Error = String;

    fn try_from(read: Unchecked) -> Result<Self, String> {
        let Unchecked { bounds, counts, count, sum } = read;
        if counts.len() == bounds.len() {
            return Ok(Self { bounds, counts, count, sum });
        }
        Err(format!(
            "a histogram has {} counts for {} bounds: it needs one a bound",
            counts.len(),
            bounds.len()
        ))
    }
}

/// A percentile read from buckets, honest about what they can tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Percentile {
    /// Interpolated within a bucket.
    Value(f64),
    /// Somewhere below the first bound: the bucket is too wide to say more.
    AtMost(f64),
    /// Above the last finite bound.
    Above(f64),
}

impl Percentile {
    /// The number to compare with a limit: the bound itself where only a bound is known.
    pub fn number(self) -> f64 {
        match self {
            Self::Value(value) | Self::AtMost(value) | Self::Above(value) => value,
        }
    }

    /// Whether only an upper bound is known: the value may be far below it.
    pub fn is_only_a_bound(self) -> bool {
        matches!(self, Self::AtMost(_))
    }

    /// `""`, `"<= "` or `"> "`, to be written before the number.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Value(_) => "",
            Self::AtMost(_) => "<= ",
            Self::Above(_) => "> ",
        }
    }
}

impl Histogram {
    /// What was added since `earlier`, or `None` when the target restarted or its buckets changed.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        if self.bounds != earlier.bounds || self.count < earlier.count {
            return None;
        }
        let counts: Box<[f64]> =
            self.counts.iter().zip(&earlier.counts).map(|(now, then)| now - then).collect();
        if counts.iter().any(|count| *count < 0.0) {
            return None;
        }
        let sum = self.sum.zip(earlier.sum).map(|(now, then)| now - then);
        // Without buckets only the sum is left to show a restart that has counted further already.
        if self.bounds.is_empty() && sum.is_some_and(|sum| sum < 0.0) {
            return None;
        }
        Some(Self { bounds: Arc::clone(&self.bounds), counts, count: self.count - earlier.count, sum })
    }

    /// Adds another histogram's events when the bounds agree; says whether they did.
    pub fn merge(&mut self, other: &Self) -> bool {
        if self.bounds != other.bounds {
            return false;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum = self.sum.zip(other.sum).map(|(mine, theirs)| mine + theirs);
        true
    }

    /// The share of events above a value, by the bucket whose bound is the next above it: never too large. `None` without
    /// events or without buckets.
    pub fn share_above(&self, value: f64) -> Option<f64> {
        if self.count <= 0.0 || self.bounds.is_empty() {
            return None;
        }
        let within = self.bounds.iter().position(|bound| *bound >= value).map(|bucket| self.counts[bucket]);
        Some(within.map_or(0.0, |within| 1.0 - within / self.count))
    }

    /// The `q` quantile, `0 < q < 1`, by linear interpolation within a bucket as Prometheus'
    /// `histogram_quantile` does, but a bound instead of a number where the bucket is open on one side.
    /// `None` without events.
    pub fn percentile(&self, q: f64) -> Option<Percentile> {
        if self.count <= 0.0 || self.bounds.is_empty() {
            return None;
        }
        let rank = q * self.count;
        let Some(bucket) = self.counts.iter().position(|count| *count >= rank) else {
            return self.bounds.last().map(|bound| Percentile::Above(*bound));
        };
        let upper = self.bounds[bucket];
        if bucket == 0 {
            return Some(Percentile::AtMost(upper));
        }
        let (lower, below) = (self.bounds[bucket - 1], self.counts[bucket - 1]);
        let inside = self.counts[bucket] - below;
        let share = if inside > 0.0 { (rank - below) / inside } else { 1.0 };
        Some(Percentile::Value(lower + (upper - lower) * share))
    }

    /// The mean, or `None` without events or without a sum.
    pub fn mean(&self) -> Option<f64> {
        self.sum.filter(|_| self.count > 0.0).map(|sum| sum / self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(bounds: &[f64], counts: &[f64], count: f64) -> Histogram {
        Histogram { bounds: bounds.into(), counts: counts.into(), count, sum: Some(count) }
    }

    #[test]
    fn a_percentile_is_interpolated_in_its_bucket() {
        let h = histogram(&[0.1, 0.2, 0.4], &[50.0, 90.0, 100.0], 100.0);
        assert_eq!(h.percentile(0.95), Some(Percentile::Value(0.2 + 0.2 * 0.5)));
        assert_eq!(h.percentile(0.5), Some(Percentile::AtMost(0.1)));
    }

    #[test]
    fn open_buckets_give_bounds_and_not_numbers() {
        let h = histogram(&[0.3, 0.5], &[99.0, 99.0], 200.0);
        assert_eq!(h.percentile(0.99), Some(Percentile::Above(0.5)));
        assert_eq!(h.percentile(0.2).unwrap().sign(), "<= ");
        assert_eq!(histogram(&[0.3], &[0.0], 0.0).percentile(0.99), None);
    }

    #[test]
    fn a_restart_or_new_buckets_give_no_difference() {
        let then = histogram(&[1.0], &[5.0], 9.0);
        assert_eq!(histogram(&[1.0], &[2.0], 3.0).since(&then), None);
        assert_eq!(histogram(&[2.0], &[9.0], 12.0).since(&then), None);
        assert_eq!(histogram(&[1.0], &[9.0], 12.0).since(&then).unwrap().count, 3.0);
    }

    #[test]
    fn without_buckets_there_is_a_mean_and_no_percentile() {
        let whole = |count, sum| Histogram { sum: Some(sum), ..histogram(&[], &[], count) };
        let gained = whole(30.0, 9.0).since(&whole(10.0, 4.0)).unwrap();
        assert_eq!((gained.count, gained.mean(), gained.percentile(0.99)), (20.0, Some(0.25), None));
        let mut both = whole(1.0, 1.0);
        assert!(both.merge(&whole(3.0, 1.0)) && !both.merge(&histogram(&[1.0], &[1.0], 1.0)));
        assert_eq!(both.mean(), Some(0.5));
        // A restart that has counted further than before shows in its sum.
        assert_eq!(whole(40.0, 2.0).since(&whole(10.0, 4.0)), None);
        let text = serde_json::to_string(&gained).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), gained);
    }

    #[test]
    fn a_histogram_is_read_only_with_a_count_for_each_bound() {
        let read = |counts: &str| {
            serde_json::from_str::<Histogram>(&format!(
                r#"{{"bounds":[0.1,0.2],"counts":{counts},"count":3,"sum":null}}"#
            ))
        };
        assert_eq!(read("[1,3]").unwrap().counts.len(), 2);
        for counts in ["[]", "[1]", "[1,2,3]"] {
            assert!(read(counts).unwrap_err().to_string().contains("for 2 bounds"), "{counts}");
        }
    }
}
