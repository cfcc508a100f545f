//! The check of a probe: one request, and what each phase of it took.

use headwater_engine::metric::{Metric, MetricName, PROBE_STATUS, PROBE_TIME, PROBE_TTFT, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{Reading, Value};
use headwater_engine::{RemoteText, Subject};

use crate::sources::Source as _;
use crate::sources::probe::{ProbeKind, ProbeSource, ProbeSpec};
use crate::sources::redis::ProbeStep;

/// Sends one probe and says what came of it.
pub(super) async fn probe(spec: &ProbeSpec) -> Vec<ProbeStep> {
    let step =
        |outcome| ProbeStep { subject: spec.subject.clone(), what: "probe".into(), outcome, fix: None };
    // What another probe of the same address tells in a run is asked here too.
    let spec = &ProbeSpec { tells_phases: true, ..spec.clone() };
    let mut source = match ProbeSource::new(spec) {
        Ok(source) => source,
        Err(error) => return vec![step(Err(RemoteText::new(&error.to_string())))],
    };
    let reading = source.ask().await;
    if let Some(fault) = reading.faults.first() {
        return vec![step(Err(fault.message.clone()))];
    }
    let mut words = format!("{} answers {}", spec.about, told(&reading, &spec.about));
    if let ProbeKind::FirstToken(completion) = &spec.kind {
        let tokens = completion.most_tokens;
        words =
            format!("{words}; costs {tokens} tokens every {}", show(spec.every.as_secs_f64(), Unit::Seconds));
    }
    vec![step(Ok(RemoteText::new(&words)))]
}

/// `200: dns 1 ms, connect 2 ms, ...`.
fn told(reading: &Reading, about: &Subject) -> String {
    let of = |metric: Metric| {
        reading
            .samples
            .iter()
            .filter(move |sample| sample.subject == *about && sample.metric == MetricName::Known(metric))
            .filter_map(|sample| match sample.value {
                Value::Gauge(value) => Some((sample.part.as_ref(), value)),
                _ => None,
            })
    };
    let status = of(PROBE_STATUS).next().map_or_else(String::new, |(_, status)| format!("{status}: "));
    let phases = of(PROBE_TIME)
        .map(|(part, time)| (part.map_or("", RemoteText::as_str), time))
        .chain(of(PROBE_TTFT).map(|(_, time)| ("first token", time)));
    let phases: Vec<String> = phases
        .map(|(phase, time)| format!("{} {}", phase.replace('_', " "), show(time, Unit::Seconds)))
        .collect();
    format!("{status}{}", phases.join(", "))
}
