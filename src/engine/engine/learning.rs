//! What a healthy run leaves to later ones, and what a healthy past shows.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Engine;
use crate::baseline::{LEAST_EVENTS, LEAST_POINTS, hour_of_day};
use crate::graph::Graph;
use crate::histogram::Histogram;
use crate::metric::{
    CLIENT_ORIGINALS, Form, Metric, MetricName, REDIS_ANSWER_TIME, REDIS_COMMANDS, REDIS_NET_OUT,
    REQUEST_DURATION, REQUESTS,
};
use crate::peers::{quantile, typical};
use crate::scene::{Looked, Scene};
use crate::settings::{BaselineRow, Baselines};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Levels and rates whose healthy values are worth saving between runs.
const SAVED_LEVELS: &[Metric] =
    &[REDIS_COMMANDS, REDIS_NET_OUT, REDIS_ANSWER_TIME, REQUESTS, CLIENT_ORIGINALS];

impl Engine {
    /// Healthy values learned in this run, or `None` when anything was pending or firing in it.
    pub fn learned(&self) -> Option<Baselines> {
        let began = self.began.filter(|_| !self.disturbed)?;
        let (_, until) = self.calm?;
        let graph = Graph::of(&self.settings, &self.world);
        let scene = self.scene(until, &graph, Looked::default());
        let mut rows = vec![];
        let mut save = |subject: &Subject, metric: Metric, values: Vec<f64>| {
            if let Some((typical, spread, points)) =
                typical(values.into_iter()).filter(|(_, _, points)| *points >= LEAST_POINTS)
            {
                rows.push(BaselineRow {
                    subject: subject.clone(),
                    metric: MetricName::Known(metric),
                    part: None,
                    hour: hour_of_day(until),
                    typical,
                    spread,
                    points: u32::try_from(points).unwrap_or(u32::MAX),
                    high: None,
                    mean: None,
                });
            }
        };
        for component in graph.components() {
            for (part, _) in self.world.parts(component) {
                for metric in SAVED_LEVELS {
                    if let Some(points) = self.store.points(part, *metric, None) {
                        save(part, *metric, points.since(began).map(|seen| seen.value).collect());
                    }
                }
            }
            save(component, REQUEST_DURATION, scene.earlier_p99s(component, REQUEST_DURATION, None));
        }
        (!rows.is_empty()).then_some(Baselines { rows })
    }

    /// What was usual of everything that was told between two moments, which whoever asks knows to be healthy: levels and
    /// rates of every subject, and of histograms the 99th percentile of each `step` with the mean of all events, of
    /// every subject and over all instances of a component. Too few points are no healthy value.
    pub fn healthy_values(&self, from: Moment, to: Moment, step: Duration) -> Vec<BaselineRow> {
        let graph = Graph::of(&self.settings, &self.world);
        let scene = self.scene(to, &graph, Looked::default());
        let history = self.store.history();
        let mut rows = vec![];
        for component in self.world.components() {
            let parts: Vec<&Subject> = history.parts(&component).collect();
            let mut distributions = BTreeSet::new();
            for subject in &parts {
                for (metric, part, trace) in history.traces(subject) {
                    if let MetricName::Known(known) = metric
                        && known.row().form == Form::Histogram
                    {
                        distributions.insert((*known, part.cloned()));
                        continue;
                    }
                    let values = trace.since(from).take_while(|seen| seen.at <= to).map(|seen| seen.value);
                    rows.extend(usual(subject, metric, part, values.collect(), None));
                }
            }
            // A component without an address stands for all of its instances.
            let whole = (!parts.contains(&&component)).then_some(&component);
            for (metric, part) in distributions {
                for subject in parts.iter().copied().chain(whole) {
                    let p99s = p99s(&scene, subject, metric, part.as_ref(), (from, to, step));
                    let mean = scene
                        .distribution_between(subject, metric, part.as_ref(), from, to)
                        .and_then(|gained| gained.mean());
                    rows.extend(usual(subject, &metric.into(), part.as_ref(), p99s, mean));
                }
            }
        }
        rows
    }
}

/// The healthy value of these points, if there are enough.
fn usual(
    subject: &Subject,
    metric: &MetricName,
    part: Option<&RemoteText>,
    mut values: Vec<f64>,
    mean: Option<f64>,
) -> Option<BaselineRow> {
    let (typical, spread, points) =
        typical(values.iter().copied()).filter(|(_, _, points)| *points >= LEAST_POINTS)?;
    values.sort_by(f64::total_cmp);
    Some(BaselineRow {
        subject: subject.clone(),
        metric: metric.clone(),
        part: part.cloned(),
        hour: 0,
        typical,
        spread,
        points: u32::try_from(points).unwrap_or(u32::MAX),
        high: quantile(&values, 0.95),
        mean,
    })
}

/// The 99th percentile of each step; where a step has too few events for one, that of the whole span for each of them.
fn p99s(
    scene: &Scene<'_>,
    subject: &Subject,
    metric: Metric,
    part: Option<&RemoteText>,
    (from, to, step): (Moment, Moment, Duration),
) -> Vec<f64> {
    let steps = to.since(from).as_millis() / step.as_millis().max(1);
    let starts = (0..u32::try_from(steps).unwrap_or(0)).map(|index| from + step * index);
    let gained: Vec<Histogram> = starts
        .filter_map(|start| scene.distribution_between(subject, metric, part, start, start + step))
        .collect();
    let p99 = |gained: &Histogram, least: f64| {
        (gained.count >= least).then(|| gained.percentile(0.99))?.map(|p99| p99.number())
    };
    let each: Vec<f64> = gained.iter().filter_map(|one| p99(one, LEAST_EVENTS / 4.0)).collect();
    if each.len() >= LEAST_POINTS {
        return each;
    }
    let whole = scene.distribution_between(subject, metric, part, from, to);
    let whole = whole.and_then(|whole| p99(&whole, LEAST_EVENTS));
    whole.map(|p99| vec![p99; gained.len()]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::metric::{QUEUE_WAITING, STAGE_DURATION};
    use crate::reading::{Event, History, Input, Reading, Value};
    use crate::report::BaselineFrom;
    use crate::settings::Settings;

    const STEP: Duration = Duration::from_secs(60);

    fn histogram(events: f64) -> Value {
        let counts = [events * 0.5, events * 0.98, events];
        Value::Histogram(Arc::new(Histogram {
            bounds: [0.1, 0.2, 0.4].into(),
            counts: counts.into(),
            count: events,
            sum: Some(events * 0.125),
        }))
    }

    /// An engine that was told of two instances for so many minutes.
    fn told(minutes: i64, events_a_minute: f64) -> Engine {
        let mut engine =
            Engine::new(Settings { interval: STEP, ..Settings::default() }, Baselines::default());
        for minute in 0..=minutes {
            for instance in ["service/a@h:1", "service/a@h:2"] {
                let instance: Subject = instance.parse().unwrap();
                let mut reading = Reading::new(instance.clone(), Moment(minute * 60_000));
                reading.sample(&instance, REQUESTS, Value::Counter(600.0 * minute as f64));
                reading.sample(&instance, QUEUE_WAITING, Value::Gauge((minute % 10) as f64));
                reading.sample(&instance, REQUEST_DURATION, histogram(events_a_minute * minute as f64));
                reading.part(&instance, STAGE_DURATION, "pre", histogram(events_a_minute * minute as f64));
                engine.take(&Input::Reading(reading));
            }
        }
        engine
    }

    fn row<'a>(rows: &'a [BaselineRow], subject: &str, metric: Metric) -> Option<&'a BaselineRow> {
        rows.iter().find(|row| row.subject.as_str() == subject && row.metric == metric.into())
    }

    #[test]
    fn what_was_usual_is_told_of_instances_and_of_all_of_them() {
        let rows = told(60, 200.0).healthy_values(Moment(0), Moment(3_600_000), STEP);
        assert_eq!(row(&rows, "service/a@h:1", REQUESTS).unwrap().typical, 10.0);
        assert!(row(&rows, "service/a", REQUESTS).is_none(), "whoever asks adds instances up");
        let waiting = row(&rows, "service/a@h:2", QUEUE_WAITING).unwrap();
        assert!((4.0..=5.0).contains(&waiting.typical) && waiting.high.unwrap() >= 8.0, "{waiting:?}");
        for subject in ["service/a@h:1", "service/a"] {
            let duration = row(&rows, subject, REQUEST_DURATION).unwrap();
            assert!((0.2..=0.4).contains(&duration.typical), "{duration:?}");
            assert!((duration.mean.unwrap() - 0.125).abs() < 1e-9);
        }
        let stage = row(&rows, "service/a", STAGE_DURATION).unwrap();
        assert_eq!(stage.part.as_ref().unwrap().as_str(), "pre");
    }

    #[test]
    fn little_traffic_has_the_percentile_of_the_whole_span_and_few_points_none() {
        let rows = told(60, 10.0).healthy_values(Moment(0), Moment(3_600_000), STEP);
        let duration = row(&rows, "service/a", REQUEST_DURATION).unwrap();
        assert_eq!((duration.spread, duration.points), (0.0, 60));
        assert!(
            row(
                &told(20, 200.0).healthy_values(Moment(0), Moment(1_200_000), STEP),
                "service/a",
                REQUEST_DURATION
            )
            .is_none()
        );
        let nothing = told(60, 0.0).healthy_values(Moment(0), Moment(3_600_000), STEP);
        assert!(row(&nothing, "service/a", REQUEST_DURATION).is_none());
    }

    #[test]
    fn a_memory_goes_before_earlier_runs_and_not_before_what_is_declared_and_fades() {
        let service: Subject = "service/a".parse().unwrap();
        let rows = told(60, 200.0).healthy_values(Moment(0), Moment(3_600_000), STEP);
        let saved = rows.iter().map(|row| BaselineRow { typical: 7.0, ..row.clone() }).collect();
        let mut engine = Engine::new(Settings::default(), Baselines { rows: saved });
        let baseline = |engine: &Engine, hours: i64| {
            let graph = Graph::default();
            let scene = engine.scene(Moment(hours * 3_600_000), &graph, Looked::default());
            let p99 = scene.baseline_p99(&service, REQUEST_DURATION, None).unwrap();
            let report = crate::triage::report(&scene);
            (p99.from, p99.typical == 7.0, report.history.len())
        };
        assert_eq!(baseline(&engine, 2), (BaselineFrom::Disk, true, 0));
        let mut reading = Reading::new("graph/prometheus-h-1".parse().unwrap(), Moment(2 * 3_600_000));
        reading.events.push(Event::History(History { from: Moment(0), to: Moment(3_600_000), rows }));
        engine.take(&Input::Reading(reading));
        assert_eq!(baseline(&engine, 2), (BaselineFrom::History, false, 1));
        assert_eq!(baseline(&engine, 9), (BaselineFrom::Disk, true, 0));
    }
}
