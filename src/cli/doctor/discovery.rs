//! The check of a discovery: whether its list can be read, and what each target on it gives.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::quantity::counted;
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{RemoteText, Subject};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::told;
use crate::sources::directory::Directory;
use crate::sources::discovery::{DiscoverySource, DiscoverySpec};
use crate::sources::redis::ProbeStep;
use crate::sources::{LONGEST_WAIT, Outlet, Source as _};

/// Readings of targets that may wait until they are looked at.
const WAITING: usize = 256;

/// Reads a list once and says what is on it, then asks each target once; gives what these told.
pub(super) async fn list(spec: &DiscoverySpec) -> (Vec<ProbeStep>, Vec<Reading>) {
    let step = |outcome: Result<String, String>, fix: Option<&str>| ProbeStep {
        subject: spec.subject.clone(),
        what: "list".into(),
        outcome: outcome.map(|text| RemoteText::new(&text)).map_err(|text| RemoteText::new(&text)),
        fix: fix.map(str::to_owned),
    };
    let (send, mut readings) = mpsc::channel(WAITING);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let _ends = outlet.stop.clone().drop_guard();
    let mut source = match DiscoverySource::new(spec, &Directory::default(), outlet) {
        Ok(source) => source,
        Err(error) => return (vec![step(Err(error.to_string()), None)], vec![]),
    };
    let own = source.ask().await;
    let mut steps: Vec<ProbeStep> =
        own.faults.iter().map(|fault| step(Err(fault.message.as_str().to_owned()), None)).collect();
    let mut awaited: Vec<Subject> = vec![];
    for event in &own.events {
        match event {
            Event::Targets(list) if list.targets.is_empty() => {
                steps.push(step(
                    Err(format!("lists no target: {}", list.found)),
                    Some("see who writes the list"),
                ));
            }
            Event::Targets(list) => {
                let count = counted(list.targets.len() as u64, "target");
                steps.push(step(Ok(format!("lists {count}: {}", list.found)), None));
                awaited.extend(list.targets.iter().map(|target| target.subject.clone()));
            }
            Event::Unavailable { what, why } => steps.push(step(Err(format!("{what}: {why}")), None)),
            _ => {}
        }
    }
    let mut first: BTreeMap<Subject, Reading> = BTreeMap::new();
    let all = async {
        while first.len() < awaited.len() {
            let Some(reading) = readings.recv().await else { return };
            // A notice that an answer is late is not the answer.
            if awaited.contains(&reading.source) && !(reading.samples.is_empty() && reading.faults.is_empty())
            {
                first.entry(reading.source.clone()).or_insert(reading);
            }
        }
    };
    let _ = tokio::time::timeout(LONGEST_WAIT + Duration::from_secs(1), all).await;
    for target in &awaited {
        match first.get(target) {
            Some(reading) => steps.extend(told(reading)),
            None => {
                steps.push(ProbeStep { subject: target.clone(), ..step(Err("no answer".to_owned()), None) })
            }
        }
    }
    (steps, first.into_values().collect())
}
