//! Questions about metrics with parts: upstreams of a gateway, breakers, topics, routes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Scene;
use crate::baseline::{Baseline, LEAST_POINTS};
use crate::metric::Metric;
use crate::peers::quantile;
use crate::report::BaselineFrom;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// A series of a metric within a component: who tells it, and of which part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// The component or the instance that tells it.
    pub(crate) by: Subject,
    /// The part that it is about.
    pub(crate) part: Option<RemoteText>,
}

impl Told {
    /// What it is about, in words: the part, else who tells it.
    pub(crate) fn name(&self) -> String {
        match &self.part {
            Some(part) => part.as_str().to_owned(),
            None => self.by.address().unwrap_or(self.by.name()).to_owned(),
        }
    }

    /// The address in the name of the part, which routers of inference servers write as a URL; what is no address is what
    /// it is.
    pub(crate) fn address(&self) -> Option<&str> {
        let part = self.part.as_ref()?.as_str();
        let Some((_, rest)) = part.split_once("://") else { return part.split('/').next() };
        // What is hidden of a login, and of a query, is no part of it.
        rest.split(['/', '?', '#']).next()?.rsplit('@').next()
    }
}

impl Scene<'_> {
    /// Every series of a metric of a component and its instances, fresh or not.
    pub(crate) fn told(&self, component: &Subject, metric: Metric) -> Vec<Told> {
        let of = |by: &Subject| {
            let parts = self.store.parts(by, metric).into_iter();
            parts.map(|part| Told { by: by.clone(), part }).collect::<Vec<_>>()
        };
        self.world.parts(component).flat_map(|(by, _)| of(by)).collect()
    }

    /// The series of a metric of a component and its instances that are about the part at an address, put in order once
    /// per evaluation.
    pub(crate) fn told_at(&self, component: &Subject, metric: Metric, address: &str) -> Vec<Told> {
        let key = (metric, component.clone());
        let mut addressed = self.looked.addressed.borrow_mut();
        let by_address = addressed.entry(key).or_insert_with(|| {
            let mut by_address: BTreeMap<String, Vec<Told>> = BTreeMap::new();
            for told in self.told(component, metric) {
                if let Some(address) = told.address() {
                    by_address.entry(address.to_owned()).or_default().push(told);
                }
            }
            by_address
        });
        by_address.get(address).cloned().unwrap_or_default()
    }

    /// Whether a component or an instance of it ever told a metric.
    pub(crate) fn tells(&self, component: &Subject, metric: Metric) -> bool {
        self.world.parts(component).any(|(by, _)| !self.store.parts(by, metric).is_empty())
    }

    /// The sum of a rate or level over the parts of a metric and over instances; `None` when none is fresh.
    pub(crate) fn total_of_parts(&self, component: &Subject, metric: Metric) -> Option<Seen> {
        self.told(component, metric)
            .iter()
            .filter_map(|told| self.present_part(&told.by, metric, told.part.as_ref()))
            .reduce(|sum, one| Seen { value: sum.value + one.value, at: sum.at.max(one.at) })
    }

    /// The sum of the healthy values of the same; `None` unless every series has one.
    pub(crate) fn baseline_of_parts(&self, component: &Subject, metric: Metric) -> Option<Baseline> {
        let own = self.baseline(component, metric, None);
        if own.is_some_and(|own| own.from == BaselineFrom::Declared) {
            return own;
        }
        let mut sum: Option<Baseline> = None;
        for told in self.told(component, metric) {
            let one = self.baseline(&told.by, metric, told.part.as_ref())?;
            sum = Some(match sum {
                None => Baseline { spread: None, ..one },
                Some(sum) => Baseline { typical: sum.typical + one.typical, ..sum },
            });
        }
        sum
    }

    /// The points of a series since a moment, oldest first.
    pub(crate) fn points_since(&self, told: &Told, metric: Metric, from: Moment) -> Vec<Seen> {
        let points = self.store.points(&told.by, metric, told.part.as_ref());
        points.map(|points| points.since(from).collect()).unwrap_or_default()
    }

    /// What a level is usually at most: the declared or learned healthy value, else a high quantile of the healthy part
    /// of a span of this run. `None` without 30 points or bins of healthy time.
    pub(crate) fn usual_high(&self, told: &Told, metric: Metric, span: Duration, q: f64) -> Option<Baseline> {
        let row = self.world.histories().row(&told.by, &metric.into(), told.part.as_ref(), self.now);
        let known = self.baseline(&told.by, metric, told.part.as_ref());
        if let (Some(BaselineFrom::History), Some(high)) =
            (known.map(|known| known.from), row.and_then(|row| row.high))
        {
            return Some(Baseline::new(high, BaselineFrom::History));
        }
        let lasting = |known: &Baseline| matches!(known.from, BaselineFrom::Declared | BaselineFrom::Disk);
        if let Some(known) = known.filter(lasting) {
            return Some(known);
        }
        let (_, calm_until) = self.calm?;
        let from = self.now - span;
        let points = self.store.points(&told.by, metric, told.part.as_ref())?;
        let is_within = |at: Moment| at >= from && at <= calm_until;
        // The longest memory that has enough: minutes, then tens of seconds, then points.
        let minutes = points.coarse_bins().filter(|bin| is_within(bin.start)).map(|bin| f64::from(bin.mean));
        let tens = points.fine_bins().filter(|bin| is_within(bin.start)).map(|bin| f64::from(bin.mean));
        let whole = points.since(from).filter(|seen| is_within(seen.at)).map(|seen| seen.value);
        let mut values = [minutes.collect::<Vec<f64>>(), tens.collect(), whole.collect()]
            .into_iter()
            .find(|values| values.len() >= LEAST_POINTS)?;
        values.sort_by(f64::total_cmp);
        Some(Baseline::new(quantile(&values, q)?, BaselineFrom::Earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_part_is_its_host_and_port() {
        for (part, address) in [
            ("http://10.0.0.1:8000", "10.0.0.1:8000"),
            ("http://10.0.0.1:8000/v1/x", "10.0.0.1:8000"),
            ("http://u:***@10.0.0.1:8000?***", "10.0.0.1:8000"),
            ("10.0.0.1:8000", "10.0.0.1:8000"),
            ("ranker@eu", "ranker@eu"),
        ] {
            let told = Told { by: "gateway/edge".parse().unwrap(), part: Some(RemoteText::new(part)) };
            assert_eq!(told.address(), Some(address), "{part}");
        }
    }
}
