//! The numbers that one row takes from one family.

use std::borrow::Cow;
use std::sync::Arc;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::Form;
use headwater_engine::reading::Value;

use super::{MOST_PARTS, MOST_WAYS, Page};
use crate::sources::metrics::dialect::{Aggregate, Dialect, Field, Row, SubjectRole};
use crate::sources::metrics::exposition::{FamilyKind, Label, Role};

/// The values by part, in the order in which the page first has them.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) parts: Vec<(Option<String>, Value)>,
    /// Series that were not used: parts beyond the limit, histograms with other buckets.
    pub(super) left_out: usize,
}

/// Takes what fits `row` from `family` and puts it together by part.
pub(super) fn collect(page: &Page<'_, '_>, family: usize, dialect: &Dialect, row: &Row) -> Collected {
    let mut collector = Collector { dialect, row, parts: vec![], left_out: 0, could_tell: false };
    let samples = &page.samples[family];
    if page.exposition.families[family].kind == Some(FamilyKind::Histogram) {
        for series in page.exposition.histograms(samples) {
            let labels = page.exposition.labels(&page.exposition.samples[series.sample as usize]);
            match row.field {
                Field::Count => collector.number(labels, series.histogram.count),
                Field::Value => collector.histogram(labels, series.histogram),
            }
        }
    } else {
        let role = if row.field == Field::Count { Role::Count } else { Role::Plain };
        for sample in samples.iter().map(|at| &page.exposition.samples[*at as usize]) {
            if page.exposition.role(sample) == role {
                collector.number(page.exposition.labels(sample), sample.value);
            }
        }
    }
    collector.finish()
}

struct Collector<'d> {
    dialect: &'d Dialect,
    row: &'d Row,
    parts: Vec<(Option<String>, Option<Value>)>,
    left_out: usize,
    could_tell: bool,
}

impl Collector<'_> {
    fn number(&mut self, labels: &[Label<'_>], value: f64) {
        if !value.is_finite() || self.row.sentinels.contains(&value) || !self.wants(labels) {
            return;
        }
        let (aggregate, is_counter) = (self.row.aggregate, self.row.metric.row().form == Form::Counter);
        let value = value * self.row.scale;
        match self.slot(labels) {
            None => {}
            Some(empty @ None) => {
                *empty = Some(if is_counter { Value::Counter(value) } else { Value::Gauge(value) });
            }
            Some(Some(Value::Counter(known) | Value::Gauge(known))) => {
                *known = match aggregate {
                    Aggregate::Sum => *known + value,
                    Aggregate::Max => known.max(value),
                    Aggregate::Last => value,
                };
            }
            Some(Some(Value::Histogram(_))) => {}
        }
    }

    fn histogram(&mut self, labels: &[Label<'_>], mut histogram: Histogram) {
        if !self.wants(labels) {
            return;
        }
        if self.row.scale != 1.0 {
            histogram.bounds = histogram.bounds.iter().map(|bound| bound * self.row.scale).collect();
            histogram.sum = histogram.sum.map(|sum| sum * self.row.scale);
        }
        let is_merged = match self.slot(labels) {
            None => true,
            Some(empty @ None) => {
                *empty = Some(Value::Histogram(Arc::new(histogram)));
                true
            }
            Some(Some(Value::Histogram(known))) => Arc::make_mut(known).merge(&histogram),
            Some(Some(_)) => true,
        };
        if !is_merged {
            self.left_out += 1;
        }
    }

    fn wants(&mut self, labels: &[Label<'_>]) -> bool {
        if self.dialect.foreign.any(labels) || self.row.without.any(labels) {
            return false;
        }
        self.could_tell |= self.row.only.can_tell(labels);
        self.row.only.all(labels)
    }

    /// The place for a series' part: `None` beyond the limit, `Some(None)` when it is new.
    fn slot(&mut self, labels: &[Label<'_>]) -> Option<&mut Option<Value>> {
        let is_way = self.row.role == SubjectRole::Edge;
        let part = match (&self.row.part, &self.dialect.ends) {
            (_, Some(ends)) if is_way => ends.way(labels).map(|way| Cow::Owned(way.as_str().to_owned())),
            (Some(names), _) => names.of(labels).map(Cow::Borrowed),
            (None, _) => None,
        };
        let needs_name = is_way || (self.row.part.is_some() && !self.row.takes_unnamed);
        if needs_name && part.is_none() {
            return None;
        }
        let most = if is_way { MOST_WAYS } else { MOST_PARTS };
        let at = match self.parts.iter().position(|(known, _)| known.as_deref() == part.as_deref()) {
            Some(at) => at,
            None if self.parts.len() == most => {
                self.left_out += 1;
                return None;
            }
            None => {
                self.parts.push((part.map(Cow::into_owned), None));
                self.parts.len() - 1
            }
        };
        Some(&mut self.parts[at].1)
    }

    fn finish(self) -> Collected {
        let Self { row, left_out, could_tell, .. } = self;
        let mut parts: Vec<_> =
            self.parts.into_iter().filter_map(|(part, value)| Some((part, value?))).collect();
        // Libraries create a series at its first event: no series of errors yet means none so far, as long as
        // the family has the label by which errors are told apart.
        let is_total =
            row.metric.row().form == Form::Counter && row.part.is_none() && row.role != SubjectRole::Edge;
        if parts.is_empty() && is_total && could_tell && !row.only.is_empty() {
            parts.push((None, Value::Counter(0.0)));
        }
        Collected { parts, left_out }
    }
}
