//! Healthy values to compare with, in their fixed order: declared, the memory of a Prometheus, disk, earlier in this run,
//! the target's lifetime at first contact. Peers and absolute limits are the rules' own.

use std::time::Duration;

use crate::metric::{Metric, MetricName, REDIS_UPTIME};
use crate::peers::{quantile, typical};
use crate::report::BaselineFrom;
use crate::scene::Scene;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Points that a moving baseline needs.
pub const LEAST_POINTS: usize = 30;

/// Events that a percentile needs: below, a 99th percentile is one event's luck.
pub const LEAST_EVENTS: f64 = 200.0;

/// The weight of a new value in the smoothed 95th percentile, and the margin above it.
const SMOOTHING: f64 = 0.1;
const MOVING_MARGIN: f64 = 1.3;

/// How far back this run's own healthy time is looked at.
const EARLIER: Duration = Duration::from_secs(900);

/// A lifetime that no single incident makes up.
const LONG_LIFE: Duration = Duration::from_secs(3_600);

/// A healthy value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// The typical value, in the metric's unit.
    pub typical: f64,
    /// The interquartile range, where it is known.
    pub spread: Option<f64>,
    /// Of a percentile, the moving threshold of this run's own healthy time: 1.3 times the smoothed rolling 95th percentile. It
    /// stands still while anything is pending or firing, because only healthy time is looked at.
    pub moving: Option<f64>,
    /// Where it came from.
    pub from: BaselineFrom,
}

impl Baseline {
    /// A healthy value of which nothing but the value is known.
    pub fn new(typical: f64, from: BaselineFrom) -> Self {
        Self { typical, spread: None, moving: None, from }
    }
}

impl Scene<'_> {
    /// The healthy value of a level or a rate.
    pub fn baseline(
        &self,
        subject: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<Baseline> {
        let metric = &metric.into();
        self.declared(subject, metric)
            .or_else(|| self.remembered(subject, metric, part))
            .or_else(|| self.learned(subject, metric, part))
            .or_else(|| {
                let points = self.store.points(subject, metric, part)?;
                let (from, to) = self.earlier()?;
                let calm = points.since(from).take_while(|seen| seen.at <= to).map(|seen| seen.value);
                // In a long incident the healthy time is older than what is kept whole: its bins stay.
                earlier_baseline(calm).or_else(|| {
                    let within = points.fine_bins().filter(|bin| bin.start >= from && bin.start <= to);
                    earlier_baseline(within.map(|bin| f64::from(bin.mean)))
                })
            })
            .or_else(|| {
                let typical = self.store.lifetime_rate(subject, metric, part)?;
                Some(Baseline::new(typical, BaselineFrom::Lifetime))
            })
    }

    /// The same of a node of Redis, unless it is the lifetime of one so young that the trouble of now may be much of it:
    /// who comes late must not take that for healthy.
    pub fn past(
        &self,
        node: &Subject,
        metric: impl Into<MetricName>,
        part: Option<&RemoteText>,
    ) -> Option<Baseline> {
        let is_old = || {
            let uptime = self.latest(node, REDIS_UPTIME);
            uptime.is_some_and(|uptime| uptime.value >= LONG_LIFE.as_secs_f64())
        };
        let known = self.baseline(node, metric, part)?;
        (known.from != BaselineFrom::Lifetime || is_old()).then_some(known)
    }

    /// The healthy 99th percentile of a histogram over all instances of `subject`.
    pub fn baseline_p99(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<Baseline> {
        self.declared(subject, &metric.into())
            .or_else(|| self.remembered(subject, &metric.into(), part))
            .or_else(|| self.learned(subject, &metric.into(), part))
            .or_else(|| {
                let p99s = self.earlier_p99s(subject, metric, part);
                let earlier = earlier_baseline(p99s.iter().copied())?;
                Some(Baseline { moving: moving_threshold(&p99s), ..earlier })
            })
            .or_else(|| {
                let lifetime = self.lifetime_distribution(subject, metric, part)?;
                let p99 = lifetime.percentile(0.99).filter(|_| lifetime.count >= LEAST_EVENTS)?;
                Some(Baseline::new(p99.number(), BaselineFrom::Lifetime))
            })
    }

    /// The 99th percentiles of this run's healthy time, one per step that held enough events.
    pub(crate) fn earlier_p99s(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Vec<f64> {
        let Some((from, to)) = self.earlier() else { return vec![] };
        let step = Duration::from_secs(10);
        let steps = (to.since(from).as_secs() / step.as_secs()) as u32;
        (0..steps)
            .filter_map(|index| {
                let start = from + step * index;
                let gained = self.distribution_between(subject, metric, part, start, start + step)?;
                (gained.count >= LEAST_EVENTS / 4.0).then(|| gained.percentile(0.99))?.map(|p99| p99.number())
            })
            .collect()
    }

    /// The part of this run in which nothing was pending or firing, at most the last quarter of an hour.
    fn earlier(&self) -> Option<(Moment, Moment)> {
        let (since, to) = self.calm?;
        Some((since.max(to - EARLIER), to))
    }

    fn declared(&self, subject: &Subject, metric: &MetricName) -> Option<Baseline> {
        let typical = *self.settings.component(subject)?.baselines.get(metric.as_str())?;
        Some(Baseline::new(typical, BaselineFrom::Declared))
    }

    /// The healthy mean of a histogram over all instances of `subject`, as the memory of a source has it.
    pub(crate) fn remembered_mean(
        &self,
        subject: &Subject,
        metric: Metric,
        part: Option<&RemoteText>,
    ) -> Option<f64> {
        self.world.histories().row(subject, &metric.into(), part, self.now)?.mean
    }

    /// A value from the memory of a source.
    fn remembered(
        &self,
        subject: &Subject,
        metric: &MetricName,
        part: Option<&RemoteText>,
    ) -> Option<Baseline> {
        let row = self.world.histories().row(subject, metric, part, self.now)?;
        Some(Baseline { spread: Some(row.spread), ..Baseline::new(row.typical, BaselineFrom::History) })
    }

    /// A value of earlier runs: of this hour of the day, else of the nearest hour that was learned.
    fn learned(&self, subject: &Subject, metric: &MetricName, part: Option<&RemoteText>) -> Option<Baseline> {
        let hour = i64::from(hour_of_day(self.now));
        self.saved
            .rows
            .iter()
            .filter(|row| {
                row.subject == *subject
                    && row.metric == *metric
                    && row.part.as_ref() == part
                    && row.points as usize >= LEAST_POINTS
            })
            .min_by_key(|row| {
                let apart = (i64::from(row.hour) - hour).rem_euclid(24);
                apart.min(24 - apart)
            })
            .map(|row| Baseline {
                spread: Some(row.spread),
                ..Baseline::new(row.typical, BaselineFrom::Disk)
            })
    }
}

fn earlier_baseline(values: impl Iterator<Item = f64>) -> Option<Baseline> {
    let (center, spread, points) = typical(values)?;
    (points >= LEAST_POINTS)
        .then(|| Baseline { spread: Some(spread), ..Baseline::new(center, BaselineFrom::Earlier) })
}

/// 1.3 times the exponentially smoothed rolling 95th percentile of values in the order in which they came.
fn moving_threshold(values: &[f64]) -> Option<f64> {
    let smoothed = values
        .windows(LEAST_POINTS)
        .filter_map(|window| {
            let mut sorted = window.to_vec();
            sorted.sort_by(f64::total_cmp);
            quantile(&sorted, 0.95)
        })
        .reduce(|smooth, p95| smooth + SMOOTHING * (p95 - smooth))?;
    Some(smoothed * MOVING_MARGIN)
}

/// The hour of the day in UTC, 0-23.
pub fn hour_of_day(moment: Moment) -> u8 {
    u8::try_from(moment.0.div_euclid(3_600_000).rem_euclid(24)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_threshold_follows_slowly_and_needs_its_window() {
        assert_eq!(moving_threshold(&[1.0; LEAST_POINTS - 1]), None);
        assert!((moving_threshold(&[2.0; 40]).unwrap() - 2.6).abs() < 1e-9);
        let mut rising = vec![1.0; 60];
        rising.extend([3.0; 5]);
        let threshold = moving_threshold(&rising).unwrap();
        assert!(threshold > 1.3 && threshold < 3.9, "{threshold}");
    }

    #[test]
    fn too_few_points_are_no_baseline() {
        assert!(earlier_baseline([1.0; LEAST_POINTS - 1].into_iter()).is_none());
        assert_eq!(earlier_baseline([1.0; LEAST_POINTS].into_iter()).unwrap().from, BaselineFrom::Earlier);
    }
}
