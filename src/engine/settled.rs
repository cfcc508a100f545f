//! What a level is by its last points, so that one hiccup decides nothing.

use crate::peers::median;
use crate::store::Seen;

/// Points of which a present value is the median.
const POINTS: usize = 5;

/// A level by its last points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settled {
    /// Their median, with the time of the newest.
    pub(crate) seen: Seen,
    /// How many they are: five, or fewer where there are not so many.
    pub(crate) points: usize,
}

/// The median of the newest five of these points; `None` where there is none.
pub(crate) fn settled(newest_first: impl Iterator<Item = Seen>) -> Option<Settled> {
    let points: Vec<Seen> = newest_first.take(POINTS).collect();
    let mut values: Vec<f64> = points.iter().map(|seen| seen.value).collect();
    values.sort_by(f64::total_cmp);
    let seen = Seen { value: median(&values)?, at: points.first()?.at };
    Some(Settled { seen, points: points.len() })
}
