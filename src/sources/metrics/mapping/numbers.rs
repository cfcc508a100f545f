//! What a family says, series by series, before anybody asks whom it is about: values that mean something, in the
//! words of the page's own labels.

use std::collections::HashMap;

use headwater_engine::histogram::Histogram;

use super::page::Page;
use crate::sources::metrics::dialect::{Dialect, Field, Labels, Row};
use crate::sources::metrics::exposition::{FamilyKind, Label, Role, Sample};

/// What one series says.
pub(super) enum Number {
    /// One value.
    One(f64),
    /// Buckets, or a count and a sum where there are none.
    Whole(Histogram),
}

impl Number {
    /// How many events or how much: of series that repeat each other the larger is the newer.
    fn size(&self) -> f64 {
        match self {
            Self::One(value) => *value,
            Self::Whole(histogram) => histogram.count,
        }
    }
}

/// A series by the labels that tell it from others, sorted.
type Key<'p> = Vec<(&'p str, &'p str)>;

/// What `row` can read from the series of `family`.
pub(super) fn numbers<'p>(
    page: &'p Page<'p, '_>,
    family: usize,
    dialect: &Dialect,
    row: &Row,
) -> Vec<(&'p [Label<'p>], Number)> {
    let exposition = page.exposition;
    let kind = exposition.families[family].kind;
    let mut found = vec![];
    if !row.partners.is_empty() {
        with_partner(page, family, dialect, row, &mut found);
    } else if matches!(kind, Some(FamilyKind::Histogram | FamilyKind::Summary)) {
        for series in exposition.histograms(&page.samples[family]) {
            let labels = exposition.labels(&exposition.samples[series.sample as usize]);
            let histogram = series.histogram;
            let number = match row.field {
                Field::Count => Some(Number::One(histogram.count)),
                Field::Sum => histogram.sum.map(Number::One),
                // A count alone says nothing of how long or how large.
                Field::Value if histogram.bounds.is_empty() && histogram.sum.is_none() => None,
                Field::Value => Some(Number::Whole(histogram)),
            };
            found.extend(number.map(|number| (labels, number)));
        }
    } else {
        let plain = plain(page, family, dialect);
        found.extend(plain.map(|sample| (exposition.labels(sample), Number::One(sample.value))));
    }
    let mut found: Vec<_> = found
        .into_iter()
        .filter_map(|(labels, number)| match number {
            Number::One(value) => row.meaning.of(value, labels).map(|value| (labels, Number::One(value))),
            whole @ Number::Whole(_) => Some((labels, whole)),
        })
        .collect();
    if let Some(repeated) = &row.repeated {
        largest_of_repeats(&mut found, repeated);
    }
    found
}

/// The samples of a family that are a number each, without those whose number means "no value".
fn plain<'p>(page: &'p Page<'p, '_>, family: usize, dialect: &Dialect) -> impl Iterator<Item = &'p Sample> {
    let blanks: Vec<_> = dialect.blanks_of(&page.keys[family]).collect();
    page.samples[family]
        .iter()
        .map(|at| &page.exposition.samples[*at as usize])
        .filter(|sample| page.exposition.role(sample) == Role::Plain)
        .filter(move |sample| !blanks.iter().any(|blank| blank.is_none(sample.value)))
}

/// Puts each value together with the one of the partner family that has the same labels.
fn with_partner<'p>(
    page: &'p Page<'p, '_>,
    family: usize,
    dialect: &Dialect,
    row: &Row,
    found: &mut Vec<(&'p [Label<'p>], Number)>,
) {
    let Some(partner) = row.partners.iter().flat_map(|pattern| page.matching(pattern)).next() else { return };
    let plain = |family: usize| plain(page, family, dialect);
    let mut partners: HashMap<Key<'_>, f64> =
        plain(partner).map(|sample| (key(page.exposition.labels(sample), None), sample.value)).collect();
    for sample in plain(family) {
        let labels = page.exposition.labels(sample);
        // Taken out: a page that repeats a series would count its events twice.
        let Some(other) = partners.remove(&key(labels, None)).filter(|other| other.is_finite()) else {
            continue;
        };
        if !sample.value.is_finite() {
            continue;
        }
        match row.field {
            Field::Value if row.is_ratio => {
                // Of a limit of nothing there is no share.
                if other > 0.0 {
                    found.push((labels, Number::One(sample.value / other)));
                }
            }
            _ => found.push((
                labels,
                Number::Whole(Histogram {
                    bounds: [].into(),
                    counts: [].into(),
                    count: other,
                    sum: Some(sample.value),
                }),
            )),
        }
    }
}

/// Keeps, of series that differ only in the `repeated` labels, the one that says most.
fn largest_of_repeats(found: &mut Vec<(&[Label<'_>], Number)>, repeated: &Labels) {
    let mut largest: HashMap<Key<'_>, usize> = HashMap::new();
    for (at, (labels, number)) in found.iter().enumerate() {
        if number.size().is_nan() {
            continue;
        }
        let best = largest.entry(key(labels, Some(repeated))).or_insert(at);
        if number.size() > found[*best].1.size() {
            *best = at;
        }
    }
    let kept: std::collections::HashSet<usize> = largest.into_values().collect();
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
}

/// The labels of a series, sorted, without those that are `repeated`; an empty label is as good as none.
fn key<'p>(labels: &'p [Label<'_>], repeated: Option<&Labels>) -> Key<'p> {
    let mut key: Key<'p> = labels
        .iter()
        .filter(|label| !label.value.is_empty())
        .filter(|label| !repeated.is_some_and(|repeated| repeated.names(&label.name)))
        .map(|label| (&*label.name, &*label.value))
        .collect();
    key.sort_unstable();
    key
}
