//! Puts the lines of a histogram together again.

use std::collections::HashMap;

use headwater_engine::histogram::Histogram;

use super::number::number;
use super::{Exposition, Label, Role};

/// One whole histogram: all `_bucket`, `_sum` and `_count` lines of one label set.
#[derive(Clone, Debug)]
pub struct HistogramSeries<'p> {
    /// Its labels without `le`, sorted by name.
    pub labels: Vec<(&'p str, &'p str)>,
    /// Its first sample, as an index into [`Exposition::samples`].
    pub sample: u32,
    /// The buckets; bounds in the unit of the page.
    pub histogram: Histogram,
}

/// The labels that all lines of one histogram share, sorted.
type Key<'p> = Vec<(&'p str, &'p str)>;

#[derive(Default)]
struct Parts {
    buckets: Vec<(f64, f64)>,
    infinite: Option<f64>,
    sum: Option<f64>,
    count: Option<f64>,
}

impl Exposition<'_> {
    /// Assembles the histograms of one family from its samples (indices into [`Exposition::samples`]). Lines may
    /// stand in any order and `+Inf` may be missing: then `_count` is the number of events, or the last bucket.
    /// A label set without any finite bucket gives a histogram without bounds, as a summary does: a count and a sum.
    pub fn histograms(&self, samples: &[u32]) -> Vec<HistogramSeries<'_>> {
        let mut index: HashMap<Key<'_>, usize> = HashMap::new();
        let mut series: Vec<(Key<'_>, u32, Parts)> = vec![];
        let mut last: Option<(&[Label<'_>], usize)> = None;
        for first in samples {
            let sample = &self.samples[*first as usize];
            let labels = self.labels(sample);
            let at = match last {
                Some((before, at)) if same_but_le(before, labels) => at,
                _ => {
                    let mut key: Key<'_> = labels
                        .iter()
                        .filter(|label| label.name != "le")
                        .map(|label| (&*label.name, &*label.value))
                        .collect();
                    key.sort_unstable();
                    *index.entry(key).or_insert_with_key(|key| {
                        series.push((key.clone(), *first, Parts::default()));
                        series.len() - 1
                    })
                }
            };
            last = Some((labels, at));
            let parts = &mut series[at].2;
            match self.role(sample) {
                Role::Bucket => match self.label(sample, "le").and_then(number) {
                    Some(bound) if bound.is_finite() => parts.buckets.push((bound, sample.value)),
                    Some(bound) if bound > 0.0 => parts.infinite = Some(sample.value),
                    _ => {}
                },
                Role::Sum => parts.sum = Some(sample.value),
                Role::Count => parts.count = Some(sample.value),
                Role::Plain | Role::Created => {}
            }
        }
        series
            .into_iter()
            .filter_map(|(labels, sample, parts)| {
                parts.assemble().map(|histogram| HistogramSeries { labels, sample, histogram })
            })
            .collect()
    }

    /// The samples of each family, as indices into [`Exposition::samples`]; one list a family, in its order.
    pub fn by_family(&self) -> Vec<Vec<u32>> {
        let mut lists = vec![vec![]; self.families.len()];
        for (at, sample) in (0..).zip(&self.samples) {
            lists[self.family(sample)].push(at);
        }
        lists
    }
}

impl Parts {
    fn assemble(mut self) -> Option<Histogram> {
        // A stable sort, so that of two lines with one bound the later one stays.
        self.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.buckets.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = later.1;
            }
            is_same
        });
        let last = self.buckets.last().map(|(_, events)| *events);
        let count = self.infinite.or(self.count).or(last)?;
        if !count.is_finite() || self.buckets.iter().any(|(_, events)| !events.is_finite()) {
            return None;
        }
        Some(Histogram {
            bounds: self.buckets.iter().map(|(bound, _)| *bound).collect(),
            counts: self.buckets.iter().map(|(_, events)| *events).collect(),
            count,
            sum: self.sum.filter(|sum| sum.is_finite()),
        })
    }
}

fn same_but_le(a: &[Label<'_>], b: &[Label<'_>]) -> bool {
    a.iter().filter(|label| label.name != "le").eq(b.iter().filter(|label| label.name != "le"))
}
