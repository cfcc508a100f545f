//! What the targets do not tell, and which rules of the inference path stay blind without it: one row a gap.

mod gaps;

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::Subject;
use headwater_engine::metric::{
    IN_FLIGHT, LOG_REPEATED, LOG_REQUESTS, MODEL_DURATION, Metric, MetricName, READY, REQUEST_DURATION, TTFT,
    UPSTREAM_TIMEOUT,
};
use headwater_engine::reading::{Reading, Value};

use self::gaps::{By, GAPS};
use super::logs::tells_ids;
use crate::config::Config;
use crate::sources::logs::line::Format;
use crate::sources::probe::ProbeKind;

/// What is told of whom.
#[derive(Debug, Default)]
pub(super) struct Heard(BTreeMap<Subject, BTreeSet<Metric>>);

impl Heard {
    /// What readings tell.
    pub(super) fn of<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Self {
        let mut heard = Self::default();
        for sample in readings.into_iter().flat_map(|reading| &reading.samples) {
            // A histogram without bounds is a mean.
            let is_mean = matches!(&sample.value, Value::Histogram(times) if times.bounds.is_empty());
            let of_times = [REQUEST_DURATION, MODEL_DURATION, TTFT];
            match sample.metric {
                MetricName::Known(metric) if is_mean && of_times.contains(&metric) => {
                    heard.add(&sample.subject, IN_FLIGHT);
                }
                MetricName::Known(metric) => heard.add(&sample.subject, metric),
                MetricName::Free(_) => {}
            }
        }
        heard
    }

    /// The same with what a configuration promises beside pages: time-outs, readiness probes and access logs.
    pub(super) fn with(mut self, config: &Config) -> Self {
        for declared in config.settings.components.iter().filter(|declared| declared.timeout.is_some()) {
            self.add(&declared.subject, UPSTREAM_TIMEOUT);
        }
        for probe in config.probes.iter().filter(|probe| matches!(probe.kind, ProbeKind::Ready)) {
            self.add(&probe.about, READY);
        }
        for log in config.logs.iter().filter(|log| log.format != Format::Plain) {
            self.add(&log.about, LOG_REQUESTS);
            if tells_ids(log) != Some(false) {
                self.add(&log.about, LOG_REPEATED);
            }
            if log.tells_service {
                self.add(&log.about, REQUEST_DURATION);
            }
        }
        self
    }

    fn add(&mut self, subject: &Subject, metric: Metric) {
        self.0.entry(subject.component_of()).or_default().insert(metric);
    }

    fn tells(&self, subject: &Subject, any: &[Metric]) -> bool {
        self.0.get(subject).is_some_and(|told| any.iter().any(|metric| told.contains(metric)))
    }

    /// What is missing, each gap once for all whom it is missed of.
    pub(super) fn advice(&self) -> Vec<(Subject, String)> {
        let mut advice = vec![];
        for gap in GAPS {
            let is_missed = |component: &&Subject| {
                component.kind() == gap.of
                    && self.tells(component, gap.beside)
                    && !match gap.by {
                        By::Itself => self.tells(component, gap.any),
                        By::Its(kind) => self.tells(&Subject::component(kind, component.name()), gap.any),
                        By::Anybody => self.0.keys().any(|one| self.tells(one, gap.any)),
                    }
            };
            let missed: Vec<&Subject> = self.0.keys().filter(is_missed).collect();
            if let Some(first) = missed.first() {
                let others = match missed.len() - 1 {
                    0 => String::new(),
                    others => format!(" (and {others} more)"),
                };
                let rules = gap.rules.join(", ");
                advice.push((
                    (*first).clone(),
                    format!(
                        "{}{others}: these rules cannot judge without it: {rules}; {}",
                        gap.lacks, gap.add
                    ),
                ));
            }
        }
        advice
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_engine::Moment;
    use headwater_engine::histogram::Histogram;
    use headwater_engine::metric::{
        BATCH_MAX, Form, GPU_LAUNCH, GPU_MEMORY_MAX, GPU_THROTTLED, GPU_UTILIZATION, GPU_XID, HOST_LOAD,
        QUEUE_REJECTED, QUEUE_WAITING, REQUESTS, STAGE_DURATION, UPSTREAM_READY, UPSTREAM_REQUESTS,
        UPSTREAM_RETRIES,
    };
    use headwater_engine::rules::by_id;

    use super::*;

    fn heard(told: &[(&str, Metric)], bounds: &[f64]) -> Heard {
        let mut reading = Reading::new("service/ranker@h:1".parse().unwrap(), Moment(1_000));
        for (subject, metric) in told {
            let value = match metric.row().form {
                Form::Gauge => Value::Gauge(1.0),
                Form::Counter => Value::Counter(1.0),
                Form::Histogram => Value::Histogram(Arc::new(Histogram {
                    bounds: bounds.into(),
                    counts: vec![1.0; bounds.len()].into(),
                    count: 1.0,
                    sum: Some(1.0),
                })),
            };
            reading.part(&subject.parse().unwrap(), *metric, "a", value);
        }
        Heard::of([&reading])
    }

    fn said(heard: &Heard) -> Vec<String> {
        heard.advice().into_iter().map(|(subject, words)| format!("{subject}: {words}")).collect()
    }

    #[test]
    fn every_row_names_rules_that_there_are() {
        for rule in GAPS.iter().flat_map(|gap| gap.rules) {
            assert!(by_id(rule).is_some(), "no rule is '{rule}'");
        }
    }

    #[test]
    fn a_bare_service_is_told_all_that_nobody_tells_of_it() {
        let lines = said(&heard(
            &[("service/ranker@h:1", REQUESTS), ("service/ranker@h:1", REQUEST_DURATION)],
            &[0.1],
        ));
        assert!(!lines.iter().any(|line| line.contains("no buckets")), "{lines:#?}");
        for words in [
            "service/ranker: nothing counts what is asked again: a rise is 'surge or storm': these rules cannot judge without it: retry-storm, surge",
            "service/ranker: no depth of its queue: these rules cannot judge without it: queue-not-compute",
            "service/ranker: nobody tells of a readiness check",
            "service/ranker: no machine is seen",
        ] {
            assert!(lines.iter().any(|line| line.starts_with(words)), "no '{words}' in {lines:#?}");
        }
    }

    #[test]
    fn a_mean_is_no_percentile() {
        let lines = said(&heard(&[("service/ranker@h:1", REQUEST_DURATION)], &[]));
        assert!(
            lines[0].starts_with("service/ranker: no buckets of the time that requests take"),
            "{lines:#?}"
        );
    }

    #[test]
    fn what_is_told_is_not_missed_and_each_gap_is_said_once() {
        let all = [
            ("service/a@h:1", REQUEST_DURATION),
            ("service/b@h:2", REQUEST_DURATION),
            ("service/a@h:1", STAGE_DURATION),
            ("service/b@h:2", STAGE_DURATION),
            ("queue/a@h:1", QUEUE_WAITING),
            ("queue/a@h:1", BATCH_MAX),
            ("queue/a@h:1", QUEUE_REJECTED),
            ("gpu/h:0", GPU_UTILIZATION),
            ("gpu/h:0", GPU_MEMORY_MAX),
            ("gpu/h:0", GPU_XID),
            ("gpu/h:0", GPU_THROTTLED),
            ("gpu/h:0", GPU_LAUNCH),
            ("host/h", HOST_LOAD),
            ("gateway/edge@h:3", UPSTREAM_REQUESTS),
            ("gateway/edge@h:3", UPSTREAM_RETRIES),
            ("gateway/edge@h:3", UPSTREAM_READY),
        ];
        let lines = said(&heard(&all, &[0.1]));
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines[0].starts_with("service/b: no depth of its queue"), "{lines:#?}");
        assert!(lines[1].starts_with("gateway/edge: nobody says how long it waits"), "{lines:#?}");
        let without: Vec<_> = all.iter().filter(|(_, metric)| *metric != STAGE_DURATION).copied().collect();
        let lines = said(&heard(&without, &[0.1]));
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("service/a: no times of the stages of a request (and 1 more)")),
            "{lines:#?}"
        );
    }

    #[test]
    fn a_gpu_of_which_only_utilisation_is_told_is_not_seen() {
        let lines = said(&heard(&[("gpu/h:0", GPU_UTILIZATION)], &[]));
        let names: Vec<bool> = ["gpu-memory-full", "gpu-error", "gpu-throttled", "launch-stall"]
            .iter()
            .map(|rule| lines.iter().any(|line| line.contains(rule)))
            .collect();
        assert_eq!(names, [true; 4], "{lines:#?}");
    }
}
