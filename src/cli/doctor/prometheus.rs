//! The check of a Prometheus: whether it answers, and what it has of each target.

use std::collections::BTreeMap;

use headwater_engine::reading::Reading;
use headwater_engine::{RemoteText, Subject};

use super::told;
use crate::sources::prometheus::{PrometheusSource, PrometheusSpec};
use crate::sources::redis::ProbeStep;

/// What to do where the server has no target that is asked for.
const NO_TARGET: &str =
    "see its page /targets, and the 'select' of this table: it has to fit a job that is scraped";

/// Asks a server once and says how it went, then what each of its targets gives; gives what these told.
pub(super) async fn server(spec: &PrometheusSpec) -> (Vec<ProbeStep>, Vec<Reading>) {
    let step = |subject: &Subject, outcome, fix: Option<&str>| ProbeStep {
        subject: subject.clone(),
        what: "server".into(),
        outcome,
        fix: fix.map(str::to_owned),
    };
    let mut source = match PrometheusSource::new(spec) {
        Ok(source) => source,
        Err(error) => {
            let subject =
                spec.subject().unwrap_or_else(|| Subject::component(headwater_engine::Kind::Graph, "?"));
            return (vec![step(&subject, Err(RemoteText::new(&error.to_string())), None)], vec![]);
        }
    };
    let mut readings = source.ask().await;
    if readings.is_empty() {
        return (vec![], vec![]);
    }
    let own = readings.remove(0);
    if let Some(fault) = own.faults.first() {
        return (vec![step(&own.source, Err(fault.message.clone()), None)], vec![]);
    }
    // A target may have several scrapes in one answer: the newest stands for it.
    let targets: BTreeMap<_, _> = readings.iter().map(|reading| (&reading.source, reading)).collect();
    if targets.is_empty() {
        let nothing = RemoteText::new("it answers, and has nothing of a target that is asked for");
        return (vec![step(&own.source, Err(nothing), Some(NO_TARGET))], vec![]);
    }
    let count = headwater_engine::quantity::counted(targets.len() as u64, "target");
    let seen = RemoteText::new(&format!("answers, with what it scraped of {count}"));
    let first = step(&own.source, Ok(seen), None);
    let steps = std::iter::once(first).chain(targets.into_values().flat_map(told)).collect();
    (steps, readings)
}
