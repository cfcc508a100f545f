//! What a rule sees: the store, the world and the graph at one moment, with the questions that rules ask.

mod callers;
mod lately;
mod looked;
mod told;
pub(crate) mod totals;

use std::rc::Rc;
use std::time::Duration;

use crate::baseline::{Baseline, LEAST_EVENTS};
use crate::findings::Findings;
use crate::graph::Graph;
use crate::histogram::{Histogram, Percentile};
use crate::metric::{LOOP_LAG, Metric, MetricName, STAGE_DURATION, TOLD_OF_THE_WHOLE, Unit};
use crate::peers::Peers;
use crate::report::Evidence;
use crate::settings::{Baselines, Settings};
use crate::settled::settled;
use crate::spread::WIDENING;
use crate::store::{Seen, Store};
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;
use crate::world::World;
pub(crate) use callers::Patience;
pub(crate) use looked::{Looked, OnMachines};
pub(crate) use told::Told;

/// Intervals over which a present value is averaged.
const PRESENT_INTERVALS: u32 = 3;

/// How long what is called present is put together of.
pub(crate) fn present_span(settings: &Settings) -> Duration {
    settings.interval * PRESENT_INTERVALS
}

/// Above this our own loop is too late for our timings to mean anything.
pub const LOOP_LAG_LIMIT: f64 = 0.05;

/// One moment, as rules see it.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The moment.
    pub now: Moment,
    /// Evaluations so far, this one included.
    pub evaluations: u32,
    /// The latest span in which nothing was pending or firing.
    pub calm: Option<(Moment, Moment)>,
    /// Since when no target answers any more; `None` while any does.
    pub silent_since: Option<Moment>,
    /// What was declared.
    pub settings: &'a Settings,
    /// What earlier runs learned.
    pub saved: &'a Baselines,
    /// The numbers.
    pub store: &'a Store,
    /// Everything else that is known.
    pub world: &'a World,
    /// Who calls whom.
    pub graph: &'a Graph,
    /// The findings of the rules above, of this evaluation, and of those below, of the last.
    pub findings: &'a Findings,
    /// What rules have worked out in this evaluation already.
    pub(crate) looked: Looked,
}

/// A percentile with what it rests on.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The 99th percentile.
    pub p99: Percentile,
    /// What was gained in the window.
    pub gained: Histogram,
    /// The end of the window.
    pub at: Moment,
}

/// One stage of a service's requests.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: RemoteText,
    /// The dependency it is spent in; `None` for the service's own stages.
    pub spent_in: Option<Subject>,
    /// Mean time, seconds.
    pub mean: f64,
    /// 99th percentile.
    pub p99: Option<Percentile>,
    /// Share of the sum of all stages' means.
    pub share: f64,
}

impl Scene<'_> {
    /// The oldest moment whose data about a subject is not stale: what another tool measures seldomer than Headwater polls
    /// is stale later.
    pub fn stale_before_of(&self, subject: &Subject) -> Moment {
        self.now - self.world.rhythms().stale_after(self.settings, subject)
    }

    /// The same of one metric of a subject: the seldomer of who measures and of who asks says.
    pub fn fresh_from(&self, subject: &Subject, metric: impl Into<MetricName>) -> Moment {
        self.world.rhythms().fresh_from(self.settings, (subject, &metric.into()), self.now)
    }

    /// The newest value, if it is not stale.
    pub fn latest(&self, subject: &Subject, metric: impl Into<MetricName>) -> Option<Seen> {
        self.latest_part(subject, metric, None)
    }

    /// The same of one part of a metric.
    pub fn latest_part(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<Seen> {
        let metric = metric.into();
        let from = self.fresh_from(subject, metric.clone());
        self.store.latest(subject, metric, part).filter(|seen| seen.at >= from)
    }

    /// The mean of the newest points, as many as fall in three intervals; `None` when they are stale.
    pub fn present(&self, subject: &Subject, metric: impl Into<MetricName>) -> Option<Seen> {
        self.present_part(subject, metric, None)
    }

    /// The same of one part of a metric.
    pub fn present_part(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<Seen> {
        let metric = metric.into();
        let stale_before = self.fresh_from(subject, metric.clone());
        let points = self.store.points(subject, metric, part)?;
        let mean = points.trace().mean_until(self.now, present_span(self.settings))?;
        (mean.at >= stale_before).then_some(mean)
    }

    /// The median of the last five points of a level; `None` when they are stale.
    pub fn present_median(&self, subject: &Subject, metric: Metric) -> Option<Seen> {
        let points = self.store.points(subject, metric, None)?;
        let present = settled(points.newest_first())?.seen;
        (present.at >= self.stale_before_of(subject)).then_some(present)
    }

    /// A number of every shard of a deployment, compared once per evaluation: the worst of each shard's nodes.
    pub fn shards(
        &self,
        name: &'static str,
        cluster: &Subject,
        of_node: impl Fn(&Subject) -> Option<f64>,
    ) -> Rc<Peers> {
        let key = (name, cluster.clone());
        if let Some(group) = self.looked.groups.borrow().get(&key) {
            return Rc::clone(group);
        }
        let values = self
            .world
            .shards(cluster)
            .iter()
            .filter_map(|shard| {
                let worst = shard.nodes.iter().filter_map(|node| of_node(&node.subject)).reduce(f64::max)?;
                Some((shard.subject.clone(), worst))
            })
            .collect();
        let group = Rc::new(Peers::new(values));
        self.looked.groups.borrow_mut().insert(key, Rc::clone(&group));
        group
    }

    /// A number of every instance of a component, compared once per evaluation; `name` and the metric say of what.
    pub(crate) fn instances(
        &self,
        (name, metric): (&'static str, Metric),
        component: &Subject,
        of: impl Fn(&Subject) -> Option<f64>,
    ) -> Rc<Peers> {
        let key = (name, metric, component.clone());
        if let Some(group) = self.looked.instances.borrow().get(&key) {
            return Rc::clone(group);
        }
        let parts = self.world.parts(component).map(|(part, _)| part).filter(|part| *part != component);
        let values = parts.filter_map(|part| Some((part.clone(), of(part)?)));
        let group = Rc::new(Peers::new(values.collect()));
        self.looked.instances.borrow_mut().insert(key, Rc::clone(&group));
        group
    }

    /// The node of a shard on which a number is greatest, with the number.
    pub fn worst_node(
        &self,
        shard: &Subject,
        of_node: impl Fn(&Subject) -> Option<Seen>,
    ) -> Option<(Subject, Seen)> {
        let nodes = &self.world.shard(shard)?.nodes;
        nodes
            .iter()
            .filter_map(|node| Some((node.subject.clone(), of_node(&node.subject)?)))
            .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
    }

    /// The primary of a shard.
    pub fn primary(&self, shard: &Subject) -> Option<&Subject> {
        self.world.shard(shard)?.nodes.iter().find(|node| node.primary).map(|node| &node.subject)
    }

    /// What is missing of a shard's primary, where it gives no number: its replicas do not speak for it.
    pub fn unseen_primary(
        &self,
        shard: &Subject,
        of_node: impl Fn(&Subject) -> Option<Seen>,
    ) -> Option<String> {
        let Some(primary) = self.primary(shard) else { return Some("no primary is known".to_owned()) };
        of_node(primary).is_none().then(|| self.missing(primary))
    }

    /// What a histogram gained between two moments, over all instances of `subject`.
    pub fn distribution_between(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
        from: Moment,
        to: Moment,
    ) -> Option<Histogram> {
        self.merged(subject, metric, |instance| self.store.gained(instance, metric, part, from, to))
    }

    /// A histogram's whole life up to first contact, over all instances of `subject`.
    pub(crate) fn lifetime_distribution(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<Histogram> {
        self.merged(subject, metric, |instance| {
            self.store.lifetime_histogram(instance, metric, part).map(|h| (**h).clone())
        })
    }

    fn merged(
        &self,
        subject: &Subject,
        metric: Metric,
        of: impl Fn(&Subject) -> Option<Histogram>,
    ) -> Option<Histogram> {
        let whole = if TOLD_OF_THE_WHOLE.contains(&metric) { of(subject) } else { None };
        let parts = self.world.parts(subject).map(|(part, _)| part);
        let all = parts.filter(|part| whole.is_none() || *part != subject).filter_map(&of);
        let sum = all.reduce(|mut sum, one| {
            // Instances with other buckets cannot be added; the first kind of bucket stands for the service.
            sum.merge(&one);
            sum
        });
        let is_more = |whole: &Histogram| sum.as_ref().is_none_or(|sum| whole.count > sum.count);
        whole.filter(is_more).or(sum)
    }

    /// The present 99th percentile: the shortest of the widening windows that holds 200 events.
    /// `Err` with how many events there were in the widest, or `None` without fresh data.
    pub fn p99(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<Result<Observed, f64>> {
        let at = self.last_scrape(subject, metric, part)?;
        let mut most = 0.0;
        for span in WIDENING {
            let from = at - Duration::from_secs(*span);
            let Some(gained) = self.distribution_between(subject, metric, part, from, at) else { continue };
            if gained.count >= LEAST_EVENTS {
                let p99 = gained.percentile(0.99)?;
                return Some(Ok(Observed { p99, gained, at }));
            }
            most = gained.count.max(most);
        }
        Some(Err(most))
    }

    /// The mean of the last minute in the metric's unit, where the target keeps a count and a sum and no buckets:
    /// of such a metric nobody can tell a percentile.
    pub fn mean_without_buckets(&self, subject: &Subject, metric: Metric) -> Option<f64> {
        let at = self.last_scrape(subject, metric, None)?;
        let gained = self.distribution_between(subject, metric, None, at - Duration::from_secs(60), at)?;
        gained.mean().filter(|_| gained.bounds.is_empty())
    }

    /// When a histogram of `subject` was last scraped, if that is not stale.
    pub(crate) fn last_scrape(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<Moment> {
        self.world
            .parts(subject)
            .filter_map(|(instance, _)| self.store.last_scrape(instance, metric, part))
            .max()
            .filter(|at| *at >= self.stale_before_of(subject))
    }

    /// The stages of a service's requests over the last ten seconds, longest first; empty when it has none.
    pub fn stages(&self, service: &Subject) -> Vec<Stage> {
        self.stages_of(service, |name| {
            let at = self.last_scrape(service, STAGE_DURATION, Some(name))?;
            Some((at - Duration::from_secs(10), at))
        })
    }

    /// The stages of a service's requests between two moments, longest first; empty when it has none.
    pub fn stages_between(&self, service: &Subject, from: Moment, to: Moment) -> Vec<Stage> {
        self.stages_of(service, |_| Some((from, to)))
    }

    fn stages_of(
        &self,
        service: &Subject,
        span: impl Fn(&RemoteText) -> Option<(Moment, Moment)>,
    ) -> Vec<Stage> {
        let names: std::collections::BTreeSet<RemoteText> = self
            .world
            .parts(service)
            .flat_map(|(instance, _)| self.store.parts(instance, STAGE_DURATION))
            .flatten()
            .collect();
        let spent_in = self.settings.component(service).map(|component| &component.stages);
        let mut stages: Vec<Stage> = names
            .into_iter()
            .filter_map(|name| {
                let (from, to) = span(&name)?;
                let gained = self.distribution_between(service, STAGE_DURATION, Some(&name), from, to)?;
                Some(Stage {
                    spent_in: spent_in.and_then(|stages| stages.get(name.as_str())).cloned(),
                    mean: gained.mean()?,
                    p99: gained.percentile(0.99),
                    share: 0.0,
                    name,
                })
            })
            .collect();
        let sum: f64 = stages.iter().map(|stage| stage.mean).sum();
        for stage in &mut stages {
            stage.share = if sum > 0.0 { stage.mean / sum } else { 0.0 };
        }
        stages.sort_by(|one, other| other.mean.total_cmp(&one.mean));
        stages
    }

    /// The longest acceptable 99th percentile of a component's requests in seconds: the declared one, else that of
    /// the declared workload.
    pub fn declared_objective(&self, component: &Subject) -> Option<f64> {
        let declared = self.settings.component(component)?;
        let objective = declared.objective_p99.or(declared.workload.map(|work| work.objective_p99()));
        objective.map(|objective| objective.as_secs_f64())
    }

    /// The longest acceptable 99th percentile of a component's requests, in seconds: declared, else half a second.
    pub fn objective(&self, component: &Subject) -> f64 {
        self.declared_objective(component).unwrap_or(DEFAULT_OBJECTIVE)
    }

    /// Why our own timings mean nothing at present, if they do not.
    pub fn observer_is_late(&self) -> Option<String> {
        let lag = self.latest(&observer(), LOOP_LAG)?;
        (lag.value > LOOP_LAG_LIMIT).then(|| {
            format!(
                "Headwater's own loop ran {} late: its timings prove nothing",
                crate::quantity::show(lag.value, Unit::Seconds)
            )
        })
    }

    /// By how many seconds answers may look late because our own loop was: the median of the worst of the last five seconds.
    pub fn observer_lag(&self) -> Option<f64> {
        self.present_median(&observer(), LOOP_LAG).map(|seen| seen.value)
    }

    /// What is missing where a component gives no fresh numbers.
    pub fn missing(&self, subject: &Subject) -> String {
        let trouble = self.world.troubles(subject, self.now).into_iter().next();
        match (trouble, self.world.last_data(subject)) {
            (Some(trouble), _) => trouble,
            (None, Some(at)) if at < self.stale_before_of(subject) => {
                format!("stale: last data {:.0} s ago", self.now.seconds_after(at))
            }
            (None, Some(_)) if self.world.is_exported(subject) => {
                "its exporter does not tell it, or not long enough yet".to_owned()
            }
            (None, Some(_)) => "not told, or not for long enough yet".to_owned(),
            (None, None) => "no source".to_owned(),
        }
    }
}

/// The objective of a component that declares none, in seconds.
pub(crate) const DEFAULT_OBJECTIVE: f64 = 0.5;

/// A number as evidence, with its limit and baseline.
pub fn evidence(metric: Metric, seen: Seen, limit: Option<f64>, baseline: Option<Baseline>) -> Evidence {
    named_evidence(metric.name().to_owned(), metric.row().unit, seen, limit, baseline)
}

/// A derived number as evidence under a name of its own.
pub fn named_evidence(
    metric: String,
    unit: Unit,
    seen: Seen,
    limit: Option<f64>,
    baseline: Option<Baseline>,
) -> Evidence {
    Evidence {
        metric,
        value: seen.value,
        unit,
        limit,
        baseline: baseline.map(|baseline| baseline.typical),
        baseline_from: baseline.map(|baseline| baseline.from),
        at: seen.at,
    }
}

fn observer() -> Subject {
    Subject::component(Kind::Observer, "headwater")
}
