//! The numbers that one row takes from one family.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use headwater_engine::Subject;
use headwater_engine::histogram::Histogram;
use headwater_engine::metric::Form;
use headwater_engine::reading::Value;

use super::named::Named;
use super::numbers::{Number, numbers};
use super::page::Page;
use super::{MOST_NAMED, MOST_PARTS, MOST_WAYS};
use crate::config::shown_word;
use crate::sources::metrics::dialect::{Aggregate, Asked, Dialect, Row, SubjectRole};
use crate::sources::metrics::exposition::Label;

/// The values by subject and part, in the order in which the page first has them.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) series: Vec<Taken>,
    /// Series that were not used: subjects and parts beyond the limits, histograms with other buckets, and what differs
    /// from others only in what is not shown.
    pub(super) left_out: usize,
}

/// One value with what it is about.
pub(super) struct Taken<V = Value> {
    /// The subject that labels name; `None` for the target's own.
    pub(super) subject: Option<Subject>,
    pub(super) part: Option<String>,
    pub(super) value: V,
}

/// Takes what fits `row` from `family` and puts it together by part.
pub(super) fn collect(
    page: &Page<'_, '_>,
    family: usize,
    dialect: &Dialect,
    row: &Row,
    asked: &Asked,
) -> Collected {
    let named = Named::new(page, dialect, row.role, asked);
    let mut collector = Collector {
        dialect,
        row,
        asked,
        named,
        series: vec![],
        subjects: 0,
        left_out: 0,
        hidden: HashMap::new(),
    };
    for (labels, number) in numbers(page, family, dialect, row) {
        match number {
            Number::One(value) => collector.number(labels, value),
            Number::Whole(histogram) => collector.histogram(labels, histogram),
        }
    }
    collector.finish()
}

/// Whether a row means a series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Yes.
    Meant,
    /// No, but it has the labels by which those that are meant are told apart.
    Other,
    /// No.
    Foreign,
}

struct Collector<'d> {
    dialect: &'d Dialect,
    row: &'d Row,
    asked: &'d Asked,
    named: Named<'d>,
    series: Vec<Taken<Option<Value>>>,
    /// How many subjects the series are about.
    subjects: usize,
    left_out: usize,
    /// What the names of series hide, by their places among `series`.
    hidden: HashMap<usize, Vec<String>>,
}

impl Collector<'_> {
    fn number(&mut self, labels: &[Label<'_>], value: f64) {
        let aggregate = self.row.aggregate;
        let is_counter = self.row.metric.row().form == Form::Counter && !self.row.is_level;
        match self.fit(labels) {
            Fit::Meant => {}
            // Libraries create a series at its first event, so that no series of errors yet means none so far where
            // there is one with another value of the label by which errors are told apart.
            Fit::Other if is_counter => {
                if let Some(empty @ None) = self.slot(labels) {
                    *empty = Some(Value::Counter(0.0));
                }
                return;
            }
            Fit::Other | Fit::Foreign => return,
        }
        let value = if aggregate == Aggregate::Count { 1.0 } else { value } * self.row.scale;
        match self.slot(labels) {
            None => {}
            Some(empty @ None) => {
                *empty = Some(if is_counter { Value::Counter(value) } else { Value::Gauge(value) });
            }
            Some(Some(Value::Counter(known) | Value::Gauge(known))) => {
                *known = match aggregate {
                    Aggregate::Sum | Aggregate::Count => *known + value,
                    Aggregate::Max => known.max(value),
                    Aggregate::Last => value,
                };
            }
            Some(Some(Value::Histogram(_))) => {}
        }
    }

    fn histogram(&mut self, labels: &[Label<'_>], mut histogram: Histogram) {
        if self.fit(labels) != Fit::Meant {
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

    fn fit(&self, labels: &[Label<'_>]) -> Fit {
        if self.dialect.foreign.any(labels) || self.row.without.any(labels) {
            Fit::Foreign
        } else if self.row.only.all(labels) {
            Fit::Meant
        } else if self.row.only.can_tell(labels) {
            Fit::Other
        } else {
            Fit::Foreign
        }
    }

    /// The place for a series' subject and part: `None` beyond the limits, `Some(None)` when it is new.
    fn slot(&mut self, labels: &[Label<'_>]) -> Option<&mut Option<Value>> {
        let subject = self.named.subject(labels).ok()?;
        let part = self.row.part.as_ref().and_then(|name| name.of(labels, self.asked));
        if self.row.part.is_some() && !self.row.takes_unnamed && part.is_none() {
            return None;
        }
        let is_hiding = subject.as_ref().is_some_and(|subject| hides(subject.as_str()))
            || part.as_deref().is_some_and(hides);
        let hidden =
            if is_hiding { hidden_in(labels.iter().chain(self.named.labels(labels))) } else { vec![] };
        let known = |taken: &Taken<_>| taken.subject == subject && taken.part.as_deref() == part.as_deref();
        let at = match self.series.iter().position(known) {
            // Another one, whose numbers would be taken for those of the first.
            Some(at) if is_hiding && self.hidden.get(&at) != Some(&hidden) => {
                self.left_out += 1;
                return None;
            }
            Some(at) => at,
            None if !self.has_room(subject.as_ref()) => {
                self.left_out += 1;
                return None;
            }
            None => {
                self.series.push(Taken { subject, part: part.map(Cow::into_owned), value: None });
                let at = self.series.len() - 1;
                if is_hiding {
                    self.hidden.insert(at, hidden);
                }
                at
            }
        };
        Some(&mut self.series[at].value)
    }

    /// Whether one more part of this subject may be taken.
    fn has_room(&mut self, subject: Option<&Subject>) -> bool {
        let parts = self.series.iter().filter(|taken| taken.subject.as_ref() == subject).count();
        if parts > 0 || subject.is_none() {
            return parts < MOST_PARTS;
        }
        let most = if self.row.role == SubjectRole::Edge { MOST_WAYS } else { MOST_NAMED };
        self.subjects += 1;
        self.subjects <= most
    }

    fn finish(self) -> Collected {
        let has_value = |taken: Taken<Option<Value>>| {
            Some(Taken { subject: taken.subject, part: taken.part, value: taken.value? })
        };
        Collected { series: self.series.into_iter().filter_map(has_value).collect(), left_out: self.left_out }
    }
}

/// The values of labels of which a part is not shown.
fn hidden_in<'l>(labels: impl Iterator<Item = &'l Label<'l>>) -> Vec<String> {
    let is_hidden = |label: &&Label<'_>| matches!(shown_word(&label.value), Cow::Owned(_));
    labels.filter(is_hidden).map(|label| label.value.to_string()).collect()
}

/// Whether a name has a place where something is not shown.
fn hides(name: &str) -> bool {
    name.contains("***")
}
